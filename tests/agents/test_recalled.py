"""A rollout that searches for something it was never shown does not measure the question's difficulty."""

import pytest

from pipeline.agents.unshown_words import unshown_words
from tests.loop.rollouts import DRAFT, FILM, HOLM, TOWN, grade_rollouts, make_rollout

FOUND = ([FILM], [HOLM], [TOWN])


@pytest.mark.parametrize(
    ("results", "queries", "recalled"),
    [
        (FOUND, ["Lantern Bay director", "Ada Holm born", "Vessby founded"], False),
        (FOUND, ["Lantern Bay director", "Ada Holm born", "Vessby founded 1641"], True),
        (([FILM], [TOWN]), ["Lantern Bay director", "Vessby founded"], True),
        (([FILM], [TOWN]), ["Lantern Bay director", "Tarnholm market town founded by monks"], True),
        (([FILM], [TOWN]), ["Lantern Bay director", "Town founded as the birthplace of a director"], False),
        (([FILM], [TOWN]), ["Lantern Bay director", "town founded in 1812"], True),
        # Further words of a query about the question's own subject prove nothing.
        (FOUND, ["Lantern Bay (Cannes 1931)", "Ada Holm born", "Vessby founded"], False),
    ],
)
def test_a_query_for_something_unseen_is_recalled(results: tuple, queries: list[str], *, recalled: bool) -> None:
    ((_, verdict),) = grade_rollouts(DRAFT, make_rollout(*results, queries=queries))
    assert (verdict.recalled, verdict.correct, verdict.counts) == (recalled, True, not recalled)


@pytest.mark.parametrize(
    ("query", "unshown"),
    [
        ("Swedish painters", []),
        ("Sweden Stockholm", ["Stockholm"]),
        ("Population of Sweden", []),
        ("1,204 people", []),
        ("1,205 people", ["1,205"]),
        ("sweden stockholm", []),
        ("NKA treaty", []),
        ("NKO treaty", ["NKO"]),
        ("Tarn Economic Union members", []),
        ("Tarn Economic Pact members", ["Tarn"]),
    ],
)
def test_an_unknown_name_is_unshown_and_a_plain_word_is_not(query: str, unshown: list[str]) -> None:
    shown = ["Sweden had 1204 people.", "Northern Kingdom of Ammarn", "The TEU grew."]
    assert unshown_words(query, shown, ["its population fell"]) == unshown
