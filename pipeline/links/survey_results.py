"""From the survey of all parts: which words are rare, which sentences are boilerplate, which documents are versions of
one another, and what every document is called.
"""

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
"""Documents that hold a sentence, versions not counted: then it is boilerplate."""
_COMMON_SHARE = 100
"""Passages that hold an end, at least, for it to be kept; in a small corpus one in so many, and `_LEAST`."""
_COMMON_WORD = 100
"""A name of words that one document in so many holds, each of them, may well be that of another thing."""
_SHARE = 40
"""A phrase that more than one document in so many holds says little, however small the corpus is; but where documents
have many passages, they may be as many as one passage in `_COMMON_SHARE`."""
_LEAST = 3
_OFTEN = 2
"""Times that a document which holds a rare word does so, on the mean: what a text is about it says again."""

_NONE = pl.DataFrame(schema={"hash": pl.UInt64})


def files(folder: Path, name: str, numbers: Iterable[int]) -> list[Path]:
    return [folder / f"{name}-{number:05}.arrow" for number in numbers]


def learn(folder: Path, numbers: Sequence[int], passages: int, names: pl.DataFrame, most: int) -> None:
    """From the files of these parts. `names` are those that documents have besides their titles."""

    def ranges(name: str) -> Iterator[pl.DataFrame]:
        return runs.ranges(files(folder, name, numbers), "hash")

    sketches = pl.concat([pl.DataFrame(runs.read(path)) for path in files(folder, "sketches", numbers)])
    whole = {column.name: column.to_numpy() for column in sketches}
    full = whole.pop("full")
    # What stands for the title of documents without one is no name of theirs, and several texts may begin so. If only
    # one does, it may as well be a title that its text repeats.
    shared = (whole.pop("stands_in") > 0) & pl.Series(full).is_duplicated().to_numpy()
    group = versions.groups(whole, np.where(shared, NONE, full), most)
    runs.write(folder / "groups.arrow", {"group": group})
    kinds = _kinds_of_words(limit(group, passages, most), len(group) // _COMMON_WORD)
    words = [table.group_by("hash").sum().filter(pl.any_horizontal(kinds.values())) for table in ranges("words")]
    for name, kind in kinds.items():
        found = [table.filter(kind).select("hash") for table in words]
        runs.write(folder / f"{name}.arrow", pl.concat([_NONE, *found]), "hash")
    recurring = [_recurring(table, group) for table in ranges("sentences")]
    runs.write(folder / "boilerplate.arrow", pl.concat([_NONE, *recurring]), "hash")
    titles = pl.concat([pl.DataFrame(runs.read(path)) for path in files(folder, "titles", numbers)])
    unnamed = pl.Series(shared[titles["row"].to_numpy()])
    titles = titles.with_columns(pl.when(unnamed).then(pl.lit(NONE)).otherwise("hash").alias("hash"))
    runs.write(folder / "titles.arrow", pl.concat([titles, names.select(titles.columns)]), "hash")


def limit(group: Any, passages: int, most: int) -> int:
    """The documents that may hold a phrase, in a corpus with these groups of versions and so many passages."""
    documents = int((group == np.arange(len(group))).sum())
    return min(most, max(_LEAST, documents // _SHARE, passages // _COMMON_SHARE))


def knowledge(folder: Path) -> Knowledge:
    names = "rare", "small", "common", "beside", "boilerplate"
    known = {name: KnownTitles(runs.read(folder / f"{name}.arrow")["hash"]) for name in names}
    return Knowledge(titles=Titles.of(runs.read(folder / "titles.arrow")), **known)


def _kinds_of_words(most: int, common: int) -> dict[str, pl.Expr]:
    documents, count = pl.col("documents"), pl.col("count")
    capital = count - pl.col("small")
    often = documents.is_between(2, most) & (count >= _OFTEN * documents)
    return {
        "rare": often & (pl.col("cased") == 0),
        "small": 2 * pl.col("small") > count,
        "common": documents > max(common, most),
        "beside": (documents > max(common, most)) & (2 * pl.col("alone") > capital) & (2 * capital > count),
    }


def _recurring(table: pl.DataFrame, group: Any) -> pl.DataFrame:
    versions_apart = table.select("hash", of=group[table["row"].to_numpy()]).group_by("hash").n_unique()
    return versions_apart.filter(pl.col("of") >= _SEVERAL).select("hash")
