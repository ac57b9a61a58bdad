"""Exact match needs no judge; a judge's yes needs a second one, and not the generator's; no verdict is no wrong."""

from typing import Any

import pytest

from pipeline.agents.judge import decide, grade
from pipeline.config import build
from pipeline.config.models import Models
from pipeline.context import RunContext
from pipeline.demo.role_dispatch import DemoModel
from pipeline.doctor.judge_accuracy import near_misses, score
from pipeline.errors import FormatError, ProviderError, RequestRefused
from pipeline.exports.trajectories.spellings import spellings
from pipeline.llm.base import Request
from pipeline.reward import reward
from pipeline.types import NOT_FOUND, AnswerType
from tests.graphs import changed, computed, drafted, step
from tests.loop.checks.test_readings import DRAFT
from tests.loop.test_episode import LINEAGE, SHELF
from tests.scripted import ScriptedLLM
from tests.shelf import passage

YES, NO = '{"reason": "the same", "correct": true, "sure": false}', '{"reason": "another", "correct": false}'


def played(**roles: str) -> Models:
    return Models.model_validate({role: {"provider": "openai", "model": name} for role, name in roles.items()})


def context(model: ScriptedLLM, **roles: str) -> RunContext:
    models = played(**roles or {"default": "m"}).model_dump()
    return RunContext(build(values={"models": models}), model, SHELF, LINEAGE)


async def test_what_is_equal_needs_no_judge_and_what_is_empty_neither() -> None:
    for response, right, method in (("1641.", True, "exact"), ("", False, "none"), (NOT_FOUND, False, "none")):
        graded = await grade(DRAFT, response, context(ScriptedLLM([])))
        assert (graded.right, graded.method, graded.usage.calls) == (right, method, 0)


async def test_unasked_only_what_is_nothing_like_the_answer_is_known_to_be_wrong() -> None:
    for response, method in (("in 1641 or so", "none"), ("a church tower", "exact")):
        graded = await grade(DRAFT, response, context(ScriptedLLM([])), ask=False)
        assert (graded.right, graded.method, graded.usage.calls) == (False, method, 0)


@pytest.mark.parametrize(
    ("answer", "response", "kind", "right"),
    [
        ("75%", "75 percent", "number", True), ("75 per cent", "75%", "number", True),
        ("75 %", "75.4 %", "number", True),
        ("100%", "99%", "number", False), ("20%", "75%", "number", False), ("three", "3", "number", True),
        ("17.3", "17.25", "number", True), ("17.3", "17.6", "number", False),
        ("5 million", "5,000,000", "number", True),
        ("1931", "1932", "date", False), ("412", "411", "number", False), ("412", "413", "entity", False),
        ("3.11", "3.12", "entity", False), ("½", "0.5", "number", True),
        ("68 years", "68", "number", True), ("68 years", "67", "number", False), ("12 km", "5 km", "number", False),
        ("12 km", "12,000 m", "number", True), ("68 years", "68 years later", "number", None),
        ("14 June 1931", "June 14th, 1931", "date", True), ("14 June 1931", "15 June 1931", "date", False),
        ("14 June 1931", "June 1932", "date", False), ("14 June 1931", "June 1931", "date", None),
        ("Walton", "Walton, Liverpool", "entity", True), ("Ada Holm", "the Ada Holm", "entity", True),
    ],
)  # fmt: skip
async def test_what_equality_is_sure_of_needs_no_judge(
    answer: str, response: str, kind: str, right: bool | None
) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=(), answer_type=AnswerType(kind))
    graded = await grade(draft, response, context(ScriptedLLM([NO])))
    assert (graded.right, graded.usage.calls) == (bool(right), int(right is None))


@pytest.mark.parametrize(
    ("question", "response", "right"),
    [
        ("About how many students are there?", "40,000", True),
        ("Roughly how many students are there?", "about 40,000", True),
        ("About how many students are there?", "around 40,400", True),
        ("About how many students are there?", "40,500", False),
        ("About how many students are there?", "41,000", False),
        ("About how many students are there?", "50,000", False),
        ("About how many students are there?", "0", False),
        ("How many students are there?", "40,000", False),
    ],
)
@pytest.mark.parametrize("aliases", [(), ("about 40,400",)])
async def test_a_question_for_about_how_many_takes_what_the_number_rounds_to(
    question: str, response: str, aliases: tuple[str, ...], *, right: bool
) -> None:
    about = {"question": question, "answer": "40,400", "answer_aliases": aliases, "answer_type": AnswerType.NUMBER}
    graded = await grade(changed(DRAFT, **about), response, context(ScriptedLLM([NO])))
    assert graded.right is right
    if "bout" in question:
        assert graded.usage.calls == 0, "by rule, whatever a judge would say"


