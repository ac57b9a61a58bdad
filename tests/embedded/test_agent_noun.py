"""Who made a thing is told by one noun, as people tell it: "the director of Grey Hill"."""

import random

import pytest

from pipeline.embedded.agent_noun import agent_noun
from pipeline.embedded.generator_bridge import bridges
from pipeline.embedded.generator_chain import chains
from pipeline.embedded.generator_graph import Graph, join
from pipeline.embedded.generator_wording import question
from tests.embedded.test_facts import read
from tests.embedded.test_wording import graph, thing


@pytest.mark.parametrize(
    ("sentence", "maker", "noun"),
    [
        ("It was directed by Ada Holm.", "actor", "director"),
        ("It was directed and produced by Ada Holm.", "filmmaker", "director"),
        ("It was written and directed by Ada Holm.", "filmmaker", "writer and director"),
        ("It was developed by Ada Holm.", "company", "developer"),
        ("It was developed by Ada Holm.", "actor", ""),
        ("It was directed by Ada Holm.", "company", ""),
        ("It was directed by Ada Holm and Bo Lind.", "actor", ""),
        ("It was inspired by Ada Holm.", "actor", ""),
        ("Its score was composed by Ada Holm.", "composer", ""),
        ("Its screenplay was written by Ada Holm.", "writer", "screenwriter"),
        ("It was written with lyrics by Ada Holm.", "lyricist", "lyricist"),
        ("It was written with music by Ada Holm.", "musician", "composer"),
        ("It was written with lyrics by Ada Holm.", "company", ""),
        ("It stars Ada Holm.", "actor", ""),
    ],
)
def test_the_maker_of_a_film(sentence: str, maker: str, noun: str) -> None:
    film = thing("Grey Hill", "Grey Hill is a film.")
    told = [fact for fact in read("Grey Hill", f"Grey Hill is a film. {sentence}") if fact.kind == "link"]
    assert agent_noun(told[0], film.noun, maker) == noun


def test_who_wrote_a_novel_is_its_author() -> None:
    text = "Grey Hill is a novel by Ada Holm. It was written by Ada Holm in Merrick."
    by, written, *_ = (fact for fact in read("Grey Hill", text) if fact.kind == "link")
    novel = thing("Grey Hill", text)
    assert agent_noun(by, novel.noun, "writer") == agent_noun(written, novel.noun, "writer") == "author"
    film = "Grey Hill is a film by Ada Holm."
    assert agent_noun(read("Grey Hill", film)[0], thing("Grey Hill", film).noun, "writer") == ""
    house = thing("Grey Hill", "Grey Hill is a house.")
    designed = [
        fact for fact in read("Grey Hill", "Grey Hill is a house. It was designed by Ada Holm.") if fact.kind == "link"
    ]
    assert agent_noun(designed[0], house.noun, "architect") == "architect"
    assert agent_noun(designed[0], house.noun, "engineer") == "designer"


LAST = ("Last Days", "Last Days is a 1999 crime film written by Bo Lind.")
LONG = ("Long Road", "Long Road is a 2009 comedy film written by Bo Lind. It was directed by Mira Tollund.")
GREY = (
    "Grey Hill",
    "Grey Hill is a 2004 drama film directed by Mira Tollund. It premiered in Merrick. It was written by Cy Marr.",
)
CITY = ("Merrick", "Merrick is a city in Kell County. It was founded in 1846.")


def bridged(*texts: tuple[str, str]) -> Graph:
    made = graph(*texts)
    join(made, bridges(made))
    return made


def asked(made: Graph, kind: str, *titles: str) -> str:
    found = [chain for chain in chains(made, len(titles), kind) if chain.titles == titles]
    assert found
    return question(made, found[0], random.Random(0))


def test_a_sentence_goes_on_with_the_maker_as_its_subject() -> None:
    told = asked(bridged(LONG, GREY, CITY), "date", "Long Road", "Grey Hill", "Merrick")
    assert told.startswith("The director of ")
    assert "Long Road also directed a 2004 drama film that premiered in a city. " in told


def test_the_maker_stands_in_the_question_where_that_is_short() -> None:
    chosen = [c for c in chains(bridged(LONG, GREY), 2, "entity") if c.titles == ("Long Road", "Grey Hill")]
    told = question(bridged(LONG, GREY), chosen[0], random.Random(0))
    assert told == "Who wrote the 2004 drama film directed by the director of the comedy film Long Road?"


def test_within_a_sentence_it_stays_a_clause() -> None:
    told = asked(bridged(LAST, LONG, GREY, CITY), "date", "Last Days", "Long Road", "Grey Hill", "Merrick")
    assert told.startswith("The writer of ")
    assert "Last Days also wrote a 2009 comedy film that was directed by a director who also directed a 2004 " in told


def test_over_the_maker_of_what_was_told_before_a_question_says_that_first() -> None:
    told = asked(bridged(LAST, LONG, GREY), "entity", "Last Days", "Long Road", "Grey Hill")
    assert "a 2009 comedy film that was directed by a director. " in told
    assert told.endswith(("film directed by that director?", "film directed by this director?"))


def test_what_is_known_of_a_maker_follows_as_the_predicate() -> None:
    tollund = ("Mira Tollund", "Mira Tollund is a film director. She was born in Merrick.")
    film = ("Grey Hill", "Grey Hill is a 2004 drama film directed by Mira Tollund.")
    city = ("Merrick", "Merrick is a city located in Kell County.")
    county = ("Kell County", "Kell County is a county. It was founded in 1846.")
    titles = ("Grey Hill", "Mira Tollund", "Merrick", "Kell County")
    told = asked(graph(film, tollund, city, county), "date", *titles)
    assert told.startswith("The director of ")
    assert "Grey Hill was born in a city located in a county. In " in told


def test_a_later_sentence_begins_with_the_maker_too() -> None:
    last = ("Last Days", "Last Days is a 1999 crime film. It was released by Harbour Pictures.")
    produced = (
        "Long Road",
        "Long Road is a 2009 comedy film. It was produced for Harbour Pictures. " + LONG[1].split(". ")[1],
    )
    told = asked(bridged(last, produced, GREY, CITY), "date", "Last Days", "Long Road", "Grey Hill", "Merrick")
    assert ". The director of that comedy film also directed" in told.replace("this", "that")
