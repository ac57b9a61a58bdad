"""What every strategy promises; a file in pipeline/strategies/ is enrolled by being there.

The embedded model plays generator and refiner over the tiny corpus, so these are real drafts.
"""

import asyncio
from types import ModuleType

import pytest

from pipeline import registry
from pipeline.agents.site import Site
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.corpus.seeds import side
from pipeline.embedded.model import EmbeddedModel
from pipeline.llm.scripted import ScriptedLLM
from pipeline.retrieval.bm25 import Bm25Retriever
from pipeline.strategies.base import Proposal
from pipeline.text import normalise
from pipeline.types import Cause, Feedback, Label, Message, Round, Seed
from tests.rules.test_embedded_eyes import lineage, seeds

SEEDS = 12
TOO_EASY = Feedback(label=Label.TOO_EASY, cause=Cause.SUPERFICIAL, message="solved in 1 step", hops=(0,))


@pytest.fixture(scope="module")
def site(tiny: Corpus) -> Site:
    return Site(RunConfig(), EmbeddedModel(), Bm25Retriever(tiny), lineage(tiny))


@pytest.fixture(params=registry.names("strategies"))
def strategy(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = registry.load("strategies", request.param)
    return module


def proposed(strategy: ModuleType, site: Site, corpus: Corpus) -> list[tuple[Seed, Proposal]]:
    async def all_of_them() -> list[tuple[Seed, Proposal]]:
        return [
            (seed, await strategy.propose(seed, site)) for seed, _ in zip(seeds(corpus), range(SEEDS), strict=False)
        ]

    return asyncio.run(all_of_them())


def test_it_proposes_drafts_that_cite_what_was_read_on_their_own_side(strategy, site: Site, tiny: Corpus) -> None:
    texts = {passage.id: passage.text for passage in tiny.passages}
    found = proposed(strategy, site, tiny)
    assert sum(proposal.draft is not None for _, proposal in found) >= SEEDS // 4
    for seed, proposal in found:
        read = {seed.passage.id, *(i for call in proposal.trajectory.calls for i in call.passage_ids)}
        assert all(side(i.rpartition("#")[0]) == seed.side for i in read)
        for hop in proposal.draft.hops if proposal.draft else ():
            assert hop.passage_id in read
            assert hop.quote in texts[hop.passage_id]


def test_it_proposes_the_same_again(strategy, site: Site, tiny: Corpus) -> None:
    assert proposed(strategy, site, tiny) == proposed(strategy, site, tiny)


def test_it_revises_to_another_question_or_gives_none(strategy, site: Site, tiny: Corpus) -> None:
    async def revised(seed: Seed, first: Proposal) -> Proposal:
        last = Round(index=0, agent=first.trajectory, draft=first.draft, feedback=TOO_EASY)
        revision: Proposal = await strategy.revise(seed, site, [last], TOO_EASY)
        return revision

    drafts = [(seed, first) for seed, first in proposed(strategy, site, tiny) if first.draft]
    for seed, first in drafts:
        again = asyncio.run(revised(seed, first))
        assert first.draft
        assert not again.draft or normalise(again.draft.question) != normalise(first.draft.question)


def test_a_model_that_never_says_it_well_is_no_crash(strategy, site: Site, tiny: Corpus) -> None:
    babble = Site(
        site.config, ScriptedLLM(lambda request: Message(role="assistant", content="Hm.")), site.retriever, site.lineage
    )
    proposal = asyncio.run(strategy.propose(next(iter(seeds(tiny))), babble))
    assert proposal.draft is None
    assert proposal.trajectory.format_errors > 0
