"""The language of a corpus is detected from its texts alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.corpus.language import detect_language, is_english
from tests.loop.checks.test_languages import CHINESE, GERMAN
from tests.passages import passage

HANDBOOK = Path(__file__).parent / "handbook"
DUTCH = "De stad ligt aan de rivier en is bekend om haar bruggen of molens. Het werd in 1641 door monniken gesticht."
DANISH = "Byen ligger ved floden og er kendt for sine broer, der blev bygget af munke, for at komme over på den side."


def test_the_shipped_corpora_are_english(tiny: Corpus) -> None:
    assert is_english(tiny.passages)


@pytest.mark.parametrize(
    "texts", [[p.text for p in CHINESE.passages], [p.text for p in GERMAN.passages], [DUTCH, DANISH]]
)
def test_other_languages_are_not_english(texts: list[str]) -> None:
    assert not is_english([passage(f"{n}", "T", text) for n, text in enumerate(texts)])


def test_the_majority_of_passages_decides(tiny: Corpus) -> None:
    foreign, english = list(CHINESE.passages), list(tiny.passages[:10])
    assert is_english([*english, *foreign[:5]])
    assert not is_english([*english[:5], *foreign])


@pytest.mark.parametrize(
    "case", json.loads((HANDBOOK / "languages.json").read_text()), ids=lambda case: case["language"]
)
def test_a_language_is_detected_from_a_few_paragraphs(case: dict[str, Any]) -> None:
    assert detect_language(case["texts"]) == case["language"]


def test_a_corpus_without_a_language_gets_that_of_its_texts(tiny: Corpus) -> None:
    assert detect_language([passage.text for passage in tiny.passages]) == "en"
    assert corpus.load(corpus.resolve(str(HANDBOOK / "zh.jsonl"))).language == "zh"
    assert detect_language(["apt-get install -y vim", "dpkg -i *.deb", "12 43 99"]) == detect_language([]) == "unknown"


def test_a_few_passages_of_a_language_do_not_decide() -> None:
    assert detect_language([GERMAN.passages[0].text, *["f(3) -> 4; g(4)"] * 9]) == "unknown"
