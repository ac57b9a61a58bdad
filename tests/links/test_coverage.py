"""What is known of a corpus before anything is paid for."""

from pathlib import Path

from pipeline.links.coverage import coverage, deepest
from pipeline.links.stored import StoredLinks
from pipeline.retrieval.open_retriever import open_retriever
from tests.links.conftest import Opened


async def test_coverage_says_for_which_targets_there_are_walks_and_offers(wiki: StoredLinks, tmp_path: Path) -> None:
    retriever = open_retriever("bm25", wiki.corpus, tmp_path)
    found = await coverage(wiki, [retriever], 5, (2, 4, 8), sample=30)
    assert found.linked > 0.8
    assert 1 >= found.walks["2"] >= found.walks["4"] >= found.walks["8"] > 0
    assert all(0 < found.offers[hops] < found.walks[hops] for hops in ("2", "4"))
    assert found.scarce == [int(hops) for hops, share in found.offers.items() if share < 0.05]
    without = await coverage(wiki, [], 5, (2, 4, 8), sample=30)
    assert without.walks == found.walks
    assert without.offers == {}


async def test_of_a_corpus_without_links_no_walk_starts(linked: Opened, wiki: StoredLinks) -> None:
    assert deepest(wiki, 3) == 3
    unlinked = linked("Nothing of note was ever said of this place.")
    assert (await coverage(unlinked, [], 5)).in_words()["walks"] == "none"
    assert deepest(unlinked, 3) == 0
