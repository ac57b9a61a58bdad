"""What memory gives instead of the answer, and whether a source may bear it out."""

import orjson
import pytest

from pipeline import prompts
from pipeline.llm.base import Request
from pipeline.loop.assess import feedback_from_findings
from pipeline.types import Cause, Label
from tests.answer_types import decided
from tests.loop.checks.test_readings import DRAFT, context, examined, told
from tests.scripted import ScriptedLLM


def memory(answers: list[str], *, defended: bool) -> ScriptedLLM:
    """Whoever is asked from memory gives these answers, one after the other."""
    said = iter(answers)

    def say(request: Request) -> str:
        role = request.output.name if request.output else ""
        if role == "verdict":
            return '{"correct": false}'
        weighed = {"reason": "A second\nbridge of that name.", "fits": defended}
        return orjson.dumps(weighed if role == "weigh" else {"answer": next(said)}).decode()

    return ScriptedLLM(say)


@pytest.mark.parametrize("defended", [True, False])
async def test_what_memory_agrees_on_instead_is_sent_back_where_a_source_may_bear_it_out(defended: bool) -> None:
    model = memory(["1650", "1700", "in 1650"], defended=defended)
    answer = await examined(DRAFT, 3, context(model, ("closed_book",)))
    probe = answer.probes[-1]
    assert (probe.check, probe.answers, probe.right, probe.usage.calls) == ("contested", ("1650",), defended, 1)
    shown = prompts.unfence(model.requests[-1].messages[-1].content) or {}
    assert (shown["answer"], shown["other_answer"], shown["quote"]) == ("1641", "1650", DRAFT.hops[-1].quote)
    assert told(answer) == ([("contested", Cause.AMBIGUOUS)] if defended else [])
    if defended:
        back = feedback_from_findings(answer.findings)
        assert (back.label, back.hops) == (Label.UNSOUND, (2,))
        assert "; a reader says: A second bridge of that name." in back.message
        assert "Name the kind of source or the year in the question, once, or ask for another fact." in back.message


@pytest.mark.parametrize(
    "answers", [["1650", "1700", "1750"], ["", "", ""], ["1641", "1641", "1650"], ["1650", "", ""]]
)
async def test_nobody_is_asked_where_memory_agrees_on_nothing_else(answers: list[str]) -> None:
    answer = await examined(DRAFT, 3, context(memory(answers, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]


async def test_of_yes_and_no_the_other_is_no_answer_to_defend() -> None:
    draft = decided().draft
    assert draft
    answer = await examined(draft, 3, context(memory(["no"] * 3, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]
