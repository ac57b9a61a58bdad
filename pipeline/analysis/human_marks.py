"""What people say of a random sample of the accepted pairs: which pairs, a sheet out, its marks in, and what all marks
come to.

The sample is drawn by hash, so that a sheet written twice asks the same, and whoever goes on in a browser meets the
same pairs. The sheet is CSV, which every spreadsheet opens; text of the corpus that a spreadsheet would carry out as a
formula is defused by an apostrophe.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from pipeline.errors import UsageError
from pipeline.store.review_marks import ASKED, Mark
from pipeline.text.redact import clean
from pipeline.types import Data, Record, Share, sha256

COLUMNS = ("number", "key", *ASKED, "note", "question", "answer", "evidence", "instructions")
INSTRUCTIONS = (
    "yes or no; leave empty what you cannot tell. right: the question is clear and the answer right by the evidence. "
    "unique: no other answer is right. natural: a person would ask it so"
)
_MARKS = {"yes": True, "y": True, "1": True, "no": False, "n": False, "0": False}
_FORMULA = re.compile(r"^[\s\x00-\x20]*[=+\-@\t\r]")


class Review(Data):
    """What people said of a random sample of the accepted pairs."""

    items: int
    """Pairs that anybody marked."""
    precision: Share
    """Questions that are clear and whose answer is right and the only one, of those of which that was said. Where one
    of several people said no, it is no."""
    unsure: int
    natural: Share = Share(part=0, whole=0)
    """Questions that a person would ask so."""
    reviewers: int = 1
    agreed: Share = Share(part=0, whole=0)
    """Of the pairs that more than one person judged, those on which all said the same."""


def sample(accepted: Iterable[str], items: int | None = None) -> list[str]:
    """So many of the keys of accepted pairs, or all of them, in an order drawn by hash."""
    return sorted(accepted, key=lambda key: sha256(f"review:{key}"))[:items]


def sheet(chosen: Iterable[Record]) -> str:
    """The CSV text, a row each, with columns to be filled."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    for number, record in enumerate(chosen, 1):
        draft = record.draft
        if draft is not None:
            also = f" (also: {'; '.join(draft.answer_aliases)})" if draft.answer_aliases else ""
            evidence = "\n".join(f"{h.sub_question} → {h.answer}\n“{h.quote}” — {h.title}" for h in draft.hops)
            cells = (draft.question, draft.answer + also, evidence, INSTRUCTIONS if number == 1 else "")
            rows.writerow((number, record.key, *[""] * (len(ASKED) + 1), *map(_cell, cells)))
    return text.getvalue()


def read(text: str, known: Iterable[str], reviewer: str, at: str) -> list[Mark]:
    """The marks of a filled sheet. `known` are the keys of the run's accepted pairs.

    Raises UsageError, naming the row, for a mark that is none and for a key that is no pair's or that comes twice.
    """
    keys, seen = set(known), Counter[str]()
    marks: list[Mark] = []
    try:
        filled = io.StringIO(text.removeprefix("\ufeff"), newline="")
        rows = list(csv.DictReader(filled, delimiter=_delimiter(text)))
    except csv.Error as error:
        raise UsageError(f"the sheet cannot be read: {error}") from error
    if not rows or not {"key", *ASKED} <= set(rows[0]):
        raise UsageError(f"the sheet needs the columns key, {', '.join(ASKED)}; write one with digsite review RUN")
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row.values() if isinstance(cell, str)):
            continue  # spreadsheets keep rows that somebody has emptied
        key = (row["key"] or "").strip()
        seen[key] += 1
        if key not in keys or seen[key] > 1:
            raise UsageError(f"row {number}: the run has no pair '{key[:12]}', or the sheet has it twice")
        said = {name: (row[name] or "").strip().lower() for name in ASKED}
        if wrong := next((name for name, word in said.items() if word and word not in _MARKS), None):
            raise UsageError(f"row {number}: '{wrong}' is yes, no or empty, not '{said[wrong][:20]}'")
        answers = {name: _MARKS.get(word) for name, word in said.items()}
        note = (row.get("note") or "").strip()
        if note or any(said.values()):
            marks.append(Mark(key=key, reviewer=reviewer, note=clean(note), at=at, **answers))
    if not any(mark.right is not None or mark.unique is not None for mark in marks):
        raise UsageError("no row is marked yet: fill in yes or no for right or unique")
    return marks


def reviewed(marks: Iterable[Mark], accepted: Container[str]) -> Review | None:
    """What the marks on the pairs come to; None where there are none."""
    by_pair: dict[str, list[Mark]] = {}
    for mark in marks:
        if mark.key in accepted and mark.answered:
            by_pair.setdefault(mark.key, []).append(mark)
    if not by_pair:
        return None
    good = [_together(mark.good for mark in said) for said in by_pair.values()]
    natural = [_together(mark.natural for mark in said) for said in by_pair.values()]
    judged = [[mark.good for mark in said if mark.good is not None] for said in by_pair.values()]
    several = [set(verdicts) for verdicts in judged if len(verdicts) > 1]
    return Review(
        items=len(by_pair),
        precision=_share(good),
        unsure=good.count(None),
        natural=_share(natural),
        reviewers=len({mark.reviewer for said in by_pair.values() for mark in said}),
        agreed=Share(part=sum(len(verdicts) == 1 for verdicts in several), whole=len(several)),
    )


def _together(said: Iterable[bool | None]) -> bool | None:
    """One who says no is enough, since a fault that one has seen is there whether or not others saw it."""
    known = {one for one in said if one is not None}
    return None if not known else known == {True}


def _share(said: Sequence[bool | None]) -> Share:
    return Share(part=said.count(True), whole=said.count(True) + said.count(False))


def _delimiter(text: str) -> str:
    """Spreadsheets of some countries part cells by semicolons."""
    head = next(iter(text.splitlines()), "")
    return ";" if head.count(";") > head.count(",") else ","


def _cell(text: str) -> str:
    text = clean(text)
    return f"'{text}" if _FORMULA.match(text) else text
