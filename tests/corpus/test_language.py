"""English is told from other languages by its texts alone."""

import pytest

from pipeline.corpus import Corpus
from pipeline.corpus.language import english
from tests.loop.audit.test_languages import CHINESE, GERMAN
from tests.shelf import passage

DUTCH = "De stad ligt aan de rivier en is bekend om haar bruggen of molens. Het werd in 1641 door monniken gesticht."
DANISH = "Byen ligger ved floden og er kendt for sine broer, der blev bygget af munke, for at komme over på den side."


def test_the_shipped_corpora_are_english(tiny: Corpus) -> None:
    assert english(tiny.passages)


@pytest.mark.parametrize(
    "texts", [[p.text for p in CHINESE.passages], [p.text for p in GERMAN.passages], [DUTCH, DANISH]]
)
def test_other_languages_are_not(texts: list[str]) -> None:
    assert not english([passage(f"{n}", "T", text) for n, text in enumerate(texts)])


def test_most_of_the_passages_decide(tiny: Corpus) -> None:
    foreign, own = list(CHINESE.passages), list(tiny.passages[:10])
    assert english([*own, *foreign[:5]])
    assert not english([*own[:5], *foreign])
