"""German and Chinese as people write them: the Debian FAQ of both, from Debian's own packages, read as HTML."""

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
from tests.graphs import chained
from tests.shelf import hop

pytestmark = pytest.mark.network
FOUNDER = {"de": "1993 von Ian Murdock gegründet", "zh-cn": "1993 年由 Ian Murdock 建立"}
SOUGHT = {"de": "Wer hat das Debian-Projekt gegründet?", "zh-cn": "Debian 计划由谁建立？"}
ASKED = {
    "de": (
        "Wann wurde das Projekt, dessen Gründer Debra heiratete, gegründet?",
        "Wie heißt der Gründer?",
        "In welchem Jahr?",
    ),
    "zh-cn": ("Debra 的丈夫是在哪一年建立这个计划的？", "建立者是谁？", "是哪一年？"),
}
LANGUAGES = pytest.mark.parametrize("real", FOUNDER, indirect=True)


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Corpus]:
    """The FAQ in one language."""
    pytest.importorskip("trafilatura")
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("needs apt-get, to download packages of Debian")
    home, code = tmp_path_factory.mktemp(f"faq-{request.param}"), request.param
    subprocess.run(["apt-get", "download", f"debian-faq-{code}"], cwd=home, check=True, capture_output=True)
    (package,) = home.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", package, home / "x"], check=True, capture_output=True)
    return code, corpus.load(corpus.resolve(str(home / "x" / "usr" / "share" / "doc")), home / "out")


def founded(code: str, passages: Corpus) -> Passage:
    return next(passage for passage in passages.passages if FOUNDER[code] in " ".join(passage.text.split()))


@LANGUAGES
def test_its_language_is_known_and_most_passages_may_start_a_question(real: tuple[str, Corpus]) -> None:
    code, loaded = real
    assert loaded.language == code[:2]
    found = Counter(quality(passage, loaded.language) for passage in loaded.passages)
    assert len(loaded.passages) > 100
    assert found[None] > 0.8 * found.total(), found
    assert all(passage.text.strip() for passage in loaded.passages)


@LANGUAGES
async def test_a_question_finds_the_sentence_that_answers_it(real: tuple[str, Corpus], tmp_path: Path) -> None:
    code, loaded = real
    retriever = LuceneRetriever(loaded, tmp_path)
    assert retriever.analyser == {"de": "german", "zh-cn": "cjk"}[code]
    assert founded(code, loaded).id in [hit.passage.id for hit in await retriever.search(SOUGHT[code], 3)]


@LANGUAGES
def test_a_question_over_it_that_tells_its_answer_is_at_fault(real: tuple[str, Corpus]) -> None:
    code, loaded = real
    home = founded(code, loaded)
    year = hop(home, "1993", ASKED[code][2], home.text)

    def details(asked: str) -> list[str]:
        draft = chained(
            question=asked, answer="1993", answer_type=AnswerType.DATE, answer_precision="year", hops=(year,)
        )
        return [finding.detail for finding in find_faults(draft)]

    question = ASKED[code][0]
    assert details(question) == []
    assert details(f"1993: {question}") == ["the question holds its answer, '1993': take it out"]
