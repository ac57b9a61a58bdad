"""Which passages give another answer, and which only repeat the question and its earlier hops."""

import asyncio

import pytest

from pipeline.loop.rival_answer import find_other_answer, find_rival
from pipeline.types import AnswerType
from tests.graph_drafts import chained
from tests.loop.checks.test_audit import FILM, HOLM, TOWN, change_hop
from tests.passages import Shelf, hop, passage

GENE = passage("sialuria", "Sialuria", "Sialuria is rare. It is caused by mutations in the GNE gene.")
MUSCLE = passage("muscle", "Nonaka myopathy", "It weakens muscles. Mutations in the GNE gene cause Nonaka myopathy.")


@pytest.mark.parametrize(
    ("title", "text", "is_rival"),
    [
        ("Sialuria", "It starts early. Mutations in the GNE gene cause sialuria.", False),  # where the chain starts
        ("GNE", "Mutations in the GNE gene cause Sialuria.", False),  # said elsewhere of what the start names
        ("Sialuria", "Mutations in the GNE gene cause a flow of acid.", False),  # its page, in other words
        ("GNE", "Mutations in the GNE gene cause Salla disease.", False),  # the question excludes it
        ("Welander myopathy", "Mutations in the GNE gene cause Welander myopathy.", True),
    ],
)
def test_names_of_the_question_and_of_earlier_hops_are_no_rivals(title: str, text: str, is_rival: bool) -> None:
    hops = (
        hop(GENE, "GNE", "Which gene causes sialuria?"),
        hop(MUSCLE, "Nonaka myopathy", "Which other disorder do mutations in the GNE gene cause?"),
    )
    draft = chained(
        question="Which disorder, other than Salla disease, is caused by the gene behind sialuria?",
        answer="Nonaka myopathy",
        answer_type=AnswerType.ENTITY,
        hops=hops,
    )
    candidate = passage("other", title, text, n=1)
    assert bool(asyncio.run(find_rival(draft, Shelf(GENE, MUSCLE, candidate), 3))) is is_rival
    cited = {p.id for p in (GENE, MUSCLE)}
    assert (find_other_answer(draft, cited, [GENE, MUSCLE, candidate]) is not None) is is_rival


def test_a_passage_that_an_earlier_hop_cites_is_no_rival() -> None:
    home = passage("h", "Vessby people", f"{HOLM.text} Vessby was founded by monks around 1702.")
    draft = change_hop(1, passage_sha256=home.sha256, title=home.title)
    assert not asyncio.run(find_rival(draft, Shelf(FILM, home, TOWN), 3))
    elsewhere = passage("e", "Annals", home.text)
    assert asyncio.run(find_rival(draft, Shelf(FILM, home, TOWN, elsewhere), 4))


def has_rival(
    answer: str, quote: str, sentence: str, kind: AnswerType = AnswerType.ENTITY, subject: str = "Vessby"
) -> bool:
    """Return whether a page with this sentence gives another answer than the quote."""
    start, end = passage("a", "Annals", f"A note. It tells of {subject}."), passage("e", subject, f"A note. {quote}")
    question = "What is asked for here of that, as of 2019?"
    hops = (hop(start, subject, "Of what?"), hop(end, answer, question, quote))
    draft = chained(question=question, answer=answer, answer_type=kind, hops=hops)
    return find_other_answer(draft, {start.id, end.id}, [passage("x", "Gazette", sentence)]) is not None


DAY = "The Host was released on May 6, 2008 by Little Brown."


@pytest.mark.parametrize(
    ("answer", "when", "is_rival"),
    [
        ("May 6, 2008", "in May 2008", False),
        ("May 6, 2008", "in 2008", False),
        ("May 6, 2008", "on 6 May 2008, and in Oslo in 2011,", False),
        ("2008", "on 6 May 2008", False),
        ("May 6, 2008", "on 8 May 2008", True),
        ("May 6, 2008", "in June 2008", True),
        ("May 6, 2008", "in 2009", True),
        ("May 6, 2018", "on 7 May 2019", True),  # the question names the year, and no day
    ],
)
def test_a_less_exact_date_is_no_rival(answer: str, when: str, is_rival: bool) -> None:
    quote, sentence = DAY.replace("May 6, 2008", answer), f"The Host was released {when} by Little Brown."
    assert has_rival(answer, quote, sentence, AnswerType.DATE, "The Host") is is_rival


@pytest.mark.parametrize(
    ("answer", "length", "is_rival"),
    [
        ("12 km", "12 kilometres and seven gates", False),
        ("12 km", "12,000 m", False),
        ("12 km", "seven gates and 12.3 km", False),
        ("12,345 m", "about 12,000 m", False),
        ("2.5 million dollars", "$2,500,000", False),
        ("12 km", "15 kilometres", True),
        ("12 km", "12 miles", True),
        ("12 km", "many stones and took 7 years", False),
        ("48 medals", "about 50 medals", False),
        ("48 medals", "50 medals", True),
        ("12,345 m", "about 13,000 m", True),
    ],
)  # fmt: skip
def test_the_same_number_in_another_unit_or_rounded_is_no_rival(answer: str, length: str, is_rival: bool) -> None:
    quote, sentence = f"The wall of Vessby counts {answer} in all.", f"The wall of Vessby counts {length} in all."
    assert has_rival(answer, quote, sentence, AnswerType.NUMBER) is is_rival


TAUGHT = "Ada Holm studied sculpture at Oslo under Ivo Brandt."


@pytest.mark.parametrize(
    ("sentence", "is_rival"),
    [
        ("Ada Holm later studied sculpture at Oslo under her cousins.", False),
        ("Then Ada Holm studied sculpture at Oslo under her uncle.", False),
        ("Ada Holm studied sculpture at Oslo under a master in 1901.", False),
        ("Ada Holm studied sculpture at Oslo under the sculptor Brandt and Otto Lund.", False),
        ("At Oslo Ada Holm studied sculpture under Otto Lund.", True),
        ("Otto Lund is whom Ada Holm studied sculpture under at Oslo.", True),
        ("Ada Holm studied sculpture at Oslo under Otto Brandt.", True),
    ],
)
def test_a_sentence_that_names_nobody_or_the_same_last_name_is_no_rival(sentence: str, is_rival: bool) -> None:
    assert has_rival("Ivo Brandt", TAUGHT, sentence, subject="Ada Holm") is is_rival


@pytest.mark.parametrize(
    ("answer", "ending", "is_rival"),
    [
        ("bronze", "iron", True),  # the answer is no name
        ("Tarn Bridge", "the Bridge of Arnau", True),  # no person's name follows an article
        ("Hall 7", "Hall 9", True),
    ],
)
def test_names_and_common_nouns_may_be_rivals(answer: str, ending: str, is_rival: bool) -> None:
    quote = f"The painted wall of Vessby ends at {answer}."
    assert has_rival(answer, quote, f"The painted wall of Vessby ends at {ending}.") is is_rival


@pytest.mark.parametrize(
    ("subject", "answer", "quote", "sentence"),
    [
        ("آدا هولم", "أوسلو", "درست آدا هولم النحت والرسم في مدينة أوسلو.",
         "درست آدا هولم النحت والرسم بأوسلو في مدينة كبرى."),
        ("Ada Holm", "Großwesel", "Ada Holm gründete das erste Museum der Stadt Großwesel.",
         "Ada Holm gründete als erste das Museum Großwesels, der alten Stadt."),
    ],
)  # fmt: skip
def test_an_inflected_answer_is_no_rival(subject: str, answer: str, quote: str, sentence: str) -> None:
    assert not has_rival(answer, quote, sentence, subject=subject)
