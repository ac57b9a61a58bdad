"""Checks that a model makes: who holds less than the evidence must fail, who holds it must not; all of it is kept."""

from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Request
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.checks.base import CheckResult, Stage, known
from pipeline.loop.examine import readings
from pipeline.types import AnswerType, Cause, Draft, Finding, Message, Program, ProgramValue
from pipeline.types.model_probe import PriorKnowledge, known_to
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, hop, passage

ALL = tuple(name for name, check in known().items() if check.stage is Stage.READ)
HOPS = (
    hop(FILM, "Ada Holm", "Who directed Lantern Bay?"),
    hop(HOLM, "Vessby", "Where was Ada Holm from?"),
    hop(TOWN, "1641", "When was Vessby founded?"),
)
DRAFT = Draft(question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS)


def context(llm: LLM, run: tuple[str, ...] = ALL, **values: object) -> RunContext:
    return RunContext(
        build(values={"checks": {"run": run, "tries": 3, "oracle_tries": 3, "naturalness": 4}, **values}),
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
        if request.output and request.output.name == "trace":
            read = ["Ada Holm", "Oslo", "1641"]
            return Message(role="assistant", content=orjson.dumps({"answers": read}).decode())
        if request.output and request.output.name == "skip":
            return Message(role="assistant", content='{"queries": ["silent drama", "no such town"]}')
        if request.output and request.output.name == "commit":
            return Message(role="assistant", content="{}")
        if request.output and request.output.name == "grade":
            return Message(role="assistant", content='{"reason": "", "grade": 4}')
        if request.output and request.output.name == "weigh":
            return Message(role="assistant", content='{"fits": false}')
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
        ("end", 1, 0, ()),
        ("closed_book", 3, 0, ()),
        ("contested", 1, 0, ()),
        ("oracle", 1, 1, ()),
        ("leave_one_out", 1, 0, (0,)),
        ("naturalness", 2, 2, ()),
        *[("seeker", 1, 0, ())] * 3,
    ]
    assert sum(p.usage.calls for p in answer.probes if p.check != "seeker") == 10
    assert all(p.judged.calls == 0 for p in answer.probes), "what shares no word with the answer needs no judge"


async def test_what_the_reader_knows_by_heart_is_recorded_and_is_no_finding() -> None:
    answer = await read(lambda titles, _: True, run=("closed_book",), retrieval={"k": 1})
    assert [(p.check, p.right, p.evidence) for p in answer.probes] == [("closed_book", 3, False)]
    assert answer.findings == ()
    assert known_to(answer.probes) == (PriorKnowledge(model="embedded", tries=3, right=3),)


async def test_who_knows_the_answer_by_heart_needs_no_evidence_and_no_hop_is_needless_for_it() -> None:
    last = lambda titles, _: "Vessby" not in titles  # noqa: E731
    assert (await read(last, 2, run=("leave_one_out",))).findings == ()


async def test_what_a_reader_was_shown_by_a_search_is_kept_with_what_it_said() -> None:
    answer = await read(lambda titles, _: "Vessby" in titles, run=("leave_one_out",))
    queries = ["Where was … from?", "When was … founded?"]
    assert [search.query for probe in answer.probes for search in probe.searches] == queries
    assert [search.query for search in answer.findings[0].searches] == queries


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


async def test_each_clue_of_a_conjunction_is_held_back_and_whoever_is_left_may_single_the_answer_out() -> None:
    one, other, asked = (
        passage("one", "Tarn", "Along the Tarn lies the old town of Vessby."),
        passage("other", "Monks", "The monks of the valley settled at Vessby."),
        passage("y", "Vessby", "Vessby was founded by monks around 1641."),
    )
    hops = (hop(one, "Vessby"), hop(other, "Vessby"), hop(asked, "1641"))
    draft = DRAFT.model_copy(update={"hops": hops, "family": "conjunction"})
    model = reader(lambda titles, _: "Tarn" in titles)
    where = replace(context(model, ("end", "leave_one_out")), retriever=Shelf(one, other, asked))
    answer = await readings(draft, 3, (), where)
    assert [(p.hops, p.right) for p in answer.probes if p.check == "leave_one_out"] == [((0,), 0), ((1,), 1)]
    assert told(answer) == [("leave_one_out", Cause.SUPERFICIAL, True)]
    assert feedback_from_audit(draft, answer.findings).message.endswith(
        "What is left singles the answer out: without these hops, two things should fit the rest of the question. "
        "The hops that give 'Vessby' and '1641' may stay."
    )
    system = model.requests[-1].messages[0].content
    assert "Answer if what is there singles one answer out" in system


