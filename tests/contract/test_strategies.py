"""What every strategy promises; a file in pipeline/loop/strategies/ is enrolled by being there.

The demo model plays generator and refiner over the tiny corpus, so these are real drafts.
"""

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import islice
from types import ModuleType

import pytest

from pipeline import registry
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.demo.role_dispatch import DemoModel
from pipeline.loop.strategies.base import Proposal
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.text import normalise
from pipeline.types import Cause, Feedback, Label, Message, Round, Seed
from tests.rules.test_demo_eyes import lineage, seeds
from tests.scripted import ScriptedLLM

SEEDS = 4
TOO_EASY = Feedback(label=Label.TOO_EASY, cause=Cause.SUPERFICIAL, message="solved in 1 step", hops=(0,))


@pytest.fixture(scope="module")
def context(tiny: Corpus) -> RunContext:
    settings = RunConfig()
    links = prepare.links_of_sides(settings, tiny)
    return RunContext(settings, DemoModel(), Bm25Retriever(tiny), lineage(tiny), links=links)


@pytest.fixture(params=registry.names("strategies"))
def strategy(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = registry.load("strategies", request.param)
    return module


@pytest.fixture(scope="module")
def proposed(tiny: Corpus, context: RunContext) -> Callable[[ModuleType], list[tuple[Seed, Proposal]]]:
    """What a strategy proposes from the first seeds; asked once, for it takes a while."""

    @cache
    def all_of_them(strategy: ModuleType) -> list[tuple[Seed, Proposal]]:
        return [(seed, asyncio.run(strategy.propose(seed, context))) for seed in islice(seeds(tiny), SEEDS)]

    return all_of_them


def test_it_proposes_drafts_that_cite_what_was_read_on_their_own_side(strategy, proposed, tiny: Corpus) -> None:
    texts = {passage.id: passage.text for passage in tiny.passages}
    found = proposed(strategy)
    assert sum(proposal.draft is not None for _, proposal in found) >= SEEDS // 4
    for seed, proposal in found:
        read = {seed.passage.id, *(i for call in proposal.trajectory.calls for i in call.passage_ids)}
        read |= {i for node in (proposal.tree.nodes if proposal.tree else ()) for i in node.passage_ids}
        assert all(side(i.rpartition("#")[0]) == seed.side for i in read)
        for hop in proposal.draft.hops if proposal.draft else ():
            assert hop.passage_id in read
            assert hop.quote in texts[hop.passage_id]


def test_it_proposes_the_same_again(strategy, proposed, context: RunContext) -> None:
    for seed, first in proposed(strategy)[:2]:
        assert asyncio.run(strategy.propose(seed, context)) == first


def test_it_revises_to_another_question_or_gives_none(strategy, proposed, context: RunContext) -> None:
    drafts = [(seed, first) for seed, first in proposed(strategy) if first.draft][:4]
    assert drafts
    for seed, first in drafts:
        last = Round(index=0, agent=first.trajectory, draft=first.draft, feedback=TOO_EASY)
        again = asyncio.run(strategy.revise(seed, context, [last]))
        assert not again.draft or normalise(again.draft.question) != normalise(first.draft.question)


def test_a_model_that_never_says_it_well_is_no_crash(strategy, context: RunContext, tiny: Corpus) -> None:
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
