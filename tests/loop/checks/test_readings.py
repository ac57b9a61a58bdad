"""Reader checks: a reader with less than the evidence must fail, one with the evidence must not; both are recorded."""

from collections.abc import Callable

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.llm.base import Request
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.examine import examine
from pipeline.types import AnswerType, Cause, Message
from pipeline.types.model_probe import PriorKnowledge, known_to
from tests.graph_drafts import changed
from tests.loop.cast import QUESTION
from tests.loop.checks.reading import ALL, DRAFT, list_causes, make_context, run_checks
from tests.scripted_llm import ScriptedLLM


def make_reader(knows: Callable[[list[str], int], bool]) -> ScriptedLLM:
    """Make a reader that answers rightly if `knows`, given the titles it sees and the index of the sample."""

    def reply(request: Request) -> Message:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "verdict":
            return Message(role="assistant", content='{"correct": false}')
        if request.output and request.output.name == "weigh":
            return Message(role="assistant", content='{"fits": false}')
        titles = [passage["title"] for passage in inputs.get("passages", ())]
        answer = "1641" if knows(titles, request.sample // 3) else "1650"
        return Message(role="assistant", content=orjson.dumps({"reason": "", "answer": answer}).decode())

    return ScriptedLLM(reply)


async def run_reader(knows: Callable[[list[str], int], bool], **values: object) -> CheckResult:
    return await run_checks(DRAFT, 3, make_context(make_reader(knows), **values))  # type: ignore[arg-type]


async def test_a_draft_that_needs_all_its_evidence_passes_and_keeps_its_probes() -> None:
    answer = await run_reader(lambda titles, _: len(titles) == 3, retrieval={"k": 1})
    assert answer.findings == ()
    assert [(p.check, p.tries, p.right) for p in answer.probes] == [
        ("closed_book", 3, 0),
        ("contested", 1, 0),
        ("oracle", 1, 1),
    ]
    assert sum(p.usage.calls for p in answer.probes) == 5
    assert all(p.judged.calls == 0 for p in answer.probes), "an answer without a word of the key needs no judge"


async def test_what_the_reader_knows_by_heart_is_recorded_without_a_finding() -> None:
    answer = await run_reader(lambda titles, _: True, run=("closed_book",), retrieval={"k": 1})
    assert [(p.check, p.right, p.evidence) for p in answer.probes] == [("closed_book", 3, False)]
    assert answer.findings == ()
    assert known_to(answer.probes) == (PriorKnowledge(model="embedded", tries=3, right=3),)


async def test_a_draft_is_rejected_only_after_all_samples_failed_with_its_evidence() -> None:
    answer = await run_reader(lambda titles, _: False, run=("oracle",))
    assert (list_causes(answer), answer.probes[0].tries) == ([("oracle", Cause.GENERATOR_ERROR)], 3)
    assert "1650" in answer.findings[0].detail
    assert [(p.check, p.right) for p in answer.probes] == [("oracle", 0)]
    answer = await run_reader(lambda titles, sample: sample == 1, run=("oracle",))
    assert (list_causes(answer), answer.probes[0].answers) == ([], ("1650", "1641"))


async def test_the_first_finding_ends_the_checks_and_a_faulty_wording_is_not_read() -> None:
    answer = await run_reader(
        lambda titles, _: True, models={"policies": {"mine": {"provider": "openai", "model": "m"}}}
    )
    assert {probe.check for probe in answer.probes} == {"closed_book"}
    assert [finding.check for finding in answer.findings] == ["closed_book"]
    leading = DRAFT.model_copy(update={"question": f"{QUESTION[:-1]}, in 1641?"})
    model = make_reader(lambda titles, _: True)
    assert "wording" in {finding.check for finding in (await examine(leading, 3, make_context(model))).findings}
    assert model.requests == []


def test_a_real_reader_runs_all_checks_and_the_demo_model_only_the_oracle_by_default() -> None:
    real = {"default": {"provider": "openai", "model": "m"}}
    every = (*ALL, "alternatives")
    assert build(values={"models": real}).checks_enabled() == every
    assert build().checks_enabled() == ("oracle",)
    assert build(sets=["checks.enabled=[]"]).checks_enabled() == ()
    assert build(values={"preset": "sage", "models": real}).checks_enabled() == ()
    demo_reader = {"reader": {"provider": "embedded", "model": "embedded"}}
    assert build(values={"models": {**real, **demo_reader}}).checks_enabled() == ()


@pytest.mark.parametrize(
    ("key", "answer", "judged"),
    [
        ("North Atlantic Treaty Organization", "NATO", True),
        ("NATO", "North Atlantic Treaty Organization", True),
        ("University of California, Los Angeles", "U.C.L.A.", True),
        ("蘇聯", "苏联", True),
        ("Vessby", "韦斯比", True),
        ("North Atlantic Treaty Organization", "UN", False),
    ],
)
async def test_an_answer_that_shares_no_word_with_the_key_is_judged_if_it_may_be_the_same(
    key: str, answer: str, judged: bool
) -> None:
    def reply(request: Request) -> str:
        role = request.output.name if request.output else ""
        return {"verdict": '{"correct": true}', "weigh": '{"fits": false}'}.get(role, f'{{"answer": "{answer}"}}')

    draft = changed(DRAFT, answer=key, answer_type=AnswerType.ENTITY)
    (memory,) = (await run_checks(draft, 3, make_context(ScriptedLLM(reply), ("closed_book",)))).probes[:1]
    assert memory.right == 3 * judged
    oracle = await run_checks(draft, 3, make_context(ScriptedLLM(reply), ("oracle",)))
    assert (oracle.findings, oracle.probes[0].right) == ((), 1)