@pytest.mark.parametrize(("asked", "held"), [("Which year?", []), ("When was that founded?", [(0,)])])
async def test_what_leads_to_the_values_of_an_aggregate_is_needed_where_nobody_finds_them_without_it(
    asked: str, held: list[tuple[int, ...]]
) -> None:
    born = passage("born", "Vessby", "Ada Holm came from this old port. Vessby was founded in 1641.")
    died = passage("died", "Tolmin", "Ada Holm ended her days here. Tolmin was founded in 1650.")
    hops = (hop(FILM, "Ada Holm"), hop(born, "1641", asked), hop(died, "1650"))
    values = tuple(ProgramValue(hop=number, value=hops[number].answer) for number in (1, 2))
    program = Program(operation="difference", values=values)
    more = {"hops": hops, "family": "aggregate", "answer": "9", "answer_type": AnswerType.NUMBER, "program": program}
    draft = DRAFT.model_copy(update=more)
    where = replace(context(reader(lambda titles, _: False), ("leave_one_out",)), retriever=Shelf(FILM, born, died))
    answer = await readings(draft, 3, (), where)
    assert [probe.hops for probe in answer.probes if probe.check == "leave_one_out"] == held


@pytest.mark.parametrize("family", ["given", "link", "category:reversed"])
async def test_a_question_that_somebody_brought_is_a_chain_too(family: str) -> None:
    hidden = HOPS[1].model_copy(update={"sub_question": "Which?"})
    draft = DRAFT.model_copy(update={"hops": (HOPS[0], hidden, HOPS[2])})
    where = context(reader(lambda titles, _: False), ("leave_one_out",))
    held = [
        [probe.hops for probe in (await readings(one, 3, (), where)).probes]
        for one in (draft, draft.model_copy(update={"family": family}))
    ]
    assert held[0] == held[1]
    assert (0,) not in held[0], "nothing brings the second passage but the name that the first gives"


async def test_a_passage_that_tells_what_is_held_back_is_no_decoy() -> None:
    again = passage("poster", "Poster", "The poster of Lantern Bay, which Ada Holm directed, was settled on late.")
    last = HOPS[-1].model_copy(update={"sub_question": "When was it settled?"})
    draft = DRAFT.model_copy(update={"hops": (*HOPS[:-1], last)})
    model = reader(lambda titles, _: False)
    where = replace(context(model, ("leave_one_out",)), retriever=Shelf(FILM, HOLM, TOWN, again))
    await readings(draft, 3, (), where)
    asked = [(prompts.unfence(request.messages[-1].content) or {})["passages"] for request in model.requests]
    assert ["Poster" in {passage["title"] for passage in passages} for passages in asked] == [False, True]


async def test_hops_that_the_static_audit_found_needless_are_counted_with_them() -> None:
    static = Finding(check="co_located", cause=Cause.CO_LOCATED, fatal=False, hops=(1,))
    answer = await read(lambda titles, _: "Lantern Bay" not in titles, 2, static, run=("leave_one_out",))
    assert (answer.findings[0].hops, answer.findings[0].fatal) == ((0,), True)


async def test_the_first_fatal_finding_ends_it_and_nothing_is_asked_after_one_of_the_static_audit() -> None:
    answer = await read(lambda titles, _: not titles)
    assert [probe.check for probe in answer.probes] == ["end", "closed_book", "oracle", "trace"]
    assert [finding.check for finding in answer.findings] == ["oracle"]
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


async def test_a_hop_without_which_nobody_comes_to_the_next_is_not_asked_about() -> None:
    hidden = HOPS[1].model_copy(update={"sub_question": "Ada Holm?"})
    draft = DRAFT.model_copy(update={"hops": (HOPS[0], hidden, HOPS[2])})
    model = reader(lambda titles, _: True)
    answer = await readings(draft, 3, (), context(model, ("leave_one_out",)))
    assert [probe.hops for probe in answer.probes] == [(1,)]


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

    draft = DRAFT.model_copy(update={"answer": key, "answer_type": AnswerType.ENTITY})
    (known,) = (await readings(draft, 3, (), context(ScriptedLLM(say), ("closed_book",)))).probes[:1]
    assert known.right == 3 * judged
    oracle = await readings(draft, 3, (), context(ScriptedLLM(say), ("oracle",)))
    assert (oracle.findings, oracle.probes[0].right) == ((), 1)
