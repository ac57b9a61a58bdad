"""Merge the surveys of all parts: rare words, boilerplate sentences, versions of documents and names of documents."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pipeline.links import near_duplicates as versions
from pipeline.links import sorted_tables as runs
from pipeline.links.mentions import Knowledge
from pipeline.links.titles import NONE, KnownTitles, Titles

_SEVERAL = 3
"""A sentence is boilerplate if this many documents contain it. Versions count as one."""
_COMMON_SHARE = 100
"""A phrase may be in one of this many passages, if that is more than the limit by documents."""
_COMMON_WORD = 100
"""A word is common if more than one document in this many contains it."""
_SHARE = 40
"""A phrase that is in more than one document in this many says little, however small the corpus is. If documents have
many passages, `_COMMON_SHARE` sets a higher limit."""
_LEAST = 3
_OFTEN = 2
"""Mean number of times that a document with a rare word must use it: a text repeats what it is about."""

_NONE = pl.DataFrame(schema={"hash": pl.UInt64})


def part_files(folder: Path, name: str, numbers: Iterable[int]) -> list[Path]:
    return [folder / f"{name}-{number:05}.arrow" for number in numbers]


def learn(folder: Path, numbers: Sequence[int], passages: int, names: pl.DataFrame, most: int) -> None:
    """Merge the files of these parts. `names` are the names that documents have besides their titles."""

    def ranges(name: str) -> Iterator[pl.DataFrame]:
        return runs.ranges(part_files(folder, name, numbers), "hash")

    sketches = pl.concat([pl.DataFrame(runs.read(path)) for path in part_files(folder, "sketches", numbers)])
    columns = {column.name: column.to_numpy() for column in sketches}
    full = columns.pop("full")
    # A document without a title gets its opening as one. If several texts open alike, that is not a name. If only one
    # does, it may be a real title that the text repeats.
    shared = (columns.pop("stands_in") > 0) & pl.Series(full).is_duplicated().to_numpy()
    group = versions.group_versions(columns, np.where(shared, NONE, full), most)
    runs.write(folder / "groups.arrow", {"group": group})
    kinds = _word_conditions(document_limit(group, passages, most), len(group) // _COMMON_WORD)
    words = [table.group_by("hash").sum().filter(pl.any_horizontal(kinds.values())) for table in ranges("words")]
    for name, condition in kinds.items():
        matching = [table.filter(condition).select("hash") for table in words]
        runs.write(folder / f"{name}.arrow", pl.concat([_NONE, *matching]), "hash")
    recurring = [_find_boilerplate(table, group) for table in ranges("sentences")]
    runs.write(folder / "boilerplate.arrow", pl.concat([_NONE, *recurring]), "hash")
    titles = pl.concat([pl.DataFrame(runs.read(path)) for path in part_files(folder, "titles", numbers)])
    unnamed = pl.Series(shared[titles["row"].to_numpy()])
    titles = titles.with_columns(pl.when(unnamed).then(pl.lit(NONE)).otherwise("hash").alias("hash"))
    runs.write(folder / "titles.arrow", pl.concat([titles, names.select(titles.columns)]), "hash")


def document_limit(group: Any, passages: int, most: int) -> int:
    documents = int((group == np.arange(len(group))).sum())
    return min(most, max(_LEAST, documents // _SHARE, passages // _COMMON_SHARE))


def load_knowledge(folder: Path) -> Knowledge:
    names = "rare", "small", "common", "beside", "boilerplate"
    hashes = {name: KnownTitles(runs.read(folder / f"{name}.arrow")["hash"]) for name in names}
    return Knowledge(titles=Titles.from_table(runs.read(folder / "titles.arrow")), **hashes)


def _word_conditions(most: int, common: int) -> dict[str, pl.Expr]:
    documents, count = pl.col("documents"), pl.col("count")
    capital = count - pl.col("small")
    is_rare = documents.is_between(2, most) & (count >= _OFTEN * documents)
    return {
        "rare": is_rare & (pl.col("cased") == 0),
        "small": 2 * pl.col("small") > count,
        "common": documents > max(common, most),
        "beside": (documents > max(common, most)) & (2 * pl.col("alone") > capital) & (2 * capital > count),
    }


def _find_boilerplate(table: pl.DataFrame, group: Any) -> pl.DataFrame:
    versions_apart = table.select("hash", of=group[table["row"].to_numpy()]).group_by("hash").n_unique()
    return versions_apart.filter(pl.col("of") >= _SEVERAL).select("hash")
