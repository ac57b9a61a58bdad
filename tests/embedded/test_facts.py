"""Facts that are read from sentences of real Wikipedia openings, and those that must not be."""

import pytest

from pipeline.embedded.compose import (
    Thing,
    ask_date,
    ask_entity,
    ask_number,
    described,
    inverse,
    nested,
    statement,
)
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts import facts
from pipeline.embedded.facts_name import names, names_in, title_at
from pipeline.embedded.facts_noun import definition
from pipeline.embedded.generator_graph import fits

LOST = (
    "Lost and Delirious",
    (
        "Lost and Delirious is a 2001 drama film directed by Léa Pool and loosely based on the novel The Wives of "
        "Bath. The film premiered at the 2001 Sundance Film Festival."
    ),
)
TOYOTA = (
    "National Soccer Hall of Fame",
    "The National Soccer Hall of Fame is a private, non-profit institution established in 1979.",
)
DAMERON = (
    "Tadd Dameron",
    "Tadley Ewing Peake Dameron (February 21, 1917 - March 8, 1965) was an American jazz composer and pianist.",
)


def read(title: str, text: str) -> list[Fact]:
    noun = definition(title, text)
    assert noun is not None
    return list(facts(title, text, noun))


def told(title: str, text: str) -> dict[tuple[str, str, str], str]:
    """What is said, with the object as far as the facts know it."""
    return {(f.kind, f.verb.text, f.middle): text[f.object.start : f.object.end] for f in read(title, text)}


@pytest.mark.parametrize(
    ("title", "text", "phrase", "full"),
    [
        (*LOST, "drama film", "2001 drama film"),
        (*DAMERON, "jazz composer", "American jazz composer"),
        (
            "Curtis Granderson",
            "Curtis Granderson Jr. (born March 16, 1981) is an American former professional baseball outfielder.",
            "baseball outfielder",
            "American former professional baseball outfielder",
        ),
        (
            "Rhode Island School of Design",
            "Rhode Island School of Design (RISD) is a private art and design school in Providence.",
            "design school",
            "private art and design school",
        ),
        (
            "Al-Ahli (Wad Medani)",
            "Al-Ahli Sports Club also known as Al-Ahli Wad Medani is a football club in Wad Medani, Sudan.",
            "football club",
            "football club",
        ),
        ("Orvane", "Orvane is the county seat of Kell County.", "county seat", "county seat"),
        ("Orvane", "Orvane is the capital of Kell County.", "capital city", "capital city"),
        (
            "Ada Orvane",
            "Ada Orvane is an American mixed martial artist.",
            "martial artist",
            "American mixed martial artist",
        ),
        ("Orvane", "Orvane is a local government area in Kell.", "local government area", "local government area"),
        ("Orvane", "Orvane is a 1978 Indian Hindi language film.", "film", "1978 Indian Hindi language film"),
        ("Orvane", "Orvane is a video game-styled sports game.", "game", "video game-styled sports game"),
        ("Orvane", "Orvane is a major international airport in Kell.", "airport", "major international airport"),
        ("Orvane", "Orvane is a metropolitan area in Kell.", "metropolitan area", "metropolitan area"),
        ("Orvane", "Orvane is a metropolitan borough in Kell.", "borough", "metropolitan borough"),
        ("Orvane Mall", "Orvane Mall is a shopping center in Kell County.", "shopping center", "shopping center"),
    ],
)
def test_the_noun_of_the_opening(title: str, text: str, phrase: str, full: str) -> None:
    noun = definition(title, text)
    assert noun is not None
    assert (noun.phrase, noun.full) == (phrase, full)


@pytest.mark.parametrize(
    "text",
    [
        "Orvane is the county seat and commercial center of Kell County.",
        "Orvane is a large area in Kell County.",
        "Orvane is the Kell Board's selection of films.",
        "Orvane is a statutory body of Kell County.",
        "Ada Orvane is an American jazz and rhythm & blues trumpeter.",
        "Orvane is a top-level American soccer and futsal body.",
    ],
)
def test_a_noun_that_tells_next_to_nothing_is_none(text: str) -> None:
    assert definition("Orvane", text) is None


