"""Packages that let a framework for reinforcement learning use a run as an environment.

A package holds the questions of the run with their gold answers, its tools, prompt and limits, and its reward. The
tools are answered by `digsite serve RUN`, so that a model sees what the rollouts saw over any retriever.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from jinja2 import Environment as Templates
from jinja2 import StrictUndefined

from pipeline.agents.environment_file import Environment
from pipeline.errors import UsageError, unknown
from pipeline.exports.data_set import CODE, ENVIRONMENT, read_manifest, verify_file
from pipeline.store.files import atomic_folder, atomic_write
from pipeline.store.shipped_folders import folder as find_shipped_folder
from pipeline.types import Data

_HOME, _VIEW = Path(__file__).parent, "rl_verifiers"
FRAMEWORKS = ("verifiers",)
"""The folders beside this file. Each holds the files of its package; those that end in `.j2` are templates."""


class RunEnvironment(Data):
    """What every framework needs to know of a run."""

    name: str
    """The name of the package, for example `digsite-wiki`."""
    corpus: str
    licence: str
    environment: Environment
    questions: tuple[dict[str, Any], ...]
    """Rows with `id`, `question`, `golden_answers`, `split`, and the columns of curriculum and provenance."""
    reward: str
    """The source of `code/reward.py`."""

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")


def read_run_environment(folder: Path) -> RunEnvironment:
    """Read the environment of a run from its data set. Raises UsageError if it has no question to train on."""
    dataset = folder / "dataset"
    manifest = read_manifest(dataset)
    shards = [shard for shard in manifest.shards if shard.view == _VIEW]
    questions = [
        {"question": row["question"], "split": shard.split, **json.loads(row["info"])}
        for shard in shards
        for row in pq.read_table(verify_file(dataset, shard)).to_pylist()
    ]
    files = {file.path: file for file in manifest.files}
    if not questions or ENVIRONMENT not in files:
        raise UsageError(f"{dataset} has no rows in the view {_VIEW}; write it with: digsite export RUN")
    corpus = questions[0]["corpus"]
    return RunEnvironment(
        name=f"digsite-{'-'.join(_split_words(corpus)) or 'corpus'}",
        corpus=corpus,
        licence=questions[0]["licence"],
        environment=Environment.model_validate_json(verify_file(dataset, files[ENVIRONMENT]).read_bytes()),
        questions=tuple(questions),
        reward=verify_file(dataset, files[f"{CODE}/reward.py"]).read_text(encoding="utf-8"),
    )


def _split_words(name: str) -> list[str]:
    return "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower()).split()


def write_package(folder: Path, framework: str) -> Path:
    """Write the package of a run for a framework into `environments/` of the run, and return its folder.

    Raises UsageError if the framework is unknown or the run has no question to train on.
    """
    if framework not in FRAMEWORKS:
        raise unknown("framework", framework, FRAMEWORKS)
    run = read_run_environment(folder)
    package = folder / "environments" / framework
    with atomic_folder(package) as building:
        for file, text in _render_files(run, framework).items():
            atomic_write(building / file, text.encode())
    return package


def _render_files(run: RunEnvironment, framework: str) -> dict[str, str]:
    """Return the texts of a package by path: its own files at the top, and its module in a folder of its name."""
    templates = Templates(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - no HTML
    files = {}
    for source in sorted((_HOME / framework).iterdir()):
        text = source.read_text(encoding="utf-8") if source.is_file() else ""
        if source.suffix == ".j2":
            files[source.stem] = templates.from_string(text).render(run=run)
        elif source.suffix == ".py":
            files[f"{run.module}/{source.name}"] = text
    environment = run.environment.model_dump(mode="json")
    rows = "".join(f"{json.dumps(question, ensure_ascii=False)}\n" for question in run.questions)
    shared = {
        "questions.jsonl": rows,
        "environment.json": json.dumps(environment, ensure_ascii=False, indent=1) + "\n",
        "reward.py": run.reward,
        "trajectory.py": (find_shipped_folder("recipes") / "trajectory.py").read_text(encoding="utf-8"),
    }
    return files | {f"{run.module}/{name}": text for name, text in shared.items()}
