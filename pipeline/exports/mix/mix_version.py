"""A data set that is mixed of several runs, its versions, and what one has that the version before had not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
from pydantic import Field, ValidationError

from pipeline.analysis import seed_table
from pipeline.errors import UsageError
from pipeline.exports.mix.quota_sample import QuotaResult
from pipeline.exports.shards import ShardFile
from pipeline.store.arrow import parquet_writer
from pipeline.store.files import atomic_write, link_or_copy, write_json
from pipeline.store.tables import scan_parquet
from pipeline.types import Data, Lineage, sha256

MIX, CHANGES, IDS = "mix.json", "CHANGES.md", "changes.parquet"
FILES = (MIX, CHANGES, IDS)
_HEAD = f"# Changes\n\nThe ids of the latest changes are in `{IDS}`.\n\n"
_IDS = pa.schema([("id", pa.string()), ("change", pa.string())])


class Changes(Data):
    """Pairs of one version against those of the version before."""

    before: str = ""
    """That version; empty where there is none."""
    added: int = 0
    removed: int = 0
    changed: int = 0
    """Pairs in both of which some column of `seeds.parquet` is another."""


class Mix(Data):
    """What was mixed, as `mix.json` keeps it."""

    runs: tuple[Lineage, ...]
    """In the order of their digests."""
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """All that the rows of each run depend on: its digested configuration, with its prompts."""
    solvers: dict[str, str] = Field(default_factory=dict)
    """The solver's model of each run."""
    pairs: dict[str, int] = Field(default_factory=dict)
    """By run."""
    policy: str = ""
    """The policy whose bands quotas and columns name; empty: each run's own solver."""
    quotas: tuple[QuotaResult, ...] = ()
    left_out: tuple[str, ...] = ()
    """Views that hold an environment, where the runs have several."""
    number: int = 1
    version: str = ""
    """The number, unless `--version` says another name."""
    content: str = ""
    """Digest of all shards."""
    changes: Changes = Changes()


def read(folder: Path) -> Mix | None:
    """The mix that stands there; None where nothing does. Raises UsageError where something else stands there."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        return Mix.model_validate_json((folder / MIX).read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{folder} holds something else than a mix; name another folder with -o") from error


def write(building: Path, before: Path, mix: Mix, shards: Iterable[ShardFile]) -> Mix:
    """Give the finished shards of `building` a version, and write the files of FILES beside them; `before` is the
    folder of the version before, if there is one."""
    content = sha256("\n".join(f"{shard.path} {shard.sha256}" for shard in shards))
    old = read(before)
    if old and old.content == content and mix.version in ("", old.version):
        mix = mix.model_copy(update={name: getattr(old, name) for name in ("number", "version", "content", "changes")})
        for name in (CHANGES, IDS):
            link_or_copy(before / name, building / name)
    else:
        number = old.number + 1 if old else 1
        ids = _differences(_pairs(before) if old else {}, _pairs(building))
        counts = {change: sum(said == change for _, said in ids) for change in ("added", "removed", "changed")}
        update = {"number": number, "version": mix.version or str(number), "content": content}
        changes = Changes(before=old.version if old else "", **counts)
        mix = mix.model_copy(update={**update, "changes": changes})
        atomic_write(building / CHANGES, _page(mix, before / CHANGES if old else None).encode())
        with parquet_writer(building / IDS, _IDS) as writer:
            writer.write(pa.Table.from_pylist([{"id": key, "change": change} for key, change in ids], _IDS))
    write_json(building / MIX, mix.model_dump(mode="json"))
    return mix


def _pairs(folder: Path) -> dict[str, str]:
    """A digest of every pair by its id: of its row of the table of seeds, whichever views are written."""
    rows = scan_parquet(folder / seed_table.NAME).filter(pl.col("status") == "accepted").collect()
    return {row["key"]: _digest(row) for row in rows.drop("plan_order", "journal_file").iter_rows(named=True)}


def _digest(row: dict[str, object]) -> str:
    return sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode())[:16]


def _differences(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str]]:
    """Ids with what became of them, in their order. In a first version all are added."""
    return [
        (key, "removed" if key not in new else "added" if key not in old else "changed")
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]


def _page(mix: Mix, before: Path | None) -> str:
    """The page of all versions, the latest first."""
    now = mix.changes
    pairs = f"{sum(mix.pairs.values()):,} pairs of {len(mix.runs)} runs"
    since = f" Since version {now.before}: {now.added:,} added, {now.removed:,} removed, {now.changed:,} changed."
    text = f"## Version {mix.version}\n\n{pairs}, content `{mix.content[:12]}`.{since if now.before else ''}\n"
    earlier = before.read_text(encoding="utf-8").removeprefix(_HEAD) if before else ""
    return f"{_HEAD}{text}" + (f"\n{earlier}" if earlier else "")