@pytest.mark.parametrize(("known", "said", "right"), [("7", "10", False), ("1.24", "1.2", True), ("96", "100", True)])
async def test_what_it_rounds_to_is_within_a_tenth(known: str, said: str, *, right: bool) -> None:
    about = {"question": "About how many?", "answer": known, "answer_aliases": (), "answer_type": AnswerType.NUMBER}
    assert (await grade(changed(DRAFT, **about), said, context(ScriptedLLM([])))).right is right


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("75%", "75 people"), ("75 people", "75%"), ("412 km", "411 km"), ("up to 5", "5"), ("5", "about 5"),
        ("5", "5-6"), ("12 m long", "12 m wide"), ("7", "007"), ("14 June 1931", "1931"),
        # Of 1.234 nothing tells whether it is more than a thousand.
        ("1.234", "1,234"), ("1,234", "1.234"), ("12.000", "12 000"),
        ("75 %", "0.75"), ("5 km", "3 kg"), ("5 km", "up to 3 km"),
    ],
)  # fmt: skip
async def test_any_other_number_is_for_the_judge(answer: str, response: str) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=(), answer_type=AnswerType.NUMBER)
    assert (await grade(draft, response, context(ScriptedLLM([NO])))).method == "judge"


async def test_a_number_may_be_an_alias_of_a_word() -> None:
    draft = changed(DRAFT, answer="a dozen", answer_aliases=("12",), answer_type=AnswerType.NUMBER)
    assert (await grade(draft, "twelve", context(ScriptedLLM([])))).right
    assert (await grade(draft, "13", context(ScriptedLLM([NO])))).method == "judge"


CASES = passage("cases", "New cases", "In the country 44 % of new cases come from the leading cause.")
RARE = passage("rare", "Rare disorder", "Only 2.2 % of new cases come from the inherited disorder.")
SHARES = drafted(
    "How many times as many new cases come from the first as from the second, to the nearest 10?",
    [step(CASES, "44 %"), step(RARE, "2.2 %"), computed("ratio", "cases", "rare")],
    [CASES, RARE],
)


@pytest.mark.parametrize(("response", "right"), [("20", True), ("about 20.5", True), ("19.9", True), ("22", False)])
async def test_every_value_that_the_evidence_allows_is_right(response: str, right: bool) -> None:
    graded = await grade(SHARES, response, context(ScriptedLLM([])))
    assert (graded.right, graded.method) == (right, "exact")
    assert reward.score(response, spellings(SHARES)) == float(right)


@pytest.mark.parametrize(
    ("answer", "same", "other"),
    [
        ("C++", "C++.", "C"), ("-5 °C", "−5 °C", "5 °C"), ("$5 million", "$5 Million", "€5 million"),
        ("O−", "O-", "O"), ("5", "5.", "<5"), ("2–1", "2-1", "2:1"), ("10²", "10².", "102"),
        ("Vitamin A", "vitamin A", "Vitamin"), ("C minor", "C Minor", "C♯ minor"), ("1.234", "1.234", "1,234"),
    ],
)  # fmt: skip
async def test_a_mark_that_makes_another_answer_is_no_exact_match(answer: str, same: str, other: str) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=())
    for response, right in ((same, True), (other, False)):
        assert (await grade(draft, response, context(ScriptedLLM([NO])))).right is right


@pytest.mark.parametrize(
    ("said", "right", "method"),
    [([NO], False, "judge"), ([YES, NO], False, "split"), ([YES, YES], True, "judge")],
)
async def test_a_yes_needs_two_and_a_no_one(said: list[str], right: bool, method: str) -> None:
    model = ScriptedLLM(said)
    graded = await grade(DRAFT, "in 1641 or so", context(model))
    assert (graded.right, graded.method, graded.usage.calls) == (right, method, len(said))
    assert graded.second.calls == len(said) - 1
    assert [request.sampling.temperature for request in model.requests] == [0.0, 1.0][: len(said)]
    assert len({request.sample for request in model.requests}) == len(said)


