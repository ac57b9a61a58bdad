"""A question that its generator worded is reviewed as graph and as wording, and all faults are reported at once."""

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
from tests.loop.cast import LINEAGE
from tests.loop.checks.test_audit import DRAFT, SHELF, TOWN
from tests.passages import Shelf
from tests.scripted_llm import ScriptedLLM

REAL = {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}
IDS = ("director", "home", "year")


def make_graph(hops: tuple[Hop, ...] = DRAFT.hops) -> Graph:
    """Make the chain of these hops."""
    steps, needs = [], tuple[str, ...]()
    for step_id, hop in zip(IDS, hops, strict=False):
        citation = Citation(
            passage_id=hop.passage_id, title=hop.title, sentences=(1,), quote=hop.quote,
            passage_sha256=hop.passage_sha256,
        )  # fmt: skip
        sub_question = hop.sub_question
        for earlier in steps:
            sub_question = sub_question.replace(earlier.answer, f"{{{earlier.id}}}")
        steps.append(
            FoundStep(id=step_id, sub_question=sub_question, answer=hop.answer, needs=needs, citation=citation)
        )
        needs = (step_id,)
    return Graph(steps=tuple(steps))


def make_draft(question: str = DRAFT.question) -> Draft:
    return DRAFT.model_copy(update={"question": question, "graph": make_graph()})


def make_reader(grades: Mapping[str, int] | int = 4, faults: tuple[object, ...] = (), **fields: object) -> ScriptedLLM:
    """Make a reader with these faults of steps, and grades of wordings, per wording or one for all."""

    def reply(request: Request) -> str:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "steps":
            return orjson.dumps({"reason": "", "faults": faults}).decode()
        wordings = inputs["wordings"]
        all_grades = [grades] * len(wordings) if isinstance(grades, int) else [grades[wording] for wording in wordings]
        return orjson.dumps({"faults": ["stacked clauses"], "grades": all_grades, "best": 1} | fields).decode()

    return ScriptedLLM(reply)


def make_context(model: ScriptedLLM, *sets: str) -> RunContext:
    values = {"checks": {"enabled": []}, "retrieval": {"k": 1}, "models": REAL, "steps": [3, 3]}
    return RunContext(build(values=values, sets=list(sets)), model, SHELF, LINEAGE)


async def review(draft: Draft, model: ScriptedLLM, *sets: str, target: int = 3) -> CheckResult:
    return await examine(draft, target, make_context(model, *sets))


async def test_a_sound_graph_with_a_good_wording_passes_for_two_calls() -> None:
    model = make_reader()
    result = await review(make_draft(), model)
    assert result.findings == ()
    assert [(probe.check, probe.answers) for probe in result.probes] == [
        ("graph", ("no fault",)),
        ("naturalness", ("4",)),
    ]
    assert naturalness(result.probes) == 4
    assert len(model.requests) == 2


async def test_all_faults_are_reported_at_once_with_one_remedy_each() -> None:
    faults = ({"step": "home", "fault": "unstated", "reason": "it names no town"},)
    draft = make_draft("When was Vessby, home of the person who directed Lantern Bay, settled?")
    message, probes = await check_draft(draft, 4, {}, make_context(make_reader(1, faults)))
    assert message.startswith("It would be sent back: yes, as unsound, cause generator_error.")
    lines = [line for line in message.splitlines() if line.startswith("- ")]
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
async def test_a_wording_need_not_be_more_natural_than_the_users_question(
    brought: int, reworded: int, is_refused: bool
) -> None:
    original = "Of which year is the town of her who made Lantern Bay?"
    context = make_context(make_reader({DRAFT.question: reworded, original: brought}), "checks.naturalness=3")
    result = await examine(make_draft(), 3, replace(context, memory=SeedMemory(brought=original)))
    assert [finding.cause for finding in result.findings] == [Cause.UNNATURAL] * is_refused


async def test_an_answer_that_changes_with_time_is_reported_by_the_same_call() -> None:
    result = await review(make_draft(), make_reader(5, changes_with_time=True))
    feedback = feedback_from_findings(result.findings)
    assert (feedback.label, feedback.cause) == (Label.UNSOUND, Cause.UNDATED)


async def test_a_claim_that_no_fact_states_is_reported_by_the_same_call() -> None:
    (finding,) = (await review(make_draft(), make_reader(5, added=[1]))).findings
    assert finding.cause is Cause.GENERATOR_ERROR
    assert finding.detail == "it claims what no fact states: stacked clauses: leave it out"


async def test_a_wording_that_one_search_over_any_retriever_answers_is_too_easy() -> None:
    easy = make_draft("When was the town on the Tarn settled by monks, from which the director of Lantern Bay came?")
    (finding,) = (await review(easy, make_reader())).findings
    assert (finding.check, finding.cause) == ("wording", Cause.OVER_SPECIFIED)
    assert feedback_from_findings([finding]).label is Label.TOO_EASY
    dense = replace(make_context(make_reader()), others={"dense": Shelf(TOWN)})
    result = await examine(make_draft("When was that home town settled, of the Bay's director?"), 3, dense)
    skipped, answered_at_once = result.findings
    assert skipped.detail.startswith(
        "a search over dense for the sub-question without the id returns the passage first: 'year'"
    )
    assert answered_at_once.detail.startswith("one search with it over dense returns")


async def test_a_draft_reviewed_while_it_was_composed_is_not_reviewed_again() -> None:
    earlier = await review(make_draft(), make_reader())
    model = make_reader()
    result = await examine(make_draft(), 3, make_context(model), review=earlier)
    assert (result.probes, model.requests) == (earlier.probes, [])


async def test_an_unreadable_reader_is_an_error_except_in_the_generators_check() -> None:
    silent = ScriptedLLM(lambda request: "hm")
    with pytest.raises(FormatError):
        await review(make_draft(), silent)
    assert await check_draft(make_draft(), 3, {}, make_context(silent)) == ("", ())


async def test_an_unreadable_grade_hides_no_fault_of_the_graph() -> None:
    faults = orjson.dumps({"faults": [{"step": "home", "fault": "unstated", "reason": "it names no town"}]}).decode()
    model = ScriptedLLM(lambda request: faults if request.output and request.output.name == "steps" else "hm")
    message, _ = await check_draft(make_draft(), 3, {}, make_context(model))
    assert "it names no town" in message


async def test_the_papers_preset_runs_no_check() -> None:
    settings = build(values={"preset": "sage", "models": REAL})
    model = ScriptedLLM([])
    context = RunContext(settings, model, SHELF, LINEAGE)
    assert await examine(make_draft("Vessby 1641"), 3, context) == CheckResult()
