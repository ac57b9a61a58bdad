"""Verbs that the tagger does not know for verbs, and names after names: what a sentence says of its subject."""

import pytest

from pipeline.embedded.facts import facts
from pipeline.embedded.facts_noun import definition

SALE = ("Ada Sale", "Ada Sale (born 3 May 1962) is an English director.")
ROVERS = ("Orvane Rovers", "Orvane Rovers is an English football club.")
LAKE = ("Orvane Lake", "Orvane Lake is a lake.")
FILM = ("Orvane Nights", "Orvane Nights is a 1994 drama film.")


def links(about: tuple[str, str], sentence: str) -> dict[tuple[str, str], tuple[str, bool]]:
    """Verb and middle → the object, and whether it is one of several."""
    title, opening = about
    text = f"{opening} {sentence}"
    noun = definition(title, text)
    assert noun is not None
    return {
        (fact.verb.text, fact.middle): (text[fact.object.start : fact.object.end], fact.shared)
        for fact in facts(title, text, noun)
        if fact.kind == "link"
    }


@pytest.mark.parametrize(
    ("about", "sentence", "said", "whom"),
    [
        (SALE, "She founded the Kell Company.", ("founded", ""), "Kell Company"),
        (SALE, "She graduated from Orvane College.", ("graduated", "from"), "Orvane College"),
        (SALE, "Sale married the actor Bob Day.", ("married", ""), "Bob Day"),
        (SALE, "In 2013, she directed the crime film Kell.", ("directed", ""), "Kell"),
        (SALE, "A member of the Kell Party, she chaired the Orvane Commission.", ("chaired", ""), "Orvane Commission"),
        (ROVERS, "They compete in the Kell League.", ("compete", "in"), "Kell League"),
        (ROVERS, "The club merged with the Kell Stars.", ("merged", "with"), "Kell Stars"),
        (LAKE, "It borders Kell County.", ("borders", ""), "Kell County"),
        (LAKE, "It parallels the Kell Road.", ("parallels", ""), "Kell Road"),
        (LAKE, "The lake borders the Kell Forest.", ("borders", ""), "Kell Forest"),
        (FILM, "Orvane Nights stars Will Day.", ("stars", ""), "Will Day"),
    ],
)
def test_the_verb_of_a_subject_is_one_whatever_the_tagger_takes_it_for(
    about: tuple[str, str], sentence: str, said: tuple[str, str], whom: str
) -> None:
    assert links(about, sentence)[said][0] == whom


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (ROVERS, "The club coached by Bob Day won."),
        (ROVERS, "The club called the Kell Stars won."),
        (FILM, "The film based on Kell Street won."),
    ],
)
def test_a_participle_after_a_noun_is_none(about: tuple[str, str], sentence: str) -> None:
    assert links(about, sentence) == {}


@pytest.mark.parametrize(
    ("about", "sentence", "said", "where"),
    [
        (SALE, "Sale was born in Kell, Lancashire, England.", ("was born", "in"), "Kell"),
        (LAKE, "It is located in Kell, Huston Township, Orvane County.", ("is located", "in"), "Kell"),
        (LAKE, "It is located in Kell, Ohio.", ("is located", "in"), "Kell"),
    ],
)
def test_a_place_with_what_it_lies_in_is_one_place(
    about: tuple[str, str], sentence: str, said: tuple[str, str], where: str
) -> None:
    assert links(about, sentence)[said] == (where, False)


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (FILM, "The film was shown in Kell, Orvane, Dune."),
        (FILM, "The film was shot in Kell, Orvane Park, Bern, Dune, England."),
        (FILM, "It was produced by Kell Films, Dune Pictures, Orvane County."),
        (LAKE, "It borders Kell County."),
        (ROVERS, "The club hosts the Kell Cup."),
    ],
)
def test_one_of_several_is_marked_as_such(about: tuple[str, str], sentence: str) -> None:
    found = links(about, sentence)
    assert found
    assert all(shared for _, shared in found.values())


def test_of_two_ties_the_one_that_tells_more_is_kept() -> None:
    for text in (
        "Kell is a city and the county seat of Orvane County.",
        "Kell is the largest city in and the county seat of Orvane County.",
    ):
        noun = definition("Kell", text)
        assert noun is not None
        assert [fact.middle for fact in facts("Kell", text, noun)] == ["the county seat of"]


def test_a_bridge_over_and_a_station_along_say_where_they_are() -> None:
    for text, said in (
        ("Kell Bridge is a bridge over the River Orvane.", "a bridge over"),
        ("Kell Station is a station along the Orvane Line.", "a station along"),
    ):
        noun = definition(text.split(" is")[0], text)
        assert noun is not None
        assert [fact.middle for fact in facts(text.split(" is")[0], text, noun)] == [said]


def test_what_a_place_has_is_not_what_it_is() -> None:
    for part, hint in (("town", "town"), ("center", "")):
        text = f"Orvane Lake is a lake. It is located in the {part} of Kell."
        noun = definition("Orvane Lake", text)
        assert noun is not None
        assert [fact.hint for fact in facts("Orvane Lake", text, noun)] == [hint]


def test_it_is_what_the_sentence_before_introduced() -> None:
    road = "Kell Road is a road."
    for before, known in (
        ("The Kell Road Post Office is located there.", False),
        ("Kell Road Post Office, one of the oldest, is located there.", False),
        ("It is long.", True),
        ("The road is long.", True),
        ("In 1990, trees were planted.", True),
    ):
        text = f"{road} {before} It was established by Ada Holm."
        noun = definition("Kell Road", text)
        assert noun is not None
        assert bool([fact for fact in facts("Kell Road", text, noun) if fact.kind == "link"]) == known


def test_what_is_across_is_so_from_a_third() -> None:
    assert links(LAKE, "It is directly across the Kell River from Orvane.") == {}


def test_an_article_alone_is_nobody() -> None:
    assert ("formed", "") not in links(SALE, "She formed the double act The Right Size.")