SURE = '{"reason": "the same", "correct": true}'


@pytest.mark.parametrize(
    ("first", "response", "calls"), [(SURE, "in 1641 or so", 1), (YES, "in 1641 or so", 2), (SURE, "that year", 2)]
)
async def test_only_a_yes_in_doubt_needs_a_second(first: str, response: str, calls: int) -> None:
    graded = await grade(DRAFT, response, context(ScriptedLLM([first, YES])))
    assert (graded.right, graded.usage.calls) == (True, calls)


async def test_the_embedded_judges_yes_is_a_rule_and_needs_no_second() -> None:
    where = RunContext(build(), DemoModel(), SHELF, LINEAGE)
    graded = await grade(DRAFT, "in the year 1641", where)
    assert (graded.right, graded.usage.calls) == (True, 1)


@pytest.mark.parametrize(
    ("roles", "judges"),
    [
        ({"default": "m"}, ["m", "m"]),
        ({"default": "g", "judge": "j"}, ["j", "j"]),
        ({"default": "g", "solver": "s"}, ["g", "s"]),
        ({"default": "g", "solver": "s", "judge": "j"}, ["j", "s"]),
        ({"default": "g", "solver": "s", "judge": "s"}, ["s", "s"]),
        ({"default": "g", "solver": "s", "reader": "r", "judge": "j"}, ["j", "r"]),
        ({"default": "g", "writer": "w"}, ["g", "w"]),
    ],
)
def test_one_of_the_two_is_not_the_generators_where_there_is_another(roles: dict[str, str], judges: list[str]) -> None:
    assert [judge.model for judge in played(**roles).judges()] == judges


def test_a_model_to_be_trained_judges_nothing() -> None:
    models = {"default": {"provider": "openai", "model": "g"}, "policies": {"mine": {"model": "p"}}}
    assert [judge.model for judge in Models.model_validate(models).judges()] == ["g", "g"]


async def test_no_readable_verdict_is_an_error_and_no_wrong() -> None:
    with pytest.raises(FormatError, match="'m' gave no readable 'verdict'"):
        await grade(DRAFT, "in 1641 or so", context(ScriptedLLM(lambda request: "correct: yes")))


def test_there_are_200_near_misses_half_of_them_right_and_a_program_decides_none_of_them_wrongly() -> None:
    marked = near_misses()
    assert (len(marked), sum(right for _, right in marked)) == (200, 100)
    assert len({(case.question, case.response) for case, _ in marked}) == 200
    decided = [(is_right, known) for case, known in marked if (is_right := decide(case)) is not None]
    assert len(decided) == 61
    assert all(is_right is known for is_right, known in decided)


async def test_the_score_tells_a_strict_judge_from_an_easy_one_and_what_the_second_saves() -> None:
    judges = played(default="g", judge="j").judges()

    def both(first: str, second: str) -> Any:
        return lambda request: second if request.sample else first

    easy = await score(judges, ScriptedLLM(both(YES, YES)))
    assert (easy.false_yes, easy.alone_yes, easy.false_no) == (100, 100, 0)
    strict = await score(judges, ScriptedLLM(both(NO, NO)))
    assert (strict.false_yes, strict.alone_yes, strict.false_no) == (0, 0, 100)
    saved = await score(judges, ScriptedLLM(both(YES, NO)))
    assert (saved.false_yes, saved.alone_yes, saved.false_no) == (0, 100, 100)


async def test_the_score_counts_what_cannot_be_read_apart_and_raises_what_the_endpoint_does() -> None:
    judges = played(default="g").judges()

    def odd(request: Request) -> str:
        return "hm" if "capital of the country" in request.messages[-1].content else NO

    found = await score(judges, ScriptedLLM(odd))
    assert (found.unreadable, found.right, found.wrong, found.false_no) == (4, 98, 98, 98)
    refused = await score(judges, ScriptedLLM(lambda request: RequestRefused("no") if "hm" in odd(request) else NO))
    assert refused == found
    with pytest.raises(ProviderError):
        await score(judges, ScriptedLLM(lambda request: ProviderError("down")))
