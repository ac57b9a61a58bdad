"""What is known of a corpus before anything is paid for."""

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.links.coverage import check, coverage
from pipeline.links.stored import Links
from pipeline.retrieval.opening import open_retriever
from tests.links.conftest import Opened


async def test_coverage_says_for_which_targets_there_are_walks_and_offers(wiki: Links, tmp_path: Path) -> None:
    retriever = open_retriever("bm25", wiki.corpus, tmp_path)
    found = await coverage(wiki, [retriever], 5, (2, 4, 8), sample=60)
    assert found.linked > 0.8
    assert 1 >= found.walks["2"] >= found.walks["4"] >= found.walks["8"] > 0
    assert all(0 < found.offers[hops] < found.walks[hops] for hops in ("2", "4"))
    assert found.too_deep == [int(hops) for hops, share in found.offers.items() if share < 0.05]
    without = await coverage(wiki, [], 5, (2, 4, 8), sample=60)
    assert without.walks == found.walks
    assert without.offers == {}


async def test_a_target_that_a_corpus_cannot_carry_is_refused(linked: Opened, wiki: Links) -> None:
    await check(wiki, [], 5, [2, 3])
    unlinked = linked("Nothing of note was ever said of this place.")
    assert (await coverage(unlinked, [], 5)).in_words()["walks"] == "none"
    with pytest.raises(UsageError, match="a target of 3 is too deep for towns: walks of 3 hops start from 0% of its"):
        await check(unlinked, [], 5, [3])
