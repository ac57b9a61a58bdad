"""What every framework needs to know of a run, read from its data set."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.agents.environment_file import Environment
from pipeline.errors import UsageError
from pipeline.exports.data_set import CODE, ENVIRONMENT, DatasetManifest, read_manifest, verify_file
from pipeline.types import Data

_VIEW = "rl_verifiers"


class RunEnvironment(Data):
    """The questions of a run and the environment of its rollouts."""

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

    @property
    def splits(self) -> dict[str, list[dict[str, Any]]]:
        """Return the questions by NeMo Gym's name of their split. A split without a question is left out."""
        names = {"train": "train", "eval": "validation"}
        splits = {name: [row for row in self.questions if row["split"] == split] for split, name in names.items()}
        return {name: rows for name, rows in splits.items() if rows}


def read_run_environment(folder: Path) -> RunEnvironment:
    """Read the environment of a run from its data set. Raises UsageError if it has no question to train on."""
    dataset = folder / "dataset"
    manifest = read_manifest(dataset)
    rows = read_rows(dataset, manifest, _VIEW)
    questions = [{"question": row["question"], "split": split, **json.loads(row["info"])} for split, row in rows]
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


def read_rows(dataset: Path, manifest: DatasetManifest, view: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a view, each with its split."""
    for shard in manifest.shards:
        if shard.view == view:
            with pq.ParquetFile(verify_file(dataset, shard)) as file:
                for batch in file.iter_batches():
                    yield from ((shard.split, row) for row in batch.to_pylist())


def _split_words(name: str) -> list[str]:
    return "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower()).split()
