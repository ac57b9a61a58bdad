"""Checks that a model makes: who holds less than the evidence must fail, who holds it must not; all of it is kept."""

from collections.abc import Callable

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Request
from pipeline.loop.checks.base import CheckResult, load_checks
from pipeline.loop.examine import examine
from pipeline.types import AnswerType, Cause, Draft, Message
from pipeline.types.model_probe import PriorKnowledge, known_to
from tests.graphs import chained, changed
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN
from tests.scripted import ScriptedLLM
from tests.shelf import hop

ALL = tuple(name for name, check in load_checks().items() if check.ask)
HOPS = (
    hop(FILM, "Ada Holm", "Who directed Lantern Bay?"),
    hop(HOLM, "Vessby", "Where was Ada Holm from?"),
    hop(TOWN, "1641", "When was Vessby founded?"),
)
DRAFT = chained(question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS)


def context(llm: LLM, run: tuple[str, ...] = ALL, **values: object) -> RunContext:
    return RunContext(
        build(values={"checks": {"enabled": run, "tries": 3, "oracle_tries": 3, "naturalness": 4}, **values}),
        llm,
        SHELF,
        LINEAGE,
    )


def reader(knows: Callable[[list[str], int], bool]) -> ScriptedLLM:
    """Answers rightly if `knows`, told the titles that it is shown and the index of the try."""

    def say(request: Request) -> Message:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "verdict":
            return Message(role="assistant", content='{"correct": false}')
        if request.output and request.output.name == "weigh":
            return Message(role="assistant", content='{"fits": false}')
        titles = [passage["title"] for passage in inputs.get("passages", ())]
        answer = "1641" if knows(titles, request.sample // 3) else "1650"
        return Message(role="assistant", content=orjson.dumps({"reason": "", "answer": answer}).decode())

    return ScriptedLLM(say)


async def examined(draft: Draft, target: int, where: RunContext) -> CheckResult:
    """Run the checks of a draft whose graph and wording were reviewed before."""
    return await examine(draft, target, where, review=CheckResult())


async def read(knows: Callable[[list[str], int], bool], **values: object) -> CheckResult:
    return await examined(DRAFT, 3, context(reader(knows), **values))  # type: ignore[arg-type]


def told(answer: CheckResult) -> list[tuple[str, Cause]]:
    return [(finding.check, finding.cause) for finding in answer.findings]


async def test_a_draft_that_takes_all_its_evidence_passes_and_keeps_what_was_asked() -> None:
    answer = await read(lambda titles, _: len(titles) == 3, retrieval={"k": 1})
    assert answer.findings == ()
    assert [(p.check, p.tries, p.right) for p in answer.probes] == [
        ("closed_book", 3, 0),
        ("contested", 1, 0),
        ("oracle", 1, 1),
    ]
    assert sum(p.usage.calls for p in answer.probes) == 5
    assert all(p.judged.calls == 0 for p in answer.probes), "what shares no word with the answer needs no judge"


async def test_what_the_reader_knows_by_heart_is_recorded_and_is_no_finding() -> None:
    answer = await read(lambda titles, _: True, run=("closed_book",), retrieval={"k": 1})
    assert [(p.check, p.right, p.evidence) for p in answer.probes] == [("closed_book", 3, False)]
    assert answer.findings == ()
    assert known_to(answer.probes) == (PriorKnowledge(model="embedded", tries=3, right=3),)


async def test_what_its_own_evidence_does_not_answer_is_broken_after_all_tries_and_not_before() -> None:
    answer = await read(lambda titles, _: False, run=("oracle",))
    assert (told(answer), answer.probes[0].tries) == ([("oracle", Cause.GENERATOR_ERROR)], 3)
    assert "1650" in answer.findings[0].detail
    assert [(p.check, p.right) for p in answer.probes] == [("oracle", 0)]
    answer = await read(lambda titles, sample: sample == 1, run=("oracle",))
    assert (told(answer), answer.probes[0].answers) == ([], ("1650", "1641"))


async def test_the_first_finding_ends_it_and_a_reader_is_asked_of_no_draft_whose_wording_is_at_fault() -> None:
    answer = await read(lambda titles, _: True, models={"policies": {"mine": {"provider": "openai", "model": "m"}}})
    assert {probe.check for probe in answer.probes} == {"closed_book"}
    assert [finding.check for finding in answer.findings] == ["closed_book"]
    leading = DRAFT.model_copy(update={"question": f"{QUESTION[:-1]}, in 1641?"})
    model = reader(lambda titles, _: True)
    assert "wording" in {finding.check for finding in (await examine(leading, 3, context(model))).findings}
    assert model.requests == []


async def test_a_reader_that_says_nothing_readable_gives_no_finding_but_an_error() -> None:
    with pytest.raises(FormatError):
        await examined(DRAFT, 3, context(ScriptedLLM(lambda request: "hm")))


def test_all_are_on_with_a_real_reader_and_the_oracle_with_the_embedded_one_unless_said() -> None:
    real = {"default": {"provider": "openai", "model": "m"}}
    every = (*ALL, "alternatives")
    assert build(values={"models": real}).checks_enabled() == every
    assert build().checks_enabled() == ("oracle",)
    assert build(sets=["checks.enabled=[]"]).checks_enabled() == ()
    assert build(values={"preset": "sage", "models": real}).checks_enabled() == ()
    assert (
        build(values={"models": {**real, "reader": {"provider": "embedded", "model": "embedded"}}}).checks_enabled()
        == ()
    )


@pytest.mark.parametrize(
    ("key", "said", "judged"),
    [
        ("North Atlantic Treaty Organization", "NATO", True),
        ("NATO", "North Atlantic Treaty Organization", True),
        ("University of California, Los Angeles", "U.C.L.A.", True),
        ("蘇聯", "苏联", True),
        ("Vessby", "韦斯比", True),
        ("North Atlantic Treaty Organization", "UN", False),
    ],
)
async def test_what_a_reader_says_in_no_word_of_the_key_is_judged_where_a_draft_hangs_on_it_or_it_may_be_the_same(
    key: str, said: str, judged: bool
) -> None:
    def say(request: Request) -> str:
        role = request.output.name if request.output else ""
        return {"verdict": '{"correct": true}', "weigh": '{"fits": false}'}.get(role, f'{{"answer": "{said}"}}')

    draft = changed(DRAFT, answer=key, answer_type=AnswerType.ENTITY)
    (recall,) = (await examined(draft, 3, context(ScriptedLLM(say), ("closed_book",)))).probes[:1]
    assert recall.right == 3 * judged
    oracle = await examined(draft, 3, context(ScriptedLLM(say), ("oracle",)))
    assert (oracle.findings, oracle.probes[0].right) == ((), 1)
