"""The inputs and tools of SAGE's generator and refiner."""

import asyncio
from typing import Any

import pytest

from pipeline import prompts
from pipeline.corpus.train_eval_split import side
from pipeline.errors import FormatError
from pipeline.llm.base import Request
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal
from pipeline.types import Label, Round
from tests.graph_drafts import drafted
from tests.loop.cast import FILM, HOLM, QUESTION, TOWN, Cast, call, make_context, make_proposal, make_seed, run
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

OTHER = next(
    page
    for n in range(1000)
    if side((page := passage(f"d{n}", "Vessby Tarn", "Vessby Tarn Vessby Tarn")).document_id) == "eval"
)


def read_inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[1].content) or {}


def revise_once(sets: list[str]) -> tuple[Request, Proposal]:
    """Return the refiner's first request after one round that was too easy, and its proposal."""
    cast = Cast(
        lambda question, sample: [3, 2, 0, 1][sample % 4], revisions=[make_proposal(f"{QUESTION[:-1]}, roughly?")] * 2
    )
    record = run(cast, "loop.rounds=0", "loop.early_stop=false", "loop.audit=false")
    context = make_context(llm := ScriptedLLM(cast), "retrieval.k=2", *sets, retriever=Shelf(FILM, HOLM, TOWN, OTHER))
    past: Round = record.rounds[0]
    proposal = asyncio.run(sage.revise(make_seed(), context, [past]))
    return llm.requests[0], proposal


def test_the_generator_is_told_passage_operations_and_target() -> None:
    record = run(Cast(lambda question, sample: 3))
    inputs = prompts.unfence(record.rounds[0].agent.messages[1].content)
    assert inputs is not None
    text = "[1] It is a silent drama.\n[2] It was directed by Ada Holm."
    assert inputs["passage"] == {"id": FILM.shown_id, "title": FILM.title, "text": text}
    assert (inputs["target_steps"], inputs["search_budget"]) == (3, 80)
    assert any(line.startswith("ratio: ") for line in inputs["operations"])


def test_the_generator_sees_its_own_side_only() -> None:
    context = make_context(Cast(lambda question, sample: 3), retriever=Shelf(FILM, HOLM, TOWN, OTHER))
    drafting = asyncio.run(sage.propose(make_seed(), context))
    assert all(OTHER.id not in c.passage_ids for c in drafting.trajectory.calls)
    assert [hop.passage_id for hop in drafting.draft.hops] == [FILM.id, HOLM.id, TOWN.id] if drafting.draft else False


def test_the_refiner_sees_every_rollout_the_cause_and_all_that_was_read() -> None:
    request, proposal = revise_once([])
    inputs = read_inputs(request)
    assert inputs["drafts"][-1]["feedback"]["label"] == Label.TOO_EASY
    assert [rollout["steps"] for rollout in inputs["drafts"][-1]["rollouts"]] == [3, 2, 3, 1]
    assert {passage_seen["title"] for passage_seen in inputs["seen"]} == {"Lantern Bay", "Ada Holm", "Vessby"}
    assert inputs["drafts"][-1]["steps"][0]["passage_id"] == FILM.shown_id
    assert {tool.name for tool in request.tools} == {"search", "open", "check", "revise"}
    assert proposal.draft is not None


def test_the_papers_refiner_has_one_trace_and_no_search() -> None:
    request, _ = revise_once(["loop.refiner_searches=false", "loop.feedback_rollouts='one'"])
    assert [rollout["steps"] for rollout in read_inputs(request)["drafts"][-1]["rollouts"]] == [1]
    assert [tool.name for tool in request.tools] == ["revise"]
    assert request.tool_choice == "revise"


def test_a_proposal_cites_only_what_was_shown() -> None:
    with pytest.raises(FormatError, match="was shown"):
        drafted(QUESTION, make_proposal()["steps"], [FILM])


def test_a_refiner_that_gives_up_ends_the_seed_as_it_was() -> None:
    cast = Cast(lambda question, sample: 2, revisions=[make_proposal(question="", steps=[])])
    record = run(cast)
    assert (record.reason, len(record.rounds)) == ("superficial", 2)
    assert record.draft == record.rounds[0].draft


def test_revising_a_round_without_a_draft_is_a_callers_mistake() -> None:
    context = make_context(ScriptedLLM([call("propose")]), retriever=Shelf(FILM))
    empty = Round(index=0, agent=run(Cast(lambda question, sample: 3)).rounds[0].agent, draft=None)
    with pytest.raises(ValueError, match="without a draft"):
        asyncio.run(sage.revise(make_seed(), context, [empty]))


def test_the_refiner_sees_what_failed_before_and_may_not_repeat_it() -> None:

    again = [make_proposal(f"{QUESTION[:-1]}, roughly?"), make_proposal(), make_proposal(f"{QUESTION[:-1]}, in years?")]
    cast = Cast(lambda question, sample: 3 if "years" in question else 2, revisions=again)
    record = run(cast)
    inputs = prompts.unfence(record.rounds[2].agent.messages[1].content)
    assert inputs is not None
    assert [draft["question"] for draft in inputs["drafts"][:-1]] == [QUESTION]
    assert record.rounds[2].agent.format_errors == 1
    assert record.draft is not None
    assert record.draft.question == again[2]["question"]
