"""Reviews of a random sample of the accepted pairs by people: the sample, the sheet to fill in, and the marks.

The sample is drawn by hash, so a sheet that is written twice has the same pairs, and so has the browser. The sheet is
CSV, which every spreadsheet opens; text that a spreadsheet would run as a formula gets an apostrophe.
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
    """Summary of the marks of all reviewers."""

    items: int
    """Number of marked pairs."""
    precision: Share
    """Share of clear questions with a right and unique answer. The no of one of several people counts as no."""
    unsure: int
    natural: Share = Share(part=0, whole=0)
    """Share of questions that a person would ask in this way."""
    reviewers: int = 1
    agreed: Share = Share(part=0, whole=0)
    """Share of unanimous pairs among those that several people judged."""


def sample(accepted: Iterable[str], items: int | None = None) -> list[str]:
    """Sort the keys of accepted pairs by hash, and return the first `items` or all."""
    return sorted(accepted, key=lambda key: sha256(f"review:{key}"))[:items]


def sheet(records: Iterable[Record]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    for number, record in enumerate(records, 1):
        draft = record.draft
        if draft is not None:
            also = f" (also: {'; '.join(draft.answer_aliases)})" if draft.answer_aliases else ""
            evidence = "\n".join(f"{h.sub_question} → {h.answer}\n“{h.quote}” — {h.title}" for h in draft.hops)
            cells = (draft.question, draft.answer + also, evidence, INSTRUCTIONS if number == 1 else "")
            rows.writerow((number, record.key, *[""] * (len(ASKED) + 1), *map(_escape_formula, cells)))
    return text.getvalue()


def read(text: str, accepted: Iterable[str], reviewer: str, at: str) -> list[Mark]:
    """Read the marks of a filled sheet. `accepted` are the keys of the run's accepted pairs.

    Raises UsageError, which names the row, if a mark is invalid, or a key is unknown or occurs twice.
    """
    keys, occurrences = set(accepted), Counter[str]()
    marks: list[Mark] = []
    try:
        lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
        rows = list(csv.DictReader(lines, delimiter=_delimiter(text)))
    except csv.Error as error:
        raise UsageError(f"the sheet cannot be read: {error}") from error
    if not rows or not {"key", *ASKED} <= set(rows[0]):
        raise UsageError(
            f"the sheet must have the columns key, {', '.join(ASKED)}; to write such a sheet: digsite review RUN"
        )
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row.values() if isinstance(cell, str)):
            continue  # spreadsheets keep rows whose cells were cleared
        key = (row["key"] or "").strip()
        occurrences[key] += 1
        if key not in keys or occurrences[key] > 1:
            raise UsageError(f"row {number}: the run has no pair '{key[:12]}', or the sheet has it twice")
        cells = {name: (row[name] or "").strip().lower() for name in ASKED}
        if invalid := next((name for name, word in cells.items() if word and word not in _MARKS), None):
            raise UsageError(f"row {number}: '{invalid}' must be yes, no or empty, not '{cells[invalid][:20]}'")
        answers = {name: _MARKS.get(word) for name, word in cells.items()}
        note = (row.get("note") or "").strip()
        if note or any(cells.values()):
            marks.append(Mark(key=key, reviewer=reviewer, note=clean(note), at=at, **answers))
    if not any(mark.right is not None or mark.unique is not None for mark in marks):
        raise UsageError("no row is marked yet: fill in yes or no for right or unique")
    return marks


def summarise_marks(marks: Iterable[Mark], accepted: Container[str]) -> Review | None:
    """Summarise the marks of the random sample; None without any."""
    by_pair: dict[str, list[Mark]] = {}
    for mark in marks:
        if mark.key in accepted and mark.answered and mark.sampled:
            by_pair.setdefault(mark.key, []).append(mark)
    if not by_pair:
        return None
    good = [_combine(mark.good for mark in pair_marks) for pair_marks in by_pair.values()]
    natural = [_combine(mark.natural for mark in pair_marks) for pair_marks in by_pair.values()]
    verdicts_by_pair = [[mark.good for mark in pair_marks if mark.good is not None] for pair_marks in by_pair.values()]
    judged_by_several = [set(verdicts) for verdicts in verdicts_by_pair if len(verdicts) > 1]
    return Review(
        items=len(by_pair),
        precision=_share(good),
        unsure=good.count(None),
        natural=_share(natural),
        reviewers=len({mark.reviewer for pair_marks in by_pair.values() for mark in pair_marks}),
        agreed=Share(part=sum(len(verdicts) == 1 for verdicts in judged_by_several), whole=len(judged_by_several)),
    )


def _combine(verdicts: Iterable[bool | None]) -> bool | None:
    """Return False if anyone said no: a fault that one person saw is there, even if others missed it."""
    distinct = {verdict for verdict in verdicts if verdict is not None}
    return None if not distinct else distinct == {True}


def _share(verdicts: Sequence[bool | None]) -> Share:
    return Share(part=verdicts.count(True), whole=verdicts.count(True) + verdicts.count(False))


def _delimiter(text: str) -> str:
    # Spreadsheets of some countries separate cells by semicolons.
    head = next(iter(text.splitlines()), "")
    return ";" if head.count(";") > head.count(",") else ","


def _escape_formula(text: str) -> str:
    text = clean(text)
    return f"'{text}" if _FORMULA.match(text) else text
