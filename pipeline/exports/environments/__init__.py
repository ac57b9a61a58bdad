"""Packages that let a framework for reinforcement learning use a run as an environment.

A package holds the questions of the run with their gold answers, its tools, prompt and limits, and its reward. The
tools are answered by `digsite serve RUN`, so that a model sees what the rollouts saw over any retriever.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined

from pipeline.errors import UsageError, unknown
from pipeline.exports.data_set import read_manifest
from pipeline.exports.environments import nemo_data
from pipeline.exports.environments.run_environment import RunEnvironment, read_rows, read_run_environment
from pipeline.exports.views.records import record
from pipeline.store.files import atomic_folder, atomic_write
from pipeline.store.shipped_folders import folder as find_shipped_folder
from pipeline.types import Record

_HOME = Path(__file__).parent
_RECIPES = ("tool_methods.py", "trajectory.py")
"""Recipes that every package gets a copy of."""


class Framework(NamedTuple):
    """A framework, whose files are in the folder of its name beside this file.

    Files that end in `.j2` are templates and go to the top of the package, all others into the folder of its code.
    """

    code: str
    """The folder of the code within the package."""
    reads_text_calls: bool = False
    """Whether a model may write its calls as text."""
    render_data: Callable[[RunEnvironment, Iterable[Record]], dict[str, str]] = lambda run, records: {}
    """Returns further files for the folder of its code, by path."""


FRAMEWORKS = {
    "nemo-gym": Framework("resources_servers/{module}", render_data=nemo_data.render_data),
    "openenv": Framework("", reads_text_calls=True),
    "verifiers": Framework("{module}"),
}


def write_package(folder: Path, name: str) -> Path:
    """Write the package of a run for a framework into `environments/` of the run, and return its folder.

    Raises UsageError if the framework is unknown, if the run has no question to train on, or if the framework cannot
    read the calls of the run's model.
    """
    if name not in FRAMEWORKS:
        raise unknown("framework", name, FRAMEWORKS)
    framework, run = FRAMEWORKS[name], read_run_environment(folder)
    if run.environment.calls != "native" and not framework.reads_text_calls:
        raise UsageError(f"{name} reads native calls only: make a run with models.solver.tools=native")
    package = folder / "environments" / name
    dataset, code = folder / "dataset", framework.code.format(module=run.module)
    records = (record(row) for _, row in read_rows(dataset, read_manifest(dataset), "records"))
    data = {f"{code}/{path}": text for path, text in framework.render_data(run, records).items()}
    files = _render_files(run, name) | data
    with atomic_folder(package) as building:
        for path, text in files.items():
            atomic_write(building / path, text.encode())
    return package


def _render_files(run: RunEnvironment, name: str) -> dict[str, str]:
    """Return the texts of a package by path."""
    templates = Templates(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - no HTML
    home, code, files = _HOME / name.replace("-", "_"), Path(FRAMEWORKS[name].code.format(module=run.module)), {}
    for source in sorted(home.rglob("*")):
        if source.suffix == ".j2":
            files[source.stem] = templates.from_string(source.read_text(encoding="utf-8")).render(run=run)
        elif source.is_file() and source.suffix != ".pyc":
            files[str(code / source.relative_to(home))] = source.read_text(encoding="utf-8")
    environment = run.environment.model_dump(mode="json")
    rows = "".join(f"{json.dumps(question, ensure_ascii=False)}\n" for question in run.questions)
    shared = {
        "questions.jsonl": rows,
        "questions.py": (_HOME / "shared" / "questions.py").read_text(encoding="utf-8"),
        "environment.json": json.dumps(environment, ensure_ascii=False, indent=1) + "\n",
        "reward.py": run.reward,
        **{recipe: (find_shipped_folder("recipes") / recipe).read_text(encoding="utf-8") for recipe in _RECIPES},
    }
    return files | {str(code / path): text for path, text in shared.items()}
