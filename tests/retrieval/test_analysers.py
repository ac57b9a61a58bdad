"""German and Chinese texts of a real handbook are cut, detected, indexed and found."""

import re
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, jvm
from pipeline.corpus.seed_passages import quality
from pipeline.retrieval.analysers import ENGLISH, analyser_for, java_analyser
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.engines import bm25, lucene
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.passage_texts import contents
from pipeline.text.scripts import length
from pipeline.types import Passage

HANDBOOK = Path(__file__).parent.parent / "corpus" / "handbook"


@pytest.fixture(scope="module")
def german() -> Corpus:
    return corpus.load(corpus.resolve(str(HANDBOOK / "de.jsonl")))


@pytest.fixture(scope="module")
def chinese() -> Corpus:
    return corpus.load(corpus.resolve(str(HANDBOOK / "zh.jsonl")))


def open_both_engines(of: Corpus, out: Path) -> list[LuceneRetriever | Bm25Retriever]:
    return [LuceneRetriever(of, out), Bm25Retriever(of)]


async def search_documents(retriever: Retriever, query: str) -> list[Passage]:
    return [hit.passage for hit in await retriever.search(query, 100)]


def test_passages_are_of_usual_length_and_most_may_start_a_question(german: Corpus, chinese: Corpus) -> None:
    for loaded in (german, chinese):
        sizes = [length(passage.text) for passage in loaded.passages]
        assert min(sizes) > 25
        assert max(sizes) < 200
        assert sum(quality(passage) is None for passage in loaded.passages) >= 0.9 * len(loaded.passages)


@pytest.mark.parametrize(
    ("query", "written"),
    [("Sicherheitskopie", "Sicherheitskopien"), ("Einbruchs", "Einbrüche")],
)
async def test_an_inflected_german_word_finds_its_passage(
    german: Corpus, indexes: Path, query: str, written: str
) -> None:
    word = re.compile(rf"\b{query}\b")
    holding = [p for p in german.passages if written in p.text and not word.search(contents(p))]
    assert holding
    for retriever in open_both_engines(german, indexes):
        assert retriever.analyser == "german"
        hits = await search_documents(retriever, query)
        assert all(passage in hits for passage in holding)
    assert bm25.analyse(query) != bm25.analyse(written)  # which the English stemmer parts


async def test_a_chinese_word_of_two_characters_finds_its_passages_and_no_others(
    chinese: Corpus, indexes: Path
) -> None:
    apart = [p for p in chinese.passages if "邮件" not in contents(p) and "件" in contents(p)]
    holding = {p.id for p in chinese.passages if "邮件" in contents(p)}
    assert apart
    assert holding
    for retriever in open_both_engines(chinese, indexes):
        assert {passage.id for passage in await search_documents(retriever, "邮件")} == holding


async def test_scores_of_new_texts_match_the_index(german: Corpus, chinese: Corpus, indexes: Path) -> None:
    for loaded, query in ((german, "Einbruch in einen Rechner"), (chinese, "软件包的安装")):
        for retriever in open_both_engines(loaded, indexes):
            hits = await retriever.search(query, 10)
            scores = await retriever.score(query, [contents(hit.passage) for hit in hits])
            assert len(hits) > 2
            assert scores == pytest.approx([hit.score for hit in hits], rel=1e-4)


def test_the_folder_of_the_index_names_the_analyser(german: Corpus, tmp_path: Path) -> None:
    LuceneRetriever(german, tmp_path)
    assert [path.name for path in (tmp_path / "indexes").iterdir()] == [f"de-{german.fingerprint[:12]}-german"]


def test_a_stated_language_wins_over_the_detected_one(german: Corpus) -> None:
    assert german.language == "de"
    french = corpus.load(corpus.resolve(str(HANDBOOK / "de.jsonl"), language="fr"))
    assert analyser_for(french.language) == "french"


def test_regional_codes_use_the_analyser_of_their_language() -> None:
    assert [analyser_for(code) for code in ("pt-BR", "zh-TW", "nb", "en-GB", "unknown")] == [
        "portuguese", "cjk", "norwegian", ENGLISH, ENGLISH
    ]  # fmt: skip
    assert analyser_for("ka") == analyser_for("sw") == "standard"


def test_lucene_has_every_analyser_of_the_table(tmp_path: Path) -> None:
    codes = (
        "ar bg bn ca ckb cs da de el es et eu fa fi fr ga gl hi hu hy id it ja ko lt lv ne nl no pl pt ro ru sr sv "
        "ta te tr uk xx zh"
    )
    names = {analyser_for(code) for code in codes.split()}

    def list_failures() -> list[str]:
        jvm.start()
        return [name for name in names if java_analyser(name) is None or not lucene.analyse("Debian 12", name)]

    assert jvm.call(list_failures) == []
    assert jvm.call(lambda: lucene.analyse("Häuser", "german")) == ["haus"]
    assert jvm.call(lambda: lucene.analyse("软件包", "cjk")) == ["软件", "件包"]