def test_what_happened_again_has_no_one_date() -> None:
    facts = read("Orvane", "Orvane is a company. It was revived yet again in 2018. It was sold to Kell in 2019.")
    assert [fact.relation for fact in facts if fact.kind == "date"] == ["sell date"]


def test_mostly_here_and_partly_there_is_no_link() -> None:
    text = "It is mainly in the London Borough of Haringey with a small part in the London Borough of Barnet."
    links = [fact.middle for fact in read("Orvane", f"Orvane is a district. {text}") if fact.kind == "link"]
    assert links == ["in"]


@pytest.mark.parametrize(
    "text",
    [
        "The Speaker presides over the State Assembly in the chief leadership position.",
        "Mercury may refer to:",
        "There are 29 counties in the U.S. state of Utah.",
        "",
    ],
)
def test_no_noun_where_the_passage_opens_otherwise(text: str) -> None:
    assert definition("Something Else", text) is None


def test_links_keep_voice_and_preposition() -> None:
    said = told(*LOST)
    assert said["link", "was directed", "by"] == "Léa Pool"
    assert said["link", "was loosely based", "on"] == "The Wives of Bath"
    assert ("link", "premiered", "at") in said


def test_what_belongs_to_another_name_is_not_the_subjects() -> None:
    text = "Asher Angel is an American actor. He began his career in the 2008 film Jolene, starring Jessica Chastain."
    assert not [f for f in read("Asher Angel", text) if f.verb.main == "star"]
    text = "Xenia is a city. Its mayor, John Doe, was born in Springfield. Jane Roe was educated at Oxford."
    assert not [f for f in read("Xenia", text) if f.verb.main in ("bear", "educate")]


@pytest.mark.parametrize(
    "sentence",
    [
        "She was never signed by Sony Music.",
        "He would later join Chelsea Rovers.",
        "He is playing for Real Betis.",
        "He is alumni of Carleton Polytechnic.",
    ],
)
def test_denials_modals_and_the_unfinished_are_no_facts(sentence: str) -> None:
    person = "Ann Smith is an English singer. " if "She" in sentence else "Tom Smith is an English footballer. "
    assert not [f for f in read(person[:9].strip(), person + sentence) if f.kind == "link"]


def test_life_dates_and_others() -> None:
    assert told(*DAMERON)["date", "was born", ""] == "February 21, 1917"
    assert told(*DAMERON)["date", "died", ""] == "March 8, 1965"
    assert told(*TOYOTA)["date", "was established", ""] == "1979"


def test_lists_are_shared_and_regions_are_not() -> None:
    text = "Yuvvraaj is a 2008 Indian drama film directed by Subhash Ghai. "
    text += "The film stars Salman Khan, Boman Irani and Anil Kapoor."
    shared = {text[f.object.start : f.object.end]: f.shared for f in read("Yuvvraaj", text) if f.kind == "link"}
    assert shared == {"Subhash Ghai": False, "Salman Khan": True, "Boman Irani": True, "Anil Kapoor": True}
    text = "Löfbergs Arena is an indoor arena located in Karlstad, Sweden."
    assert [f.shared for f in read("Löfbergs Arena", text) if f.kind == "link"] == [False]


@pytest.mark.parametrize(
    ("title", "text", "question", "answer"),
    [
        (
            "Norwalk, Connecticut",
            "Norwalk is a city in Connecticut. At the 2010 census, the population was 85,603.",
            "At the 2010 census, what was the population of that city?",
            "85,603",
        ),
        (
            "Mark Edmondson",
            "Mark Edmondson is an Australian tennis player. He won 34 titles in his career.",
            "How many titles did that tennis player win in his career?",
            "34",
        ),
        (
            "Bartók (crater)",
            "Bartók is a crater on Mercury. It has a diameter of 112 kilometers.",
            "What is the diameter of that crater?",
            "112 kilometers",
        ),
    ],
)
def test_numbers_with_what_they_count(title: str, text: str, question: str, answer: str) -> None:
    noun = definition(title, text)
    assert noun is not None
    (fact,) = [f for f in read(title, text) if f.kind == "number"]
    assert ask_number(f"that {noun.phrase}", fact) == question
    assert text[fact.object.start : fact.object.end] == answer


