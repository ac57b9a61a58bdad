"""What a reader says of the wording alone: three grades at most, and whether the source must be named."""

from dataclasses import replace

import orjson
import pytest

from pipeline import prompts
from pipeline.context import SeedMemory
from pipeline.llm.base import Request
from pipeline.llm.token_estimate import size
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.examine import readings
from pipeline.types import AnswerType, Cause, Draft, Label
from pipeline.types.model_probe import naturalness, undated
from tests.loop.checks.test_readings import DRAFT, context, told
from tests.scripted import ScriptedLLM


@pytest.mark.parametrize(
    ("grades", "asked", "median", "sent_back"),
    [
        ((1, 3, 5), 2, 1, True),
        ((3, 5, 3), 3, 3, True),
        ((5, 2, 4), 3, 4, False),
        ((4, 5, 1), 2, 4, False),
    ],
)
async def test_two_of_three_grades_decide_and_no_third_is_asked_for_where_two_agree(
    grades: tuple[int, ...], asked: int, median: int, sent_back: bool
) -> None:
    model = ScriptedLLM(
        [orjson.dumps({"reason": f"reason {n}", "grade": grade}).decode() for n, grade in enumerate(grades)]
    )
    answer = await readings(DRAFT, 3, (), context(model, ("naturalness",)))
    (probe,) = answer.probes
    assert (probe.answers, probe.usage.calls) == (tuple(map(str, grades[:asked])), asked)
    assert len({request.sample for request in model.requests}) == asked
    assert naturalness(answer.probes) == median
    assert told(answer) == ([("naturalness", Cause.UNNATURAL, True)] if sent_back else [])
    assert all("reason 0" in finding.detail for finding in answer.findings)


async def test_an_author_is_told_what_helps_and_never_to_name_what_the_chain_hides() -> None:
    model = ScriptedLLM(lambda request: orjson.dumps({"reason": "bare 'a count'", "grade": 3}).decode())
    answer = await readings(DRAFT, 3, (), context(model, ("naturalness",)))
    back = feedback_from_audit(DRAFT, answer.findings).message
    assert "bare 'a count'" in back
    assert all(said in back for said in ("plainer words", "name nothing that a hop gives", "all hops may stay"))
    assert "ask for no name: that is to be found" in model.requests[0].messages[0].content


@pytest.mark.parametrize(
    ("brought", "reworded", "sent_back"), [(2, 2, False), (2, 3, False), (3, 2, True), (5, 3, True), (5, 4, False)]
)
async def test_no_wording_need_be_more_natural_than_the_question_that_somebody_brought(
    brought: int, reworded: int, sent_back: bool
) -> None:
    def say(request: Request) -> str:
        return orjson.dumps({"grade": brought if "ferry" in request.messages[-1].content else reworded}).decode()

    where = context(ScriptedLLM(say), ("naturalness",))
    answer = await readings(DRAFT, 3, (), replace(where, memory=SeedMemory(brought="Of which year the ferry is?")))
    assert told(answer) == ([("naturalness", Cause.UNNATURAL, True)] if sent_back else [])


async def test_whether_the_answer_changes_with_time_is_what_the_first_reading_says() -> None:
    said = [orjson.dumps({"grade": 5, "changes_with_time": changes}).decode() for changes in (True, False)]
    answer = await readings(DRAFT, 3, (), context(ScriptedLLM(said), ("naturalness",)))
    assert told(answer) == [("undated", Cause.UNDATED, True)]
    assert undated(answer.probes) is True


def test_the_prompt_has_ten_graded_examples_and_stays_short() -> None:
    messages = prompts.load("naturalness/grade").render("0" * 16, question=DRAFT.question)
    assert [messages[0].content.count(f'- {grade} "') for grade in (5, 4, 3, 2)] == [2, 2, 4, 2]
    assert size(messages) <= 900
    borders = [line for line in messages[0].content.split("\n") if line.startswith(("- 4 or 3?", "- 3 or 2?"))]
    assert all(border.count("3 if") == 1 for border in borders)
    assert [("breath (the bakers)" in border, "twice (the cipher)" in border) for border in borders] == [
        (False, False),
        (True, True),
    ]
    assert "care about the comparison, not whether it is a sum" in messages[0].content


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
    answer = await readings(DRAFT, 3, (), context(model, ("closed_book",)))
    probe = answer.probes[-1]
    assert (probe.check, probe.answers, probe.right, probe.usage.calls) == ("contested", ("1650",), defended, 1)
    shown = prompts.unfence(model.requests[-1].messages[-1].content) or {}
    assert (shown["answer"], shown["other_answer"], shown["quote"]) == ("1641", "1650", DRAFT.hops[-1].quote)
    assert told(answer) == ([("contested", Cause.AMBIGUOUS, True)] if defended else [])
    if defended:
        back = feedback_from_audit(DRAFT, answer.findings)
        assert (back.label, back.hops) == (Label.UNSOUND, (2,))
        assert "; a reader says: A second bridge of that name." in back.message
        assert "name the kind of source or the year in the question, once, in no word of the last quote" in back.message


@pytest.mark.parametrize(
    "answers", [["1650", "1700", "1750"], ["", "", ""], ["1641", "1641", "1650"], ["1650", "", ""]]
)
async def test_nobody_is_asked_where_memory_agrees_on_nothing_else(answers: list[str]) -> None:
    answer = await readings(DRAFT, 3, (), context(memory(answers, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]


async def test_of_yes_and_no_the_other_is_no_answer_to_defend() -> None:
    yes = DRAFT.model_copy(update={"answer": "yes", "answer_type": AnswerType.BOOLEAN})
    draft = Draft.model_validate(yes.model_dump())
    answer = await readings(draft, 3, (), context(memory(["no"] * 3, defended=True), ("closed_book",)))
    assert [probe.check for probe in answer.probes] == ["closed_book"]
