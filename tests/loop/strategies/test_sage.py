"""What SAGE's generator and refiner are told, and what they may use."""

import asyncio
from typing import Any

import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.corpus.split import side
from pipeline.errors import FormatError
from pipeline.llm.base import Request
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal
from pipeline.types import Label, Round
from tests.graphs import drafted
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, TOWN, Cast, call, proposal, run, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

OTHER = next(
    other
    for n in range(1000)
    if side((other := passage(f"d{n}", "Vessby Tarn", "Vessby Tarn Vessby Tarn")).document_id) == "eval"
)


def inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[1].content) or {}


def revision(sets: list[str]) -> tuple[Request, Proposal]:
    """The first request of the refiner after one too easy round, and what it came back with."""
    cast = Cast(
        lambda question, sample: [3, 2, 0, 1][sample % 4], revisions=[proposal(f"{QUESTION[:-1]}, roughly?")] * 2
    )
    record = run(cast, "loop.rounds=0", "loop.early_stop=false", "loop.audit=false")
    llm = ScriptedLLM(cast)
    settings = config.build(sets=["retrieval.k=2", *sets])
    context = RunContext(config=settings, llm=llm, retriever=Shelf(FILM, HOLM, TOWN, OTHER), lineage=LINEAGE)
    past: Round = record.rounds[0]
    proposed = asyncio.run(sage.revise(seeded(), context, [past]))
    return llm.requests[0], proposed


def test_the_generator_is_told_passage_operations_and_target() -> None:
    record = run(Cast(lambda question, sample: 3))
    told = prompts.unfence(record.rounds[0].agent.messages[1].content)
    assert told is not None
    text = "[1] It is a silent drama.\n[2] It was directed by Ada Holm."
    assert told["passage"] == {"id": FILM.shown_id, "title": FILM.title, "text": text}
    assert (told["target_steps"], told["search_budget"]) == (3, 80)
    assert any(line.startswith("ratio: ") for line in told["operations"])


def test_the_generator_sees_its_own_side_only() -> None:
    cast = Cast(lambda question, sample: 3)
    llm = ScriptedLLM(cast)
    context = RunContext(config=config.build(), llm=llm, retriever=Shelf(FILM, HOLM, TOWN, OTHER), lineage=LINEAGE)
    done = asyncio.run(sage.propose(seeded(), context))
    assert all(OTHER.id not in c.passage_ids for c in done.trajectory.calls)
    assert [hop.passage_id for hop in done.draft.hops] == [FILM.id, HOLM.id, TOWN.id] if done.draft else False


def test_the_refiner_sees_every_rollout_the_cause_and_all_that_was_read() -> None:
    request, proposed = revision([])
    told = inputs(request)
    assert told["drafts"][-1]["feedback"]["label"] == Label.TOO_EASY
    assert [rollout["steps"] for rollout in told["drafts"][-1]["rollouts"]] == [3, 2, 3, 1]
    assert {seen["title"] for seen in told["seen"]} == {"Lantern Bay", "Ada Holm", "Vessby"}
    assert told["drafts"][-1]["steps"][0]["passage_id"] == FILM.shown_id
    assert {tool.name for tool in request.tools} == {"search", "open", "check", "revise"}
    assert proposed.draft is not None


def test_the_papers_refiner_has_one_trace_and_no_search() -> None:
    request, _ = revision(["loop.refiner_searches=false", "loop.feedback_rollouts='one'"])
    assert [rollout["steps"] for rollout in inputs(request)["drafts"][-1]["rollouts"]] == [1]
    assert [tool.name for tool in request.tools] == ["revise"]
    assert request.tool_choice == "revise"


def test_a_proposal_cites_only_what_was_shown() -> None:
    with pytest.raises(FormatError, match="was shown"):
        drafted(QUESTION, proposal()["steps"], [FILM])


def test_a_refiner_that_gives_up_ends_the_seed_where_it_stood() -> None:
    cast = Cast(lambda question, sample: 2, revisions=[proposal(question="", steps=[])])
    record = run(cast)
    assert (record.reason, len(record.rounds)) == ("superficial", 2)
    assert record.draft == record.rounds[0].draft


def test_revising_a_round_without_a_draft_is_a_mistake_of_the_caller() -> None:
    context = RunContext(
        config=config.build(), llm=ScriptedLLM([call("propose")]), retriever=Shelf(FILM), lineage=LINEAGE
    )
    empty = Round(index=0, agent=run(Cast(lambda question, sample: 3)).rounds[0].agent, draft=None)
    with pytest.raises(ValueError, match="without a draft"):
        asyncio.run(sage.revise(seeded(), context, [empty]))


def test_the_refiner_is_told_what_failed_before_and_may_not_say_it_again() -> None:
    again = [proposal(f"{QUESTION[:-1]}, roughly?"), proposal(), proposal(f"{QUESTION[:-1]}, in years?")]
    cast = Cast(lambda question, sample: 3 if "years" in question else 2, revisions=again)
    record = run(cast)
    told = prompts.unfence(record.rounds[2].agent.messages[1].content)
    assert told is not None
    assert [draft["question"] for draft in told["drafts"][:-1]] == [QUESTION]
    assert record.rounds[2].agent.format_errors == 1
    assert record.draft is not None
    assert record.draft.question == again[2]["question"]
