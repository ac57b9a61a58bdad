"""Checks of a question that the generator worded itself, with the same rules as for the writer's wordings."""

from pipeline.agents.answers import may_be_named
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.given_answer import find_named_answers
from pipeline.loop.question_writing import find_leak, find_shortcut, grade_wordings
from pipeline.text.names import normalise
from pipeline.text.scripts import is_question, length
from pipeline.types import Cause, Draft, Finding

_FEWEST_WORDS = 4
_REWORD = (
    "Say first what is known, then what is asked, in two or three short sentences and plainer words, and name nothing "
    "that is to be found; all steps may stay"
)


async def review_wording(draft: Draft, context: RunContext) -> CheckResult:
    """Check and grade the wording of a draft.

    Raises:
        FormatError: the reader gave no readable answer.
    """
    findings = find_faults(draft)
    fault = find_leak(draft.question, draft.graph) or await find_shortcut(draft.question, draft.graph, context)
    if not findings and fault:
        findings = (Finding(check="wording", cause=Cause.OVER_SPECIFIED, detail=fault),)
    if not context.config.models.of("reader").capabilities.understands:
        return CheckResult(findings=findings)
    graded = await _grade(draft, context)
    return CheckResult(findings=findings) + graded


def find_faults(draft: Draft) -> tuple[Finding, ...]:
    """Check that the question asks something, and does not contain its answer."""
    if not is_question(draft.question) or length(draft.question) < _FEWEST_WORDS or not normalise(draft.answer):
        detail = "it asks nothing or answers nothing: word it as one question"
        return (Finding(check="wording", cause=Cause.GENERATOR_ERROR, detail=detail),)
    if not may_be_named(draft) and (names := find_named_answers(draft)):
        detail = f"the question holds its answer, '{names[0]}': take it out"
        return (Finding(check="wording", cause=Cause.GENERATOR_ERROR, detail=detail),)
    return ()


async def _grade(draft: Draft, context: RunContext) -> CheckResult:
    """Grade the wording. A rewording need not be more natural than the question that the user brought."""
    brought = [question for question in [context.memory.brought] if question and question != draft.question]
    wordings = [draft.question, *brought]
    choice, probe = await grade_wordings(wordings, draft.graph, context)
    grade, *brought_grade = choice.grades[: len(wordings)] or (0,)
    findings = []
    if 1 in choice.added:
        detail = f"{choice.describe_fault(1)}: leave it out"
        findings.append(Finding(check="wording", cause=Cause.GENERATOR_ERROR, detail=detail))
    if grade < min(context.config.checks.naturalness, *brought_grade, 5):
        detail = f"graded {grade} of 5: {choice.describe_fault(1)}. {_REWORD}"
        findings.append(Finding(check="naturalness", cause=Cause.UNNATURAL, detail=detail))
    if choice.changes_with_time:
        detail = "a reader says that the answer changes with time, and the question names no date: name one"
        findings.append(Finding(check="undated", cause=Cause.UNDATED, detail=detail))
    return CheckResult(probes=(probe.model_copy(update={"answers": (str(grade),)}),), findings=tuple(findings))
