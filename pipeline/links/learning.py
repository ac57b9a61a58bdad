"""From the survey of all parts: which words are rare, which sentences are boilerplate, which documents are versions of
one another, and what every document is called.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.links import near_duplicates as versions
from pipeline.links import sorted_tables as runs
from pipeline.links.mentions import Knowledge
from pipeline.links.sorted_tables import Columns
from pipeline.links.titles import KnownTitles, Titles
from pipeline.links.tokens import U64

_SEVERAL = 3
"""Documents that hold a sentence, versions not counted: then it is boilerplate."""
_COMMON, _COMMON_SHARE = 10, 100
"""Passages that hold an end, at least, for it to be kept; in a small corpus one in so many, and `_LEAST`."""
_TOO_COMMON = 25
"""Words that one passage in so many has before what may be an answer say nothing of it, such as "of the", unless
`_COMMON` passages are more."""
_COMMON_WORD = 100
"""A name of words that one document in so many holds, each of them, may well be that of another thing."""
_SHARE = 40
"""A phrase that more than one document in so many holds says little, however small the corpus is; but where documents
have many passages, they may be as many as one passage in `_COMMON_SHARE`."""
_LEAST = 3
_OFTEN = 2
"""Times that a document which holds a rare word does so, on the mean: what a text is about it says again."""


def files(folder: Path, name: str, count: int) -> list[Path]:
    return [folder / f"{name}-{number:05}.arrow" for number in range(count)]


def learn(folder: Path, count: int, passages: int, names: Columns, most: int) -> None:
    """From the files of so many parts. `names` are those that documents have besides their titles."""
    sketches = [runs.read(path) for path in files(folder, "sketches", count)]
    whole = {name: np.concatenate([one[name] for one in sketches]) for name in sketches[0]}
    group = versions.groups(whole, whole.pop("full"), most)
    runs.save(folder / "groups.arrow", {"group": group})
    most = limit(group, passages, most)
    for name, hashes in _words(files(folder, "words", count), most, len(group) // _COMMON_WORD).items():
        runs.save(folder / f"{name}.arrow", {"hash": hashes})
    recurring = [_recurring(table, group) for table in runs.ranges(files(folder, "sentences", count), "hash")]
    runs.save(folder / "boilerplate.arrow", {"hash": _joined(recurring)})
    common = [_common(table, passages) for table in runs.ranges(files(folder, "ends", count), "hash")]
    runs.save(
        folder / "ends.arrow",
        {name: np.concatenate([one[name] for one in common]) if common else np.empty(0, kind)
         for name, kind in (("hash", np.uint64), ("documents", np.uint32))},
    )  # fmt: skip
    tables = [*(runs.read(path) for path in files(folder, "titles", count)), names]
    runs.write(folder / "titles.arrow", {n: np.concatenate([t[n] for t in tables]) for n in names}, "hash")


def limit(group: Any, passages: int, most: int) -> int:
    """The documents that may hold a phrase, in a corpus with these groups of versions and so many passages."""
    documents = int((group == np.arange(len(group))).sum())
    return min(most, max(_LEAST, documents // _SHARE, passages // _COMMON_SHARE))


def knowledge(folder: Path) -> Knowledge:
    names = "rare", "small", "common", "boilerplate"
    known = {name: KnownTitles(runs.read(folder / f"{name}.arrow")["hash"]) for name in names}
    return Knowledge(titles=Titles.of(runs.read(folder / "titles.arrow")), **known)


def _words(paths: Sequence[Path], most: int, common: int) -> dict[str, U64]:
    found: dict[str, list[U64]] = {"rare": [], "small": [], "common": []}
    for table in runs.ranges(paths, "hash"):
        word = runs.summed(table, "hash")
        documents, count = word["documents"], word["count"]
        often = (documents >= 2) & (documents <= most) & (count >= _OFTEN * documents)
        found["rare"].append(word["hash"][often & (word["cased"] == 0)])
        found["small"].append(word["hash"][2 * word["small"] > count])
        found["common"].append(word["hash"][documents > max(common, most)])
    return {name: _joined(hashes) for name, hashes in found.items()}


def _recurring(table: Columns, group: Any) -> U64:
    hashes, of = table["hash"], group[table["row"]]
    order = np.lexsort((of, hashes))
    hashes, of = hashes[order], of[order]
    another = np.ones(len(hashes), np.uint32)
    another[1:] = (hashes[1:] != hashes[:-1]) | (of[1:] != of[:-1])
    found = runs.summed({"hash": hashes, "documents": another}, "hash")
    recurring: U64 = found["hash"][found["documents"] >= _SEVERAL]
    return recurring


def _common(table: Columns, passages: int) -> Columns:
    least = min(_COMMON, max(_LEAST, passages // _COMMON_SHARE))
    found = runs.summed(table, "hash")
    common = (found["documents"] >= least) & (found["documents"] <= max(_COMMON, passages // _TOO_COMMON))
    return {name: values[common] for name, values in found.items()}


def _joined(hashes: Sequence[U64]) -> U64:
    return np.concatenate([np.empty(0, np.uint64), *hashes])
