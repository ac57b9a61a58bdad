"""From a run's journal to its data set and its report. Nothing else is read but what the report says of cost."""

from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline import prompts
from pipeline.config import RunConfig
from pipeline.corpus import manifest
from pipeline.errors import UsageError
from pipeline.export import Manifest, Selection, export
from pipeline.report.figures import Outside, Review
from pipeline.report.html import page
from pipeline.run import planned, read
from pipeline.run.attempts import spent
from pipeline.store.branches import Branches
from pipeline.store.files import atomic_write
from pipeline.store.journal import Journal
from pipeline.store.remeasured import Remeasured
from pipeline.types import Record

REVIEW = "review.json"
"""What `digsite review` has read back, in the folder of the run."""


def records(folder: Path, config: RunConfig, include: tuple[str, ...] = ()) -> Iterator[Record]:
    """The records of the plan, in its order, those with a reason that `include` names last, each with its forks and
    with what other solvers made of it.
    """
    found = planned(Journal(folder / "journal"), config, include, Remeasured(folder).joined)
    return Branches(folder).joined(found)


def dataset(folder: Path, config: RunConfig, *, views: tuple[str, ...] = (), include: tuple[str, ...] = ()) -> Manifest:
    """Write `dataset/`; no view named means all of them.

    Raises UsageError where its environment would not be the one of its rollouts, and where the manifest is gone that
    says how much of the corpus may be passed on.
    """
    asked = prompts.load("solver/answer").digest
    if read(folder).what["prompts"].get("solver/answer") != asked:
        raise UsageError(f"{folder} was made with another prompt solver/answer; put that back to export it")
    name = config.corpus.name
    if name not in manifest.names() and not Path(name).is_absolute():
        raise UsageError(f"corpora/{name}.toml, which says what of '{name}' may be passed on, is not here; put it back")
    said = manifest.read(name).model_dump(include={"redistribute", "language"}) if name in manifest.names() else {}
    chosen = Selection(config=config, views=views, include=include, outside=outside(folder), **said)
    return export(records(folder, config, include), folder / "dataset", chosen)


def again(folder: Path, config: RunConfig, *, every: bool = False) -> None:
    """Write `dataset/` anew since the run has more to tell, as it was chosen before: with what `include` took, and with
    the same views unless all may have new rows.
    """
    try:
        before = Manifest.model_validate_json((folder / "dataset" / "manifest.json").read_bytes())
    except (FileNotFoundError, ValidationError):
        dataset(folder, config)
        return
    dataset(folder, config, views=() if every else before.views, include=before.include)


def report(folder: Path, config: RunConfig) -> Path:
    """Write `report.html`; its path."""
    path = folder / "report.html"
    atomic_write(path, page(records(folder, config), config, outside(folder)).encode())
    return path


def outside(folder: Path) -> Outside:
    """What all attempts took, interrupted ones too, what the seed filter passed over, and what people said."""
    result = folder / "result.json"
    dropped = orjson.loads(result.read_bytes())["dropped"] if result.exists() else {}
    review = folder / REVIEW
    said = Review.model_validate_json(review.read_bytes()) if review.exists() else None
    return Outside(spent=spent(folder), dropped=dropped, review=said)