def test_years_ranks_and_small_counts_are_not_asked_for() -> None:
    text = "Big Song is a pop song. It spent 2 weeks on the chart, reached number one in 1999 and won 3 awards."
    assert not [f for f in read("Big Song", text) if f.kind == "number"]


def fact(title: str, text: str, main: str) -> Fact:
    return next(f for f in read(title, text) if f.verb.main == main and f.kind != "number")


def test_wording_is_english() -> None:
    noun = definition(*LOST)
    assert noun is not None
    film, directed = Thing(LOST[0], noun), fact(*LOST, "direct")
    assert statement("Lost and Delirious", directed) == "Lost and Delirious was directed by"
    assert described(film, directed) == "a drama film directed by"
    assert ask_entity("that film", directed, "filmmaker", "person") == "Which filmmaker directed that film?"
    assert (
        nested("Lost and Delirious", directed, noun, "filmmaker", "person")
        == "the filmmaker who directed Lost and Delirious"
    )
    premiered = fact(*LOST, "premiere")
    assert ask_entity("that film", premiered, "festival", "event") == "At which festival did that film premiere?"
    turn = inverse(premiered, noun, "event", also=False)
    assert turn is not None
    assert (turn.before, turn.after) == ("at which", "premiered")
    died = fact(*DAMERON, "die")
    assert ask_date("that composer", died, 0) == "On what date did that composer die?"


def test_names_and_where_they_end() -> None:
    text = "He lives in Frisco, Texas, and works at the University of Illinois at Chicago for St. Mary's College."
    assert names(text, text.index("Frisco"))[:2] == ["Frisco, Texas", "Frisco"]
    assert "University of Illinois" in names_in(text)
    assert title_at(text, text.index("Frisco"), "Frisco (city)")
    assert not title_at("the Toledo Rockets won", 4, "Toledo")
    assert not title_at("in Detroit's suburbs", 3, "Detroit")


def test_a_mention_is_not_always_the_article_of_its_name() -> None:
    text = "Ann Smith is an English actress. She was born in San Francisco."
    born = fact("Ann Smith", text, "bear")
    song = definition("San Francisco", "San Francisco is a pop song by Scott McKenzie.")
    city = definition("San Francisco", "San Francisco is a city in Northern California.")
    assert song is not None
    assert city is not None
    assert not fits(born, Thing("San Francisco", song), True)
    assert fits(born, Thing("San Francisco", city), True)


@pytest.mark.parametrize(
    "sentence",
    [
        "He played 12 games for the St. Louis Blues.",
        "It has an enrollment of 3,249 students on its main 135 acre campus.",
    ],
)
def test_a_count_is_not_cut_off_in_the_middle(sentence: str) -> None:
    text = f"Hill is a {'hockey player' if sentence[0] == 'H' else 'university'}. {sentence}"
    assert not [f for f in read("Hill", text) if f.kind == "number" and f.after.endswith(("St", "135"))]


def test_what_the_next_verb_names_is_not_in_the_list() -> None:
    text = "Three on a Match is a 1932 film. The film was directed by Mervyn LeRoy and stars Joan Blondell, "
    text += "Ann Dvorak and Bette Davis."
    links = [f for f in read("Three on a Match", text) if f.kind == "link"]
    said = [(f.verb.text, text[f.object.start : f.object.end]) for f in links]
    assert ("was directed", "Mervyn LeRoy") in said
    assert [name for verb, name in said if verb == "stars"] == ["Joan Blondell", "Ann Dvorak", "Bette Davis"]
    assert len(said) == 4
