"""Rows of a table, "Capital > name: Paris": what stands before the colon is asked about, what follows it answers."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_lexis import meanings, stem, stems
from pipeline.embedded.solver_lines import Found, Line, lines, same

_ROW = re.compile(r"^([A-Z][^.:\n]{1,80}): [-$]?(?=\S)", re.MULTILINE)
_SILENT = frozenset(map(stem, "name total number amount figure value state list give enter".split()))
"""What a label says of any value, and a question of any figure."""
_SORTS = {
    "date": ("date",),
    "year": ("date",),
    "number": ("number",),
    "thing": ("name", "noun", "number", "date", "nation"),
}
"""What may answer a kind of question; a name, where it is none of these."""
_NEAR = 12
"""Letters before a value's first name: "President of Council of Ministers" stays, a second value does not."""


@lru_cache(maxsize=65536)
def value(line: Line) -> int:
    """Where the value of the row begins; 0 where the sentence is no row. Prose has colons too: one row is no table."""
    row = _ROW.match(line.text)
    return row.end() if row and len(_ROW.findall(line.passage.text)) > 1 else 0


def answered(query: Any, found: Found, line: Line) -> float:
    """0 to 1: does the row's label say what is asked, and is this its value?"""
    start, sorts = value(line), _SORTS.get(query.kind, ("name",))
    if not start or found.start < start or found.sort not in sorts:
        return 0.0
    first = min((f.start for f in line.found if f.start >= start and f.sort in sorts), default=found.start)
    if found.start > first or (found.sort in ("name", "noun") and found.start - start > _NEAR):
        return 0.0
    return _asked(query, line.text[: found.start]) * (1.0 if found.start == start else 0.9)


def _asked(query: Any, label: str) -> float:
    """The share of the question's words in the label, or in a title before the name, less for what else they say."""
    said = set(stems(label)) - _SILENT
    wanted = [word for word in query.content if word not in _SILENT]
    if not wanted or not said:
        return 0.0
    hits = [meanings(word) & said for word in wanted]
    told = {word for name in query.names for word in stems(name)}
    covered = said & told.union(*hits)
    return sum(map(bool, hits)) / len(wanted) * (0.6 + 0.4 * len(covered) / len(said))


def labels(names: Sequence[str], passages: Sequence[Seen]) -> tuple[str, ...]:
    """Of these names those that are no names but labels of rows seen: “Elevation > highest point”."""
    return tuple(name for name in names if any(same(name) in _labels(passage) for passage in passages))


@lru_cache(maxsize=8192)
def _labels(passage: Seen) -> frozenset[str]:
    return frozenset(same(line.text[: value(line)]) for line in lines(passage) if value(line))
