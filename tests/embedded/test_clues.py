"""What tells a thing from others of its kind, and what only seems to lead to it."""

from random import Random

import pytest

from pipeline.embedded import lexicon
from pipeline.embedded.compose import owned
from pipeline.embedded.facts_name import title_at
from pipeline.embedded.generator_bridge import bridges, clue
from pipeline.embedded.generator_chain import chains, finals
from pipeline.embedded.generator_graph import join
from pipeline.embedded.generator_wording import question
from tests.embedded.test_agent_noun import asked, bridged
from tests.embedded.test_wording import graph


@pytest.mark.parametrize("born", ["born April 15, 1974", "born April 1974", "born 1974"])
def test_a_person_is_told_from_others_by_the_year_of_birth(born: str) -> None:
    """Who was born on that very day is found by one search, whatever leads there."""
    made = graph(("Ann Lee", f"Ann Lee ({born}) is an American golfer. She played for Hill University."))
    assert clue(made, "Ann Lee") == "a golfer born in 1974"


@pytest.mark.parametrize(
    ("after", "whole"),
    [("'s novel", False), (" and Bo Lind's novel", False), (" and Bo Lind", True), (" and was Bo's", True), ("", True)],
)
def test_who_owns_a_thing_with_another_is_not_that_thing(after: str, whole: bool) -> None:
    assert bool(title_at(f"Ada Holm{after}.", 0, "Ada Holm")) is whole


def test_who_is_nominated_for_a_series_is_not_what_the_question_says() -> None:
    series = ("Twin Hills", "Twin Hills is a television series.")
    award = ("Tarn Award", "Tarn Award is an award.")
    for name, target, leads in (("Twin Hills", series, False), ("Tarn Award", award, True)):
        made = graph(("Ada Holm", f"Ada Holm is an actor. She was nominated for the {name}."), target)
        assert bool(made.edges) is leads


def test_no_county_is_of_a_county() -> None:
    county = ("Tarn", "Tarn is a county in the north. It was founded in 1846.")
    for said, leads in (("in the English county of Tarn", False), ("in the north of Tarn", True)):
        made = graph(("Spratton", f"Spratton is a village. It is situated {said}."), county)
        assert bool(made.edges) is leads, said


@pytest.mark.parametrize(("after", "asked"), [("", ["1960"]), (" since Tarn Park opened", [])])
def test_a_date_of_something_else_is_not_asked_for(after: str, asked: list[str]) -> None:
    made = graph(("Kell Stadium", f"Kell Stadium is a stadium. It was constructed{after} in 1960."))
    assert [final.answer for final in finals(made, "Kell Stadium", "date")] == asked


def test_what_films_include_is_no_question() -> None:
    made = graph(
        ("Ada Holm", "Ada Holm is a filmmaker. She was born in Orvane. Her films include Long Road."),
        ("Long Road", "Long Road is a film."),
        ("Orvane", "Orvane is a town."),
    )
    assert {edge.target for edge in made.edges} == {"Long Road", "Orvane"}
    assert [final.answer for final in finals(made, "Ada Holm", "entity")] == ["Orvane"]


def test_what_tells_a_thing_and_what_leads_to_it_share_their_verb() -> None:
    film = ("Grey Hill", "Grey Hill is a film that stars Ada Holm.")
    band = ("The Waves", "The Waves is a rock band founded by Ada Holm. It was founded in 2007. It released 8 albums.")
    told = asked(bridged(film, band), "number", "Grey Hill", "The Waves")
    assert told.replace("this", "that").endswith("albums did the rock band founded in 2007 by that actor release?")


def test_a_band_called_so_is_one() -> None:
    """ "The band The Waves were founded" agrees with neither."""
    made = graph(
        ("The Waves", "The Waves are a rock band. The band was founded by Ada Holm."),
        ("Ada Holm", "Ada Holm is an actor. She moved to Ostrava in 1982. She was married in 1990."),
    )
    chain = next(c for c in chains(made, 2, "date") if c.start == "The Waves")
    told = {question(made, chain, Random(n)) for n in range(20)}
    assert told
    assert not [said for said in told if "band The Waves were" in said]


def test_verbs_of_doing_together_have_their_base() -> None:
    assert [lexicon.base(verb) for verb in ("co-created", "co-wrote", "created")] == ["co-create", "co-write", "create"]


def test_an_actress_owns_as_others_do() -> None:
    assert owned("this actress", "role") == "this actress's role"
    assert owned("the Beatles", "role") == "the Beatles' role"


def test_several_of_a_plural_name_are_coached() -> None:
    team = ("Merrick Eels", "The Merrick Eels are a football club. The club is coached by Ada Holm.")
    coach = ("Ada Holm", "Ada Holm is a footballer. She retired in 1990. She moved to Orvane in 1994.")
    told = question(graph(team, coach), chains(graph(team, coach), 2, "date")[0], Random(0))
    assert "Merrick Eels are coached" in told


def test_several_of_a_plural_name_play_where_they_play() -> None:
    team = ("Merrick Eels", "The Merrick Eels are a football club. They play as tenants at Tarn Stadium.")
    ground = ("Tarn Stadium", "Tarn Stadium is a stadium. It was opened in 1990. It was moved in 1994.")
    told = question(graph(team, ground), chains(graph(team, ground), 2, "date")[0], Random(0))
    assert "Merrick Eels play as tenants" in told


@pytest.mark.parametrize(
    ("did", "told"),
    [
        ("graduated from Kell University", False),
        ("was born in Orvane City", False),
        ("was taught by the painter Cy Marr", True),
    ],
)
def test_nobody_is_told_by_what_many_people_did(did: str, told: bool) -> None:
    """Politicians born in 1917 graduated from that university, and how many of them?"""
    made = graph(
        ("Ada Holm", f"Ada Holm is an attorney. She {did}."),
        ("Bo Lind", f"Bo Lind (born 1917) was a politician. He {did}."),
    )
    join(made, bridges(made))
    assert any(edge.target == "Bo Lind" for edge in made.edges) is told
