"""A question that its generator worded goes through the reviews of graph and wording, and is told all at once."""

from collections.abc import Mapping
from dataclasses import replace

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext, SeedMemory
from pipeline.errors import FormatError
from pipeline.llm.base import Request
from pipeline.loop.assess import feedback_from_findings
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.draft_check import check_draft
from pipeline.loop.examine import examine
from pipeline.types import Cause, Draft, Hop, Label
from pipeline.types.graph import Citation, FoundStep, Graph
from pipeline.types.model_probe import naturalness
from tests.loop.checks.test_audit import DRAFT, SHELF, TOWN
from tests.loop.test_episode import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf

REAL = {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}
IDS = ("director", "home", "year")


def graph(hops: tuple[Hop, ...] = DRAFT.hops) -> Graph:
    """A chain of these hops."""
    steps, needs = [], tuple[str, ...]()
    for step_id, hop in zip(IDS, hops, strict=False):
        citation = Citation(
            passage_id=hop.passage_id,
            title=hop.title,
            sentences=(1,),
            quote=hop.quote,
            passage_sha256=hop.passage_sha256,
        )
        asked = hop.sub_question
        for needed in steps:
            asked = asked.replace(needed.answer, f"{{{needed.id}}}")
        steps.append(FoundStep(id=step_id, sub_question=asked, answer=hop.answer, needs=needs, citation=citation))
        needs = (step_id,)
    return Graph(steps=tuple(steps))


def worded(question: str = DRAFT.question) -> Draft:
    return DRAFT.model_copy(update={"question": question, "graph": graph()})


def reader(grades: Mapping[str, int] | int = 4, faults: tuple[object, ...] = (), **said: object) -> ScriptedLLM:
    """A reader that finds these faults of steps, and grades wordings, by what they hold or all alike."""

    def say(request: Request) -> str:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "steps":
            return orjson.dumps({"reason": "", "faults": faults}).decode()
        wordings = inputs["wordings"]
        every = [grades] * len(wordings) if isinstance(grades, int) else [grades[wording] for wording in wordings]
        return orjson.dumps({"faults": ["stacked clauses"], "grades": every, "best": 1} | said).decode()

    return ScriptedLLM(say)


def context(model: ScriptedLLM, *sets: str) -> RunContext:
    values = {"checks": {"enabled": []}, "retrieval": {"k": 1}, "models": REAL, "steps": [3, 3]}
    return RunContext(build(values=values, sets=list(sets)), model, SHELF, LINEAGE)


async def review(draft: Draft, model: ScriptedLLM, *sets: str, target: int = 3) -> CheckResult:
    return await examine(draft, target, context(model, *sets))


async def test_a_sound_graph_with_a_good_wording_passes_for_two_calls() -> None:
    model = reader()
    result = await review(worded(), model)
    assert result.findings == ()
    assert [(probe.check, probe.answers) for probe in result.probes] == [
        ("graph", ("no fault",)),
        ("naturalness", ("4",)),
    ]
    assert naturalness(result.probes) == 4
    assert len(model.requests) == 2


async def test_all_that_is_wrong_is_told_at_once_with_one_thing_to_do_for_each() -> None:
    faults = ({"step": "home", "fault": "unstated", "reason": "it names no town"},)
    made = worded("When was Vessby, home of the person who directed Lantern Bay, settled?")
    told, probes = await check_draft(made, 4, {}, context(reader(1, faults)))
    assert told.startswith("It would be sent back: yes, as unsound, cause generator_error.")
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    assert [line.split(":")[0] for line in lines] == ["- graph", "- graph", "- wording", "- naturalness"]
    assert "3 steps that must be searched for, and 4 are asked for" in lines[0]
    assert "'home'" in lines[1]
    assert "it names no town" in lines[1]
    assert "it says 'Vessby', which gives [home] away" in lines[2]
    assert "graded 1 of 5: stacked clauses" in lines[3]
    assert len(probes) == 2


@pytest.mark.parametrize(
    ("brought", "reworded", "is_refused"), [(2, 2, False), (2, 3, False), (3, 2, True), (5, 3, False), (5, 2, True)]
)
async def test_no_wording_need_be_more_natural_than_the_question_that_somebody_brought(
    brought: int, reworded: int, is_refused: bool
) -> None:
    asked = "Of which year is the town of her who made Lantern Bay?"
    where = context(reader({DRAFT.question: reworded, asked: brought}), "checks.naturalness=3")
    result = await examine(worded(), 3, replace(where, memory=SeedMemory(brought=asked)))
    assert [finding.cause for finding in result.findings] == [Cause.UNNATURAL] * is_refused


async def test_an_answer_that_changes_with_time_is_found_in_the_same_call() -> None:
    result = await review(worded(), reader(5, changes_with_time=True))
    feedback = feedback_from_findings(result.findings)
    assert (feedback.label, feedback.cause) == (Label.UNSOUND, Cause.UNDATED)


async def test_claim_that_no_fact_states_is_found_in_the_same_call() -> None:
    (finding,) = (await review(worded(), reader(5, added=[1]))).findings
    assert finding.cause is Cause.GENERATOR_ERROR
    assert finding.detail == "it claims what no fact states: stacked clauses: leave it out"


async def test_a_wording_that_one_search_answers_is_too_easy_whichever_retriever_finds_it() -> None:
    easy = worded("When was the town on the Tarn settled by monks, from which the director of Lantern Bay came?")
    (finding,) = (await review(easy, reader())).findings
    assert (finding.check, finding.cause) == ("wording", Cause.OVER_SPECIFIED)
    assert feedback_from_findings([finding]).label is Label.TOO_EASY
    other = replace(context(reader()), others={"dense": Shelf(TOWN)})
    result = await examine(worded("When was that home town settled, of the Bay's director?"), 3, other)
    skipped, answered_at_once = result.findings
    assert skipped.detail.startswith(
        "a search over dense for the sub-question of 'year' alone returns its passage first"
    )
    assert answered_at_once.detail.startswith("one search with it over dense returns")


async def test_a_draft_that_was_reviewed_while_it_was_composed_is_not_reviewed_again() -> None:
    done = await review(worded(), reader())
    model = reader()
    result = await examine(worded(), 3, context(model), review=done)
    assert (result.probes, model.requests) == (done.probes, [])


async def test_a_reader_that_gives_nothing_readable_is_an_error_but_for_the_author() -> None:
    silent = ScriptedLLM(lambda request: "hm")
    with pytest.raises(FormatError):
        await review(worded(), silent)
    assert await check_draft(worded(), 3, {}, context(silent)) == ("", ())


async def test_a_grade_that_cannot_be_read_hides_no_fault_of_the_graph() -> None:
    faults = orjson.dumps({"faults": [{"step": "home", "fault": "unstated", "reason": "it names no town"}]}).decode()
    model = ScriptedLLM(lambda request: faults if request.output and request.output.name == "steps" else "hm")
    told, _ = await check_draft(worded(), 3, {}, context(model))
    assert "it names no town" in told


async def test_the_paper_s_preset_makes_no_check() -> None:
    settings = build(values={"preset": "sage", "models": REAL})
    model = ScriptedLLM([])
    where = RunContext(settings, model, SHELF, LINEAGE)
    assert await examine(worded("Vessby 1641"), 3, where) == CheckResult()
