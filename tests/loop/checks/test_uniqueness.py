"""Which passages give another answer, and which only say what the question and its earlier hops say too."""

import asyncio

import pytest

from pipeline.loop.checks.another_answer import other_answer
from pipeline.loop.examine import audit
from pipeline.types import AnswerType, Draft
from tests.loop.checks.test_audit import FILM, HOLM, TOWN, changed
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
    draft = Draft(
        question="Which disorder, other than Salla disease, is caused by the gene behind sialuria?",
        answer="Nonaka myopathy",
        answer_type=AnswerType.ENTITY,
        hops=hops,
    )
    other = passage("other", title, text, n=1)
    found = asyncio.run(audit(draft, 2, Shelf(GENE, MUSCLE, other), 3))
    assert [finding.check for finding in found if finding.check == "another_answer"] == ["another_answer"] * rival
    cited = {p.id for p in (GENE, MUSCLE)}
    assert (other_answer(draft, cited, [GENE, MUSCLE, other]) is not None) is rival


def test_what_an_earlier_hop_cites_is_no_rival_though_it_says_more() -> None:
    home = passage("h", "Vessby people", f"{HOLM.text} Vessby was founded by monks around 1702.")
    draft = changed(1, passage_sha256=home.sha256, title=home.title)
    found = asyncio.run(audit(draft, 3, Shelf(FILM, home, TOWN), 3))
    assert "another_answer" not in {finding.check for finding in found}
    elsewhere = passage("e", "Annals", home.text)
    found = asyncio.run(audit(draft, 3, Shelf(FILM, home, TOWN, elsewhere), 4))
    assert "another_answer" in {finding.check for finding in found}
