"""The passage before a hop gives it: not by numbers and words that very many passages hold for other things."""

import asyncio

import pytest

from pipeline.agents.cited import gather
from pipeline.loop.checks.base import Case
from pipeline.loop.checks.co_located import FREQUENT, co_located
from pipeline.types import AnswerType
from tests.loop.checks.test_audit import DRAFT, HOPS, SHELF
from tests.loop.test_episode import FILM
from tests.shelf import Shelf, hop, passage


@pytest.mark.parametrize(
    ("before", "answer", "quote", "found"),
    [
        ("Six mills stood there.", "six", "The town has six companies.", False),
        ("Six companies worked there.", "six", "The town has six companies.", True),
        ("Its 12 bells rang.", "12", "The fleet had 12 ships.", False),
        ("It had 1,204 people.", "1,204", "In all 1,204 people came.", True),
        ("It was settled in 1641.", "1641", "It was founded in 1641.", True),
    ],
)
def test_a_small_number_is_given_before_only_with_what_it_counts(
    before: str, answer: str, quote: str, found: bool
) -> None:
    home = passage("h", "Ada Holm", f"Ada Holm was a painter. Ada Holm came from Vessby. {before}")
    town = passage("v", "Vessby", f"Vessby lies on the Tarn. {quote}")
    hops = (HOPS[0], hop(home, "Vessby", "Where did Ada Holm grow up?"), hop(town, answer, "How many, or when?"))
    draft = DRAFT.model_copy(update={"hops": hops, "answer": answer, "answer_type": AnswerType.NUMBER})
    evidence = asyncio.run(gather(draft, Shelf(FILM, home, town)))
    assert (asyncio.run(co_located(Case(draft, evidence, SHELF, 1, 3))) is not None) is found


@pytest.mark.parametrize(
    ("title", "before", "others", "found"),
    [
        ("Ada Holm", "She was an American painter.", FREQUENT, False),
        ("Ada Holm", "She was an American painter.", FREQUENT // 2, True),
        ("Ada Holm", "The American town is Vessby.", FREQUENT, True),
        ("Holm of Vessby", "She was an American painter.", FREQUENT, True),
    ],
)
def test_a_word_that_very_many_passages_hold_is_given_before_only_beside_what_it_is_said_of(
    title: str, before: str, others: int, found: bool
) -> None:
    home = passage("h", title, f"Ada Holm was a painter. Ada Holm came from Vessby. {before}")
    town = passage("v", "Town", "Vessby is an American town.")
    hops = (HOPS[0], hop(home, "Vessby", "Where did Ada Holm grow up?"), hop(town, "American", "Of which country?"))
    draft = DRAFT.model_copy(update={"hops": hops, "answer": "American", "answer_type": AnswerType.ENTITY})
    shelf = Shelf(FILM, home, town, *(passage(f"p{n}", "Page", "An American page.") for n in range(others)))
    evidence = asyncio.run(gather(draft, shelf))
    assert (asyncio.run(co_located(Case(draft, evidence, shelf, 1, 3))) is not None) is found
