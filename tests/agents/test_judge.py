"""Equal answers need no judge; a yes needs a second judge, not the generator's; without a verdict nothing is wrong."""

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
from tests.graph_drafts import changed, computed, drafted, step
from tests.loop.cast import LINEAGE, SHELF
from tests.loop.checks.reading import DRAFT
from tests.passages import passage
from tests.scripted_llm import ScriptedLLM

YES, NO = '{"reason": "the same", "correct": true, "sure": false}', '{"reason": "another", "correct": false}'


def make_models(**roles: str) -> Models:
    return Models.model_validate({role: {"provider": "openai", "model": name} for role, name in roles.items()})


def make_context(model: ScriptedLLM, **roles: str) -> RunContext:
    models = make_models(**roles or {"default": "m"}).model_dump()
    return RunContext(build(values={"models": models}), model, SHELF, LINEAGE)


async def test_equal_and_empty_answers_need_no_judge() -> None:
    for response, right, method in (("1641.", True, "exact"), ("", False, "none"), (NOT_FOUND, False, "none")):
        grading = await grade(DRAFT, response, make_context(ScriptedLLM([])))
        assert (grading.right, grading.method, grading.usage.calls) == (right, method, 0)


async def test_without_a_judge_only_an_answer_unlike_the_key_is_surely_wrong() -> None:
    for response, method in (("in 1641 or so", "none"), ("a church tower", "exact")):
        grading = await grade(DRAFT, response, make_context(ScriptedLLM([])), ask=False)
        assert (grading.right, grading.method, grading.usage.calls) == (False, method, 0)


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
async def test_answers_that_equality_decides_need_no_judge(
    answer: str, response: str, kind: str, right: bool | None
) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=(), answer_type=AnswerType(kind))
    grading = await grade(draft, response, make_context(ScriptedLLM([NO])))
    assert (grading.right, grading.usage.calls) == (bool(right), int(right is None))


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
async def test_a_question_for_about_how_many_accepts_a_rounded_number(
    question: str, response: str, aliases: tuple[str, ...], *, right: bool
) -> None:
    about = {"question": question, "answer": "40,400", "answer_aliases": aliases, "answer_type": AnswerType.NUMBER}
    grading = await grade(changed(DRAFT, **about), response, make_context(ScriptedLLM([NO])))
    assert grading.right is right
    if "bout" in question:
        assert grading.usage.calls == 0, "decided by rule, whatever a judge would say"


@pytest.mark.parametrize(
    ("answer", "response", "right"), [("7", "10", False), ("1.24", "1.2", True), ("96", "100", True)]
)
async def test_a_rounded_number_is_within_a_tenth(answer: str, response: str, *, right: bool) -> None:
    about = {"question": "About how many?", "answer": answer, "answer_aliases": (), "answer_type": AnswerType.NUMBER}
    assert (await grade(changed(DRAFT, **about), response, make_context(ScriptedLLM([])))).right is right


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("75%", "75 people"), ("75 people", "75%"), ("412 km", "411 km"), ("up to 5", "5"), ("5", "about 5"),
        ("5", "5-6"), ("12 m long", "12 m wide"), ("7", "007"), ("14 June 1931", "1931"),
        # The text 1.234 does not tell whether it is more than a thousand.
        ("1.234", "1,234"), ("1,234", "1.234"), ("12.000", "12 000"),
        ("75 %", "0.75"), ("5 km", "3 kg"), ("5 km", "up to 3 km"),
    ],
)  # fmt: skip
async def test_any_other_number_is_left_to_the_judge(answer: str, response: str) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=(), answer_type=AnswerType.NUMBER)
    assert (await grade(draft, response, make_context(ScriptedLLM([NO])))).method == "judge"


async def test_a_number_may_be_an_alias_of_a_word() -> None:
    draft = changed(DRAFT, answer="a dozen", answer_aliases=("12",), answer_type=AnswerType.NUMBER)
    assert (await grade(draft, "twelve", make_context(ScriptedLLM([])))).right
    assert (await grade(draft, "13", make_context(ScriptedLLM([NO])))).method == "judge"


CASES = passage("cases", "New cases", "In the country 44 % of new cases come from the leading cause.")
RARE = passage("rare", "Rare disorder", "Only 2.2 % of new cases come from the inherited disorder.")
SHARES = drafted(
    "How many times as many new cases come from the first as from the second, to the nearest 10?",
    [step(CASES, "44 %"), step(RARE, "2.2 %"), computed("ratio", "cases", "rare")],
    [CASES, RARE],
)


@pytest.mark.parametrize(("response", "right"), [("20", True), ("about 20.5", True), ("19.9", True), ("22", False)])
async def test_every_value_that_the_evidence_allows_is_right(response: str, right: bool) -> None:
    grading = await grade(SHARES, response, make_context(ScriptedLLM([])))
    assert (grading.right, grading.method) == (right, "exact")
    assert reward.score(response, spellings(SHARES)) == float(right)


