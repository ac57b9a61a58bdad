"""What a reader says of the question's wording alone: whether somebody would ask it so, whether its answer changes with
time, and whether it must name its source, since general knowledge answers otherwise."""

from collections.abc import Sequence
from statistics import median_low

from pipeline.agents import readers
from pipeline.agents.readers import GradeOutput
from pipeline.context import RunContext
from pipeline.loop.checks.alternatives import VOTES, same
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Cause, Draft, Finding, Probe, Usage

GRADES = 3


async def naturalness(draft: Draft, target: int, context: RunContext, *, grades: int = GRADES) -> CheckResult:
    """Worded so that nobody would ask it, by the median of the grades; or with an answer that changes with time, and no
    date, by the first of these readings."""
    least, read, usage = context.config.checks.naturalness, list[GradeOutput](), Usage()
    while not _settled(read, least, grades):
        output, model, took = await readers.naturalness(draft.question, context, len(read))
        read, usage = [*read, output], usage + took
    given = [output.grade for output in read]
    good = median_low(given) >= least
    told = {"model": model, "answers": tuple(map(str, given)), "right": sum(grade >= least for grade in given)}
    probe = Probe(check="naturalness", usage=usage, **told)
    why = next((" ".join(output.reason.split()) for output in read if output.grade < least), "")
    said = ", ".join(map(str, given))
    detail = f"a reader graded the wording {said} of 5, and {least} in most readings is enough: {why}"
    found = [] if good else [Finding(check="naturalness", cause=Cause.UNNATURAL, fatal=True, detail=detail)]
    first = read[0]
    if first.changes_with_time is None:
        return CheckResult(probes=(probe,), findings=tuple(found))
    said = "yes" if first.changes_with_time else "no"
    dated = Probe(check="undated", model=model, answers=(said,), right=int(not first.changes_with_time))
    if first.changes_with_time:
        as_of = f"; the texts are as of {context.lineage.as_of}" if context.lineage.as_of else ""
        what = f"; the reader says what changes: {' '.join(first.what_changes.split())}" if first.what_changes else ""
        detail = f"a reader says that the answer changes with time, and the question names no date{what}{as_of}"
        found.append(Finding(check="undated", cause=Cause.UNDATED, fatal=True, detail=detail))
    return CheckResult(probes=(probe, dated), findings=tuple(found))


def _settled(read: Sequence[GradeOutput], least: int, grades: int) -> bool:
    """Can no further grade put the median on the other side?"""
    good = sum(output.grade >= least for output in read)
    return max(good, len(read) - good) * 2 > grades


async def contested(draft: Draft, recalled: Probe, context: RunContext) -> CheckResult:
    """Another answer, which most tries from memory agree on and which a general source may bear out, where the question
    does not say whose answer is asked for. Nobody is asked where memory gives nothing else."""
    other = _remembered(draft, recalled)
    if not other:
        return CheckResult()
    defended, model, usage = await readers.contested(draft.question, draft.answer, other, draft.hops[-1].quote, context)
    probe = Probe(check="contested", model=model, answers=(other,), right=int(defended), usage=usage)
    detail = f"from memory '{other}' is answered, which a general source may bear out; the question names no source"
    last = (len(draft.hops) - 1,)
    found = Finding(check="contested", cause=Cause.AMBIGUOUS, fatal=True, hops=last, detail=detail)
    return CheckResult(probes=(probe,), findings=(found,) if defended else ())


def _remembered(draft: Draft, recalled: Probe) -> str:
    """The wrong answer of most tries; empty where there is none. Of a list or of yes and no there is none to defend."""
    if draft.answer_type.decided or draft.answer_items or recalled.right * 2 > recalled.tries:
        return ""
    said, enough = recalled.answers, max(VOTES, recalled.tries // 2 + 1)
    agreed = next((one for one in said if one and sum(same(one, other) for other in said) >= enough), "")
    return "" if any(same(agreed, right) for right in (draft.answer, *draft.answer_aliases)) else agreed
