"""Every strategy keeps the contract. A file in pipeline/loop/strategies/ is tested automatically.

The demo model plays generator and refiner over the tiny corpus, so these are real drafts.
"""

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest

from pipeline import registry
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.train_eval_split import side
from pipeline.demo.role_dispatch import DemoModel
from pipeline.loop.strategies.base import Proposal, Strategy, load_strategy
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.text import normalise
from pipeline.types import Cause, Feedback, Label, Message, Round, Seed
from tests.rules.test_demo_eyes import lineage, seeds
from tests.scripted_llm import ScriptedLLM

SEEDS = 4
TOO_EASY = Feedback(label=Label.TOO_EASY, cause=Cause.SUPERFICIAL, message="solved in 1 step", hops=(0,))


@pytest.fixture(scope="module")
def context(tiny: Corpus) -> RunContext:
    settings = RunConfig()
    links = prepare.links_of_sides(settings, tiny)
    return RunContext(settings, DemoModel(), Bm25Retriever(tiny), lineage(tiny), links=links)


@pytest.fixture(params=registry.names("strategies"))
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return load_strategy(str(request.param))


@pytest.fixture(scope="module")
def propose(tiny: Corpus, context: RunContext) -> Callable[[Strategy], list[tuple[Seed, Proposal]]]:
    """Return a cached function that gives a strategy's proposals for the first seeds."""

    @cache
    def all_of_them(strategy: Strategy) -> list[tuple[Seed, Proposal]]:
        return [(seed, asyncio.run(strategy.propose(seed, context))) for seed in islice(seeds(tiny), SEEDS)]

    return all_of_them


def test_drafts_cite_passages_that_were_read_on_the_seed_s_split(strategy, propose, tiny: Corpus) -> None:
    texts = {passage.id: passage.text for passage in tiny.passages}
    proposals = propose(strategy)
    assert sum(proposal.draft is not None for _, proposal in proposals) >= SEEDS // 4
    for seed, proposal in proposals:
        read_ids = {seed.passage.id, *(i for call in proposal.trajectory.calls for i in call.passage_ids)}
        read_ids |= {i for node in (proposal.tree.nodes if proposal.tree else ()) for i in node.passage_ids}
        assert all(side(i.rpartition("#")[0]) == seed.side for i in read_ids)
        for hop in proposal.draft.hops if proposal.draft else ():
            assert hop.passage_id in read_ids
            assert hop.quote in texts[hop.passage_id]


def test_proposals_are_deterministic(strategy, propose, context: RunContext) -> None:
    for seed, first in propose(strategy)[:2]:
        assert asyncio.run(strategy.propose(seed, context)) == first


def test_a_revision_changes_the_question_or_gives_none(strategy, propose, context: RunContext) -> None:
    drafts = [(seed, first) for seed, first in propose(strategy) if first.draft][:4]
    assert drafts
    for seed, first in drafts:
        last = Round(index=0, agent=first.trajectory, draft=first.draft, feedback=TOO_EASY)
        again = asyncio.run(strategy.revise(seed, context, [last]))
        assert not again.draft or normalise(again.draft.question) != normalise(first.draft.question)


def test_an_unreadable_model_does_not_crash_the_strategy(strategy, context: RunContext, tiny: Corpus) -> None:
    babble = RunContext(
        context.config,
        ScriptedLLM(lambda request: Message(role="assistant", content="Hm.")),
        context.retriever,
        context.lineage,
        links=context.links,
    )
    proposal = asyncio.run(strategy.propose(next(iter(seeds(tiny))), babble))
    assert proposal.draft is None
    assert proposal.trajectory.format_errors > 0