@pytest.mark.parametrize(
    ("answer", "same", "different"),
    [
        ("C++", "C++.", "C"), ("-5 °C", "−5 °C", "5 °C"), ("$5 million", "$5 Million", "€5 million"),
        ("O−", "O-", "O"), ("5", "5.", "<5"), ("2–1", "2-1", "2:1"), ("10²", "10².", "102"),
        ("Vitamin A", "vitamin A", "Vitamin"), ("C minor", "C Minor", "C♯ minor"), ("1.234", "1.234", "1,234"),
    ],
)  # fmt: skip
async def test_a_mark_that_changes_the_answer_prevents_an_exact_match(answer: str, same: str, different: str) -> None:
    draft = changed(DRAFT, answer=answer, answer_aliases=())
    for response, right in ((same, True), (different, False)):
        assert (await grade(draft, response, make_context(ScriptedLLM([NO])))).right is right


@pytest.mark.parametrize(
    ("outputs", "right", "method"), [([NO], False, "judge"), ([YES, NO], False, "split"), ([YES, YES], True, "judge")]
)
async def test_a_yes_needs_two_judges_and_a_no_needs_one(outputs: list[str], right: bool, method: str) -> None:
    model = ScriptedLLM(outputs)
    grading = await grade(DRAFT, "in 1641 or so", make_context(model))
    assert (grading.right, grading.method, grading.usage.calls) == (right, method, len(outputs))
    assert grading.second.calls == len(outputs) - 1
    assert [request.sampling.temperature for request in model.requests] == [0.0, 1.0][: len(outputs)]
    assert len({request.sample for request in model.requests}) == len(outputs)


SURE = '{"reason": "the same", "correct": true}'


@pytest.mark.parametrize(
    ("first", "response", "calls"), [(SURE, "in 1641 or so", 1), (YES, "in 1641 or so", 2), (SURE, "that year", 2)]
)
async def test_only_a_yes_in_doubt_needs_a_second_judge(first: str, response: str, calls: int) -> None:
    grading = await grade(DRAFT, response, make_context(ScriptedLLM([first, YES])))
    assert (grading.right, grading.usage.calls) == (True, calls)


async def test_the_demo_judges_yes_is_a_rule_and_needs_no_second() -> None:
    context = RunContext(build(), DemoModel(), SHELF, LINEAGE)
    grading = await grade(DRAFT, "in the year 1641", context)
    assert (grading.right, grading.usage.calls) == (True, 1)


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
def test_one_judge_is_not_the_generators_model_if_there_is_another(roles: dict[str, str], judges: list[str]) -> None:
    assert [judge.model for judge in make_models(**roles).judges()] == judges


def test_a_policy_model_judges_nothing() -> None:
    models = {"default": {"provider": "openai", "model": "g"}, "policies": {"mine": {"model": "p"}}}
    assert [judge.model for judge in Models.model_validate(models).judges()] == ["g", "g"]


async def test_an_unreadable_verdict_is_an_error_and_no_wrong_answer() -> None:
    with pytest.raises(FormatError, match="'m' gave no readable 'verdict'"):
        await grade(DRAFT, "in 1641 or so", make_context(ScriptedLLM(lambda request: "correct: yes")))


def test_half_of_200_near_misses_are_right_and_the_rules_decide_none_wrongly() -> None:
    cases = near_misses()
    assert (len(cases), sum(right for _, right in cases)) == (200, 100)
    assert len({(case.question, case.response) for case, _ in cases}) == 200
    decisions = [(is_right, expected) for case, expected in cases if (is_right := decide(case)) is not None]
    assert len(decisions) == 61
    assert all(is_right is expected for is_right, expected in decisions)


async def test_the_score_separates_strict_from_easy_judges_and_shows_what_the_second_prevents() -> None:
    judges = make_models(default="g", judge="j").judges()

    def script(first: str, second: str) -> Any:
        return lambda request: second if request.sample else first

    easy = await score(judges, ScriptedLLM(script(YES, YES)))
    assert (easy.false_yes, easy.alone_yes, easy.false_no) == (100, 100, 0)
    strict = await score(judges, ScriptedLLM(script(NO, NO)))
    assert (strict.false_yes, strict.alone_yes, strict.false_no) == (0, 0, 100)
    mixed = await score(judges, ScriptedLLM(script(YES, NO)))
    assert (mixed.false_yes, mixed.alone_yes, mixed.false_no) == (0, 100, 100)


async def test_the_score_counts_unreadable_verdicts_separately_and_raises_errors_of_the_endpoint() -> None:
    judges = make_models(default="g").judges()

    def odd(request: Request) -> str:
        return "hm" if "capital of the country" in request.messages[-1].content else NO

    accuracy = await score(judges, ScriptedLLM(odd))
    assert (accuracy.unreadable, accuracy.right, accuracy.wrong, accuracy.false_no) == (4, 98, 98, 98)
    refused = await score(judges, ScriptedLLM(lambda request: RequestRefused("no") if "hm" in odd(request) else NO))
    assert refused == accuracy
    with pytest.raises(ProviderError):
        await score(judges, ScriptedLLM(lambda request: ProviderError("down")))
