"""Records → shards, environment, card and manifest: one folder that trainers load as it is.

A pure function of the records and settings: the same journal gives the same shards, byte for byte. Every shard has the
view's own schema and at least one row, since an empty one makes the whole set unreadable. The folder is built aside
and takes its place when all of it is there, with the manifest written last.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pipeline.agents.environment import environment
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.report.card import Contents, card
from pipeline.report.figures import Outside
from pipeline.report.tally import Tally
from pipeline.store.files import atomic_folder, atomic_write, write_json
from pipeline.store.shards import SHARD_BYTES, Shard, Shelf
from pipeline.types import Data, Draft, Record
from pipeline.views import base


class Manifest(Data):
    """What a finished data set holds."""

    run: str
    records: int
    """All that were read, taken or not."""
    include: tuple[str, ...]
    views: tuple[str, ...]
    """All that were asked for; one without rows has no shard."""
    shards: tuple[Shard, ...]

    def rows(self) -> dict[str, dict[str, int]]:
        """By view, then split, the one to train on first."""
        counts: dict[str, dict[str, int]] = {}
        for shard in sorted(self.shards, key=lambda shard: (shard.view, shard.split != "train")):
            splits = counts.setdefault(shard.view, {})
            splits[shard.split] = splits.get(shard.split, 0) + shard.rows
        return counts


class Selection(Data):
    """What to export."""

    config: RunConfig
    views: tuple[str, ...] = ()
    """None named: all."""
    include: tuple[str, ...] = ()
    outside: Outside = Outside()
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the corpus may be passed on: views that hold more are left out."""
    language: str = "en"
    shard_bytes: int = SHARD_BYTES


def export(records: Iterable[Record], folder: Path, chosen: Selection) -> Manifest:
    """Write the data set of `records`, which come in the order of the plan, to `folder`, replacing what was there.

    One record is held at a time, and one row group per view and split.
    """
    unknown = set(chosen.include) - set(base.INCLUDES)
    if unknown:
        raise UsageError(f"cannot include '{min(unknown)}'; known: {', '.join(base.INCLUDES)}")
    views = _views(chosen)
    site, tally, example = environment(chosen.config), Tally(), None
    with _uncollected(), atomic_folder(folder) as building, Shelf(building, chosen.shard_bytes) as shelf:
        for record in records:
            tally.add(record)
            if not base.taken(record, chosen.include):
                continue
            example, side = example or record.draft, record.seed.side
            for name, view in views.items():
                if not name.startswith("rl_") or base.teaches(record, chosen.include):
                    shelf.add(name, side, view.SCHEMA, view.rows(record, site))
        manifest = Manifest(
            run=tally.lineage.run if tally.lineage else "",
            records=tally.ends.total(),
            include=chosen.include,
            views=tuple(views),
            shards=tuple(shelf.close()),
        )
        for name in manifest.rows():
            for file, text in base.beside(views[name]).items():
                atomic_write(building / name / file, text.encode())
        _describe(building, manifest, tally, example, chosen)
    return manifest


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which walks all rows that wait and would take a twelfth of the time: neither
    a record nor a row of any view leaves one.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _views(chosen: Selection) -> dict[str, base.View]:
    """Those asked for, or all that may be passed on."""
    views = {name: base.load(name) for name in chosen.views or base.names()}
    withheld = [name for name, view in views.items() if base.withheld(view, chosen.redistribute)]
    if chosen.views and withheld:
        raise UsageError(
            f"view '{withheld[0]}' holds more of the corpus than its manifest lets pass on "
            f"(redistribute = {chosen.redistribute})"
        )
    return {name: view for name, view in views.items() if name not in withheld}


def _describe(building: Path, manifest: Manifest, tally: Tally, example: Draft | None, chosen: Selection) -> None:
    """Environment and card, then the manifest."""
    write_json(building / "environment.json", environment(chosen.config).model_dump(mode="json"))
    contents = Contents(
        rows=manifest.rows(), example=example, **chosen.model_dump(include={"include", "redistribute", "language"})
    )
    text = card(tally.figures(chosen.outside), contents, chosen.config)
    atomic_write(building / "README.md", text.encode())
    write_json(building / "manifest.json", manifest.model_dump(mode="json"))
