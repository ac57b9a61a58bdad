"""Another answer that memory agrees on, and whether a source may support it."""

import orjson
import pytest

from pipeline import prompts
from pipeline.llm.base import Request
from pipeline.loop.assess import feedback_from_findings
from pipeline.types import Cause, Label
from tests.answer_types import decided
from tests.loop.checks.reading import DRAFT, list_causes, make_context, run_checks
from tests.scripted_llm import ScriptedLLM


def make_memory_reader(answers: list[str], *, defended: bool) -> ScriptedLLM:
    """Make a reader whose answers from memory are these, in order."""
    remaining = iter(answers)

    def reply(request: Request) -> str:
        role = request.output.name if request.output else ""
        if role == "verdict":
            return '{"correct": false}'
        weighed = {"reason": "A second\nbridge of that name.", "fits": defended}
        return orjson.dumps(weighed if role == "weigh" else {"answer": next(remaining)}).decode()

    return ScriptedLLM(reply)


@pytest.mark.parametrize("defended", [True, False])
async def test_another_answer_that_memory_agrees_on_rejects_a_draft_if_a_source_may_support_it(defended: bool) -> None:
    model = make_memory_reader(["1650", "1700", "in 1650"], defended=defended)
    answer = await run_checks(DRAFT, 3, make_context(model, ("closed_book",)))
    probe = answer.probes[-1]
    assert (probe.check, probe.answers, probe.right, probe.usage.calls) == ("contested", ("1650",), defended, 1)
    inputs = prompts.unfence(model.requests[-1].messages[-1].content) or {}
    assert (inputs["answer"], inputs["other_answer"], inputs["quote"]) == ("1641", "1650", DRAFT.hops[-1].quote)
    assert list_causes(answer) == ([("contested", Cause.AMBIGUOUS)] if defended else [])
    if defended:
        feedback = feedback_from_findings(answer.findings)
        assert (feedback.label, feedback.hops) == (Label.UNSOUND, (2,))
        assert "; a reader says: A second bridge of that name." in feedback.message
        assert "Name the kind of source or the year in the question, once." in feedback.message


@pytest.mark.parametrize(
    "answers", [["1650", "1700", "1750"], ["", "", ""], ["1641", "1641", "1650"], ["1650", "", ""]]
)
async def test_no_reader_is_asked_if_memory_agrees_on_no_other_answer(answers: list[str]) -> None:
    answer = await run_checks(DRAFT, 3, make_context(make_memory_reader(answers, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]


async def test_the_opposite_of_yes_or_no_is_not_contested() -> None:
    draft = decided().draft
    assert draft
    answer = await run_checks(draft, 3, make_context(make_memory_reader(["no"] * 3, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]
