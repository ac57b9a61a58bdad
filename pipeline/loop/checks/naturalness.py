"""A reader grades the wording from 1 to 5, three times at most; a median below `checks.naturalness` sends it back.

The first of these readings also says whether the answer changes with time.
"""

import re
from collections.abc import Sequence
from functools import partial
from statistics import median_low
from typing import Annotated

from pydantic import Field, WithJsonSchema

from pipeline.agents import readers
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult, DraftCheck, Found, Meaning, Stage
from pipeline.text import dates
from pipeline.text.scripts import ascii_digits
from pipeline.types import Cause, Data, Draft, Probe, Usage

GRADES = 3
_BUDDHIST_YEAR = re.compile(r"[\u0e01-\u0e4e][\s.]*2[45]\d\d(?!\d)")
"""As Thai has it: ปี 2557 is 2014."""


class GradeOutput(Data):
    """`reason` stands first, so that a model thinks before it grades."""

    reason: str = ""
    grade: int = Field(ge=1, le=5)
    what_changes: str = ""
    changes_with_time: Annotated[bool | None, WithJsonSchema({"type": "boolean"})] = Field(default_factory=lambda: None)
    """None where the reader did not say, as the demo model."""


async def naturalness(draft: Draft, target: int, context: RunContext, *, grades: int = GRADES) -> CheckResult:
    """Worded so that nobody would ask it, by the median of the grades; or with an answer that changes with time, and no
    date, by the first of these readings.

    What somebody brought sets its own measure: no other wording need be more natural.
    """
    least, usage = context.config.checks.naturalness, Usage()
    if brought := context.memory.brought:
        own, _, usage = await _graded(brought, least, GRADES, context)
        least = min(least, median_low(output.grade for output in own))
    read, model, took = await _graded(draft.question, least, grades, context)
    usage += took
    given = tuple(str(output.grade) for output in read)
    bad = [output for output in read if output.grade < least]
    probe = Probe(check="naturalness", model=model, answers=given, right=len(read) - len(bad), usage=usage)
    result = CheckResult(probes=(probe,))
    if median_low(output.grade for output in read) < least:
        why = " ".join(bad[0].reason.split()).rstrip(".")
        graded = f"a reader graded the wording {', '.join(given)} of 5, and {least} in most readings is enough: {why}"
        result += CheckResult(findings=(Found(graded).finding("naturalness", CHECK.cause),))
    return result if read[0].changes_with_time is None else result + _undated(draft, read[0], model, context)


async def _graded(question: str, least: int, grades: int, context: RunContext) -> tuple[list[GradeOutput], str, Usage]:
    """As many grades as settle on which side of `least` most of them are, and who gave them."""
    asked = context.prompt("naturalness/grade", question=question)
    read, model, usage = list[GradeOutput](), "", Usage()
    while not _settled(read, least, grades):
        output, model, took = await readers.grade(asked, GradeOutput, context, len(read))
        read, usage = [*read, output], usage + took
    return read, model, usage


def _undated(draft: Draft, first: GradeOutput, model: str, context: RunContext) -> CheckResult:
    """Of a question with a date, be it "early 2014", a reader must say what changes in spite of that."""
    dated = bool(dates(ascii_digits(draft.question)) or _BUDDHIST_YEAR.search(ascii_digits(draft.question)))
    changes = bool(first.changes_with_time) and not (dated and not first.what_changes.strip())
    probe = Probe(check="undated", model=model, answers=("yes" if changes else "no",), right=int(not changes))
    as_of = f"; the texts are as of {context.lineage.as_of}" if context.lineage.as_of else ""
    what = f"; the reader says what changes: {' '.join(first.what_changes.split())}" if first.what_changes else ""
    named = "the date in the question is not that of the answer" if dated else "the question names no date"
    told = Found(f"a reader says that the answer changes with time, and {named}{what}{as_of}")
    return CheckResult(probes=(probe,), findings=(told.finding("undated", Cause.UNDATED),) if changes else ())


def _settled(read: Sequence[GradeOutput], least: int, grades: int) -> bool:
    """Can no further grade put the median on the other side?"""
    good = sum(output.grade >= least for output in read)
    return max(good, len(read) - good) * 2 > grades


def told(probe: Probe) -> str:
    given = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers))
    return f"graded {given} of 5, which is enough"


FURTHER = {
    "undated": Meaning(
        "The reader who grades the wording says that the answer changes with time; no date is named.",
        told=lambda probe: "the answer does not change with time",
    )
}
CHECK = DraftCheck(
    Stage.READ,
    6,
    Cause.UNNATURAL,
    told=told,
    wording=True,
    ask=naturalness,
    at_once=partial(naturalness, grades=1),
    further=FURTHER,
)
