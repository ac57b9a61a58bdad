"""Which passages give another answer, and which only say what the question and its earlier hops say too."""

import asyncio

import pytest

from pipeline.loop.rival_answer import find_other_answer, find_rival
from pipeline.types import AnswerType
from tests.graphs import chained
from tests.loop.checks.test_audit import FILM, HOLM, TOWN, with_hop
from tests.shelf import Shelf, hop, passage

GENE = passage("sialuria", "Sialuria", "Sialuria is rare. It is caused by mutations in the GNE gene.")
MUSCLE = passage("muscle", "Nonaka myopathy", "It weakens muscles. Mutations in the GNE gene cause Nonaka myopathy.")


@pytest.mark.parametrize(
    ("title", "text", "rival"),
    [
        ("Sialuria", "It starts early. Mutations in the GNE gene cause sialuria.", False),  # where the chain starts
        ("GNE", "Mutations in the GNE gene cause Sialuria.", False),  # said elsewhere of what the start names
        ("Sialuria", "Mutations in the GNE gene cause a flow of acid.", False),  # its page, in other words
        ("GNE", "Mutations in the GNE gene cause Salla disease.", False),  # the question leaves it out
        ("Welander myopathy", "Mutations in the GNE gene cause Welander myopathy.", True),
    ],
)
def test_what_the_question_and_earlier_hops_name_is_no_other_answer(title: str, text: str, rival: bool) -> None:
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
    other = passage("other", title, text, n=1)
    assert bool(asyncio.run(find_rival(draft, Shelf(GENE, MUSCLE, other), 3))) is rival
    cited = {p.id for p in (GENE, MUSCLE)}
    assert (find_other_answer(draft, cited, [GENE, MUSCLE, other]) is not None) is rival


def test_what_an_earlier_hop_cites_is_no_rival_though_it_says_more() -> None:
    home = passage("h", "Vessby people", f"{HOLM.text} Vessby was founded by monks around 1702.")
    draft = with_hop(1, passage_sha256=home.sha256, title=home.title)
    assert not asyncio.run(find_rival(draft, Shelf(FILM, home, TOWN), 3))
    elsewhere = passage("e", "Annals", home.text)
    assert asyncio.run(find_rival(draft, Shelf(FILM, home, TOWN, elsewhere), 4))


def rival(
    answer: str, quote: str, sentence: str, kind: AnswerType = AnswerType.ENTITY, subject: str = "Vessby"
) -> bool:
    """Does another page, which says this, answer otherwise what the quote answers so?"""
    start, end = passage("a", "Annals", f"A note. It tells of {subject}."), passage("e", subject, f"A note. {quote}")
    asked = "What is asked for here of that, as of 2019?"
    hops = (hop(start, subject, "Of what?"), hop(end, answer, asked, quote))
    draft = chained(question=asked, answer=answer, answer_type=kind, hops=hops)
    return find_other_answer(draft, {start.id, end.id}, [passage("x", "Gazette", sentence)]) is not None


DAY = "The Host was released on May 6, 2008 by Little Brown."


@pytest.mark.parametrize(
    ("answer", "when", "other"),
    [
        ("May 6, 2008", "in May 2008", False),
        ("May 6, 2008", "in 2008", False),
        ("May 6, 2008", "on 6 May 2008, and in Oslo in 2011,", False),
        ("2008", "on 6 May 2008", False),
        ("May 6, 2008", "on 8 May 2008", True),
        ("May 6, 2008", "in June 2008", True),
        ("May 6, 2008", "in 2009", True),
        ("May 6, 2018", "on 7 May 2019", True),  # the question names the year, and no day of it
    ],
)
def test_the_same_date_said_less_exactly_is_no_other_answer(answer: str, when: str, other: bool) -> None:
    quote, sentence = DAY.replace("May 6, 2008", answer), f"The Host was released {when} by Little Brown."
    assert rival(answer, quote, sentence, AnswerType.DATE, "The Host") is other


@pytest.mark.parametrize(
    ("answer", "said", "other"),
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
def test_the_same_number_in_another_unit_or_rounded_is_no_other_answer(answer: str, said: str, other: bool) -> None:
    quote, sentence = f"The wall of Vessby counts {answer} in all.", f"The wall of Vessby counts {said} in all."
    assert rival(answer, quote, sentence, AnswerType.NUMBER) is other


TAUGHT = "Ada Holm studied sculpture at Oslo under Ivo Brandt."


@pytest.mark.parametrize(
    ("sentence", "other"),
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
def test_what_names_nobody_or_the_same_by_the_last_name_is_no_other_answer(sentence: str, other: bool) -> None:
    assert rival("Ivo Brandt", TAUGHT, sentence, subject="Ada Holm") is other


@pytest.mark.parametrize(
    ("answer", "said", "other"),
    [
        ("bronze", "iron", True),  # the answer is no name
        ("Tarn Bridge", "the Bridge of Arnau", True),  # an article stands before no person
        ("Hall 7", "Hall 9", True),
    ],
)
def test_what_else_may_be_another_answer(answer: str, said: str, other: bool) -> None:
    quote = f"The painted wall of Vessby ends at {answer}."
    assert rival(answer, quote, f"The painted wall of Vessby ends at {said}.") is other


@pytest.mark.parametrize(
    ("subject", "answer", "quote", "sentence"),
    [
        ("آدا هولم", "أوسلو", "درست آدا هولم النحت والرسم في مدينة أوسلو.",
         "درست آدا هولم النحت والرسم بأوسلو في مدينة كبرى."),
        ("Ada Holm", "Großwesel", "Ada Holm gründete das erste Museum der Stadt Großwesel.",
         "Ada Holm gründete als erste das Museum Großwesels, der alten Stadt."),
    ],
)  # fmt: skip
def test_the_answer_in_a_form_of_its_language_is_no_other_one(
    subject: str, answer: str, quote: str, sentence: str
) -> None:
    assert not rival(answer, quote, sentence, subject=subject)
