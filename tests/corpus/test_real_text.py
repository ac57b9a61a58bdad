"""Real German and Chinese text works: the Debian FAQ in both languages, read as HTML."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.corpus.seed_passages import quality
from pipeline.loop.wording_review import find_faults
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.types import AnswerType, Passage
from tests.graph_drafts import chained
from tests.passages import hop

pytestmark = pytest.mark.network
FOUNDER = {"de": "1993 von Ian Murdock gegründet", "zh-cn": "1993 年由 Ian Murdock 建立"}
QUERIES = {"de": "Wer hat das Debian-Projekt gegründet?", "zh-cn": "Debian 计划由谁建立？"}
QUESTIONS = {
    "de": (
        "Wann wurde das Projekt, dessen Gründer Debra heiratete, gegründet?",
        "Wie heißt der Gründer?",
        "In welchem Jahr?",
    ),
    "zh-cn": ("Debra 的丈夫是在哪一年建立这个计划的？", "建立者是谁？", "是哪一年？"),
}
LANGUAGES = pytest.mark.parametrize("faq", FOUNDER, indirect=True)


@pytest.fixture(scope="module")
def faq(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Corpus]:
    """Load the FAQ in one language."""
    pytest.importorskip("trafilatura")
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("needs apt-get, to download packages of Debian")
    home, code = tmp_path_factory.mktemp(f"faq-{request.param}"), request.param
    subprocess.run(["apt-get", "download", f"debian-faq-{code}"], cwd=home, check=True, capture_output=True)
    (package,) = home.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", package, home / "x"], check=True, capture_output=True)
    return code, corpus.load(corpus.resolve(str(home / "x" / "usr" / "share" / "doc")), home / "out")


def find_founding_passage(code: str, passages: Corpus) -> Passage:
    return next(passage for passage in passages.passages if FOUNDER[code] in " ".join(passage.text.split()))


@LANGUAGES
def test_the_language_is_detected_and_most_passages_may_start_a_question(faq: tuple[str, Corpus]) -> None:
    code, loaded = faq
    assert loaded.language == code[:2]
    reasons = Counter(quality(passage, loaded.language) for passage in loaded.passages)
    assert len(loaded.passages) > 100
    assert reasons[None] > 0.8 * reasons.total(), reasons
    assert all(passage.text.strip() for passage in loaded.passages)


@LANGUAGES
async def test_a_question_finds_the_sentence_that_answers_it(faq: tuple[str, Corpus], tmp_path: Path) -> None:
    code, loaded = faq
    retriever = LuceneRetriever(loaded, tmp_path)
    assert retriever.analyser == {"de": "german", "zh-cn": "cjk"}[code]
    assert find_founding_passage(code, loaded).id in [
        hit.passage.id for hit in await retriever.search(QUERIES[code], 3)
    ]


@LANGUAGES
def test_a_question_that_holds_its_answer_is_a_fault(faq: tuple[str, Corpus]) -> None:
    code, loaded = faq
    passage = find_founding_passage(code, loaded)
    year = hop(passage, "1993", QUESTIONS[code][2], passage.text)

    def details(text: str) -> list[str]:
        draft = chained(
            question=text, answer="1993", answer_type=AnswerType.DATE, answer_precision="year", hops=(year,)
        )
        return [finding.detail for finding in find_faults(draft)]

    question = QUESTIONS[code][0]
    assert details(question) == []
    assert details(f"1993: {question}") == ["the question holds its answer, '1993': take it out"]
