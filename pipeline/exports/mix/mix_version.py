"""The mix of several runs in a data set, its versions, and the changes from one version to the next."""

from collections import Counter
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
    """Differences between a version and the one before it, in numbers of pairs."""

    before: str = ""
    """The version before; empty for the first."""
    added: int = 0
    removed: int = 0
    changed: int = 0
    """Pairs in both versions that differ in some column of `seeds.parquet`."""


class Mix(Data):
    """The contents of `mix.json`: what was mixed."""

    runs: tuple[Lineage, ...]
    """Sorted by their digests."""
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """The digested configuration of each run, with its prompts: everything that its rows depend on."""
    solvers: dict[str, str] = Field(default_factory=dict)
    """The solver's model of each run."""
    pairs: dict[str, int] = Field(default_factory=dict)
    """Number of pairs by run."""
    policy: str = ""
    """The policy that defines the bands of quotas and columns; empty for each run's own solver."""
    quotas: tuple[QuotaResult, ...] = ()
    left_out: tuple[str, ...] = ()
    """Views that hold an environment, if the runs have several."""
    number: int = 1
    version: str = ""
    """The number, or the name of `--version`."""
    content: str = ""
    """Digest of all shards."""
    changes: Changes = Changes()


def read(folder: Path) -> Mix | None:
    """Return the mix in `folder`, or None if the folder is empty or missing.

    Raises UsageError if it holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        return Mix.model_validate_json((folder / MIX).read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{folder} holds something other than a mix; name another folder with -o") from error


def write(building: Path, before: Path, mix: Mix, shards: Iterable[ShardFile]) -> Mix:
    """Give the finished shards in `building` a version and write FILES. `before` is the folder of the last version."""
    content = sha256("\n".join(f"{shard.path} {shard.sha256}" for shard in shards))
    old = read(before)
    if old and old.content == content and mix.version in ("", old.version):
        mix = mix.model_copy(update={name: getattr(old, name) for name in ("number", "version", "content", "changes")})
        for name in (CHANGES, IDS):
            link_or_copy(before / name, building / name)
    else:
        number = old.number + 1 if old else 1
        ids = _list_changes(_digest_pairs(before) if old else {}, _digest_pairs(building))
        counts = Counter(change for _, change in ids)
        changes = Changes(before=old.version if old else "", **counts)
        update = {"number": number, "version": mix.version or str(number), "content": content, "changes": changes}
        mix = mix.model_copy(update=update)
        atomic_write(building / CHANGES, _render_changes(mix, before / CHANGES if old else None).encode())
        with parquet_writer(building / IDS, _IDS) as writer:
            writer.write(pa.Table.from_pylist([{"id": key, "change": change} for key, change in ids], _IDS))
    write_json(building / MIX, mix.model_dump(mode="json"))
    return mix


def _digest_pairs(folder: Path) -> dict[str, str]:
    rows = scan_parquet(folder / seed_table.NAME).filter(pl.col("status") == "accepted").collect()
    return {
        row["key"]: sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode())[:16]
        for row in rows.drop("plan_order", "journal_file").iter_rows(named=True)
    }


def _list_changes(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (key, "removed" if key not in new else "added" if key not in old else "changed")
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]


def _render_changes(mix: Mix, before: Path | None) -> str:
    changes = mix.changes
    pairs = f"{sum(mix.pairs.values()):,} pairs of {len(mix.runs)} runs"
    text = f"## Version {mix.version}\n\n{pairs}, content `{mix.content[:12]}`."
    if changes.before:
        text += (
            f" Since version {changes.before}: {changes.added:,} added, {changes.removed:,} removed, "
            f"{changes.changed:,} changed."
        )
    text += "\n"
    earlier = before.read_text(encoding="utf-8").removeprefix(_HEAD) if before else ""
    return f"{_HEAD}{text}" + (f"\n{earlier}" if earlier else "")
