"""Checks that a model makes: who holds less than the evidence must fail, who holds it must not; all of it is kept."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Request
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.audit.readings import CHECKS, readings
from pipeline.loop.audit.results import CheckResult
from pipeline.types import AnswerType, Cause, Draft, Finding, Hop, Known, Message, Searched, known_to, naturalness
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

ALL = tuple(CHECKS)
HOPS = tuple(
    Hop(
        sub_question="?",
        answer=answer,
        passage_id=p.id,
        title=p.title,
        quote=p.text.split(". ", 1)[1],
        passage_sha256=p.sha256,
    )
    for p, answer in ((FILM, "Ada Holm"), (HOLM, "Vessby"), (TOWN, "1641"))
)
DRAFT = Draft(question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS)


def context(llm: LLM, run: tuple[str, ...] = ALL, **values: object) -> RunContext:
    return RunContext(
        build(values={"checks": {"run": run, "tries": 3, "oracle_tries": 3}, **values}), llm, SHELF, LINEAGE
    )


def reader(knows: Callable[[list[str], int], bool]) -> ScriptedLLM:
    """Answers rightly if `knows`, told the titles that it is shown and the index of the try."""

    def say(request: Request) -> Message:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "verdict":
            return Message(role="assistant", content='{"correct": false}')
        if request.output and request.output.name == "trace":
            read = ["Ada Holm", "Oslo", "1641"]
            return Message(role="assistant", content=orjson.dumps({"answers": read}).decode())
        if request.output and request.output.name == "skip":
            return Message(role="assistant", content='{"queries": [["silent drama"], ["no such town"]]}')
        if request.output and request.output.name == "grade":
            return Message(role="assistant", content='{"reason": "", "grade": 4}')
        titles = [passage["title"] for passage in inputs.get("passages", ())]
        answer = "1641" if knows(titles, request.sample // 3) else "1650"
        return Message(role="assistant", content=orjson.dumps({"reason": "", "answer": answer}).decode())

    return ScriptedLLM(say)


async def read(
    knows: Callable[[list[str], int], bool], target: int = 3, *found: Finding, **values: object
) -> CheckResult:
    return await readings(DRAFT, target, found, context(reader(knows), **values))  # type: ignore[arg-type]


def told(answer: CheckResult) -> list[tuple[str, Cause, bool]]:
    return [(finding.check, finding.cause, finding.fatal) for finding in answer.findings]


async def test_a_draft_that_takes_all_its_evidence_passes_and_keeps_what_was_asked() -> None:
    answer = await read(lambda titles, _: len(titles) == 3, retrieval={"k": 1})
    assert answer.findings == ()
    assert [(p.check, p.tries, p.right, p.hops) for p in answer.probes] == [
        ("naturalness", 1, 1, ()),
        ("skip_ahead", 2, 0, ()),
        ("closed_book", 3, 0, ()),
        ("naive_rag", 1, 0, ()),
        ("oracle", 1, 1, ()),
        ("leave_one_out", 1, 0, (0,)),
        ("leave_one_out", 1, 0, (1,)),
        ("leave_one_out", 1, 0, (2,)),
    ]
    assert sum(p.usage.calls for p in answer.probes) == 10
    assert all(p.judged.calls == 0 for p in answer.probes), "what shares no word with the answer needs no judge"


async def test_what_the_reader_knows_by_heart_is_recorded_and_is_no_finding() -> None:
    answer = await read(lambda titles, _: True, run=("closed_book", "naive_rag"), retrieval={"k": 1})
    assert [(p.check, p.right, p.evidence) for p in answer.probes] == [
        ("closed_book", 3, False),
        ("naive_rag", 1, False),
    ]
    assert answer.findings == ()
    assert known_to(answer.probes) == (Known(model="embedded", tries=4, right=4),)


async def test_who_knows_the_answer_by_heart_needs_no_evidence_and_no_hop_is_needless_for_it() -> None:
    last = lambda titles, _: "Vessby" not in titles  # noqa: E731
    assert (await read(last, 2, run=("leave_one_out",))).findings == ()


async def test_one_search_that_is_enough_makes_it_too_easy_unless_one_step_is_wanted() -> None:
    assert told(await read(lambda titles, _: True, run=("naive_rag",))) == [("naive_rag", Cause.OVER_SPECIFIED, True)]
    assert (await read(lambda titles, _: True, 1, run=("naive_rag",))).probes == ()


async def test_what_a_reader_was_shown_by_a_search_is_kept_with_what_it_said() -> None:
    answer = await read(lambda titles, _: True, run=("naive_rag",), retrieval={"k": 2})
    ids = tuple(hit.passage.id for hit in await SHELF.search(QUESTION, 2))
    assert answer.probes[0].searches == (Searched(query=QUESTION, passage_ids=ids),)
    answer = await read(lambda titles, _: "Vessby" in titles, run=("leave_one_out",))
    assert {search.query for probe in answer.probes for search in probe.searches} == {"?"}
    assert [search.query for search in answer.findings[0].searches] == ["?"]


async def test_what_its_own_evidence_does_not_answer_is_broken_after_all_tries_and_not_before() -> None:
    answer = await read(lambda titles, _: False, run=("oracle",))
    assert (told(answer), answer.probes[0].tries) == ([("oracle", Cause.GENERATOR_ERROR, True)], 3)
    assert "1650" in answer.findings[0].detail
    assert answer.findings[0].hops == (1,), "the hop whose own passage did not answer its own question"
    assert [(p.check, p.right, p.hops) for p in answer.probes] == [("oracle", 0, ()), ("trace", 2, (1,))]
    answer = await read(lambda titles, sample: sample == 1, run=("oracle",))
    assert (told(answer), answer.probes[0].answers) == ([], ("1650", "1641"))


async def test_a_trace_that_cannot_be_read_costs_the_hint_and_not_the_seed() -> None:
    def say(request: Request) -> str:
        return "?" if request.output and request.output.name == "trace" else '{"answer": ""}'

    answer = await readings(DRAFT, 3, (), context(ScriptedLLM(say), ("oracle",)))
    assert told(answer) == [("oracle", Cause.GENERATOR_ERROR, True)]
    assert answer.findings[0].hops == ()


@pytest.mark.parametrize(("target", "fatal"), [(3, True), (2, False)])
async def test_a_hop_that_is_not_missed_is_none_and_counts_against_the_target(target: int, fatal: bool) -> None:
    answer = await read(lambda titles, _: "Vessby" in titles and "Ada Holm" in titles, target, run=("leave_one_out",))
    assert told(answer) == [("leave_one_out", Cause.SUPERFICIAL, fatal)]
    assert answer.findings[0].hops == (0,)


async def test_a_passage_that_tells_what_is_held_back_is_no_decoy() -> None:
    again = passage("poster", "Poster", "The poster of Lantern Bay, which Ada Holm directed, was settled on late.")
    last = HOPS[-1].model_copy(update={"sub_question": "When was it settled?"})
    draft = DRAFT.model_copy(update={"hops": (*HOPS[:-1], last)})
    model = reader(lambda titles, _: False)
    where = replace(context(model, ("leave_one_out",)), retriever=Shelf(FILM, HOLM, TOWN, again))
    await readings(draft, 3, (), where)
    asked = [(prompts.unfence(request.messages[-1].content) or {})["passages"] for request in model.requests]
    assert ["Poster" in {passage["title"] for passage in passages} for passages in asked] == [False, True, True]


async def test_hops_that_the_static_audit_found_needless_are_counted_with_them() -> None:
    static = Finding(check="co_located", cause=Cause.CO_LOCATED, fatal=False, hops=(1,))
    answer = await read(lambda titles, _: "Lantern Bay" not in titles, 2, static, run=("leave_one_out",))
    assert (answer.findings[0].hops, answer.findings[0].fatal) == ((0,), True)


@pytest.mark.parametrize(("target", "fatal"), [(2, True), (1, False)])
async def test_a_reader_that_skips_ahead_finds_what_no_word_of_the_draft_does(target: int, fatal: bool) -> None:
    asked: list[dict[str, Any]] = []

    def say(request: Request) -> str:
        asked.append(prompts.unfence(request.messages[-1].content) or {})
        return orjson.dumps({"queries": [["silent drama"], [" founded by monks", "the 1641 monks", "Tarn"]]}).decode()

    answer = await readings(DRAFT, target, (), context(ScriptedLLM(say), ("skip_ahead",)))
    (part,) = asked
    assert (part["question"], len(part["parts"])) == (QUESTION, 2)
    (found,) = answer.findings
    assert (found.check, found.cause, found.hops, found.fatal) == ("skip_ahead", Cause.SUPERFICIAL, (0, 1), fatal)
    assert [search.query for search in found.searches] == ["founded by monks", "Tarn"]
    (probe,) = answer.probes
    assert (probe.answers, probe.right, probe.hops) == (("silent drama", "founded by monks", "Tarn"), 2, (0, 1))
    assert [search.passage_ids[0] for search in probe.searches[1:]] == [TOWN.id] * 2
    assert probe.usage.calls == 1


async def test_one_wording_alone_that_finds_a_later_passage_may_be_luck() -> None:
    for lucky in (["founded by monks", "a silent drama"], ["founded by monks", "monks, founded by?"]):
        model = ScriptedLLM([orjson.dumps({"queries": [[], lucky]}).decode()])
        answer = await readings(DRAFT, 3, (), context(model, ("skip_ahead",)))
        assert answer.findings == ()
        assert [(probe.right, probe.hops) for probe in answer.probes] == [(1, ())]


async def test_every_hop_that_was_found_is_told_with_its_searches_and_what_they_did_without() -> None:
    queries = [["painter", "came from"], ["founded by monks", "Tarn"]]
    model = ScriptedLLM([orjson.dumps({"queries": queries}).decode()])
    (found,) = (await readings(DRAFT, 3, (), context(model, ("skip_ahead",)))).findings
    assert found.hops == (0, 1)
    assert found.detail == (
        "the searches 'painter' and 'came from' find the passage that gives 'Vessby' without the hop that "
        "gives 'Ada Holm'; the searches 'founded by monks' and 'Tarn' find the passage that gives '1641' without the "
        "hops that give 'Ada Holm' and 'Vessby'"
    )
    assert feedback_from_audit(DRAFT, [found]).message.endswith("The hops that give 'Ada Holm' may stay.")


@pytest.mark.parametrize("queries", [[], [["Ada Holm's home", "Vessby", "1641"]], [[], ["Vessby monks", "1641", " "]]])
async def test_queries_that_name_what_the_hops_give_are_memory_and_no_attack(queries: list[list[str]]) -> None:
    model = ScriptedLLM(lambda request: orjson.dumps({"queries": queries}).decode())
    answer = await readings(DRAFT, 3, (), context(model, ("skip_ahead",)))
    assert answer.findings == ()
    assert [probe.right for probe in answer.probes] == [0]


@pytest.mark.parametrize(("grade", "sent_back"), [(1, True), (3, True), (4, False), (5, False)])
async def test_a_wording_that_nobody_would_use_is_sent_back_with_its_reason(grade: int, sent_back: bool) -> None:
    said = orjson.dumps({"reason": "three stacked clauses", "grade": grade}).decode()
    answer = await readings(DRAFT, 3, (), context(ScriptedLLM(lambda request: said), ("naturalness",)))
    assert naturalness(answer.probes) == grade
    assert told(answer) == ([("naturalness", Cause.UNNATURAL, True)] if sent_back else [])
    assert all("three stacked clauses" in finding.detail for finding in answer.findings)
    model = answer.probes[0].model
    assert [(probe.model, probe.usage.calls) for probe in answer.probes] == [(model, 1)]


async def test_the_first_fatal_finding_ends_it_and_nothing_is_asked_after_one_of_the_static_audit() -> None:
    answer = await read(lambda titles, _: True)
    assert [probe.check for probe in answer.probes] == ["naturalness", "skip_ahead", "closed_book", "naive_rag"]
    assert [finding.check for finding in answer.findings] == ["naive_rag"]
    fatal = Finding(check="broken_chain", cause=Cause.GENERATOR_ERROR, fatal=True)
    assert await read(lambda titles, _: True, 3, fatal) == CheckResult()


async def test_a_reader_that_says_nothing_readable_gives_no_finding_but_an_error() -> None:
    with pytest.raises(FormatError):
        await readings(DRAFT, 3, (), context(ScriptedLLM(lambda request: "hm")))


def test_all_are_on_with_a_real_reader_and_the_oracle_with_the_embedded_one_unless_said() -> None:
    real = {"default": {"provider": "openai", "model": "m"}}
    every = ("same_name", *ALL, "alternatives")
    assert build(values={"models": real}).checks_run() == every
    assert build().checks_run() == ("oracle",)
    assert build(sets=["checks.run=[]"]).checks_run() == ()
    assert build(values={"preset": "sage", "models": real}).checks_run() == ()
    assert (
        build(values={"models": {**real, "reader": {"provider": "embedded", "model": "embedded"}}}).checks_run() == ()
    )
