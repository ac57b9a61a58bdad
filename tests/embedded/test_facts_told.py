"""What is told of one thing only, in plain words, and when: facts that sound like others and must not be taken so."""

import pytest

from pipeline.embedded.compose import Thing, ask_entity, inverse, nested, restatement
from pipeline.embedded.facts_noun import definition
from pipeline.embedded.generator_graph import fits
from pipeline.embedded.lexicon import base, preterite
from tests.embedded.test_facts import read


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("Jeff Skinner is an ice hockey player. He previously played for the Carolina Hurricanes.", True),
        ("Jeff Skinner is an ice hockey player. He plays for the Carolina Hurricanes.", False),
        ("Jeff Skinner is an ice hockey player. He was born in Markham, Ontario.", False),
        ("Jeff Skinner is a film director. He has directed Solemn Promise.", True),
        ("Jeff Skinner is a football coach. He was head coach at Alcorn State University.", True),
        ("Jeff Skinner is a song. It was written by Ada Holm.", False),
        ("Jeff Skinner is a singer. He was awarded the Padma Shri.", True),
    ],
)
def test_one_thing_of_a_career_is_one_of_several(text: str, shared: bool) -> None:
    assert [f.shared for f in read("Jeff Skinner", text) if f.kind == "link"] == [shared]


def test_a_verb_is_not_taken_for_what_a_name_is() -> None:
    text = "Raymond James Stadium is a stadium in Tampa. It is set to host WrestleMania."
    assert [f.middle for f in read("Raymond James Stadium", text)] == ["a stadium in"]


@pytest.mark.parametrize(
    ("text", "middle", "hint"),
    [
        ("Harrison is a town. It is a suburb of the nearby city of Newark.", "a suburb of", "city"),
        (
            "Harrison is a hotel in the Lowry Hill neighborhood of Newark.",
            "a hotel in the Lowry Hill neighborhood of",
            "",
        ),
        ("Harrison is a port. It is twinned with the mountain town of Newark.", "with", "town"),
        ("Harrison is a city in and the county seat of Greene County.", "the county seat of", ""),
    ],
)
def test_what_stands_before_a_place(text: str, middle: str, hint: str) -> None:
    found = [f for f in read("Harrison", text) if f.kind == "link"][-1]
    assert (found.middle, found.hint) == (middle, hint)


@pytest.mark.parametrize(
    "sentence",
    [
        "It was listed on the National Register of Historic Places in 1996.",
        "It won again in 1923.",
        "It lies 14 miles south of Leeds.",
        "It won five awards among British critics.",
    ],
)
def test_what_says_too_little_is_not_asked_for(sentence: str) -> None:
    assert not [f for f in read("Park House", f"Park House is a team. {sentence}") if f.kind != "link"]


def test_a_team_plays_in_its_league() -> None:
    text = "The Oshawa Generals are a junior ice hockey team in the Ontario Hockey League."
    noun = definition("Oshawa Generals", text)
    assert noun is not None
    (fact,) = [f for f in read("Oshawa Generals", text) if f.kind == "link"]
    assert ask_entity("that team", fact, "league", "group") == "In which league does that team play?"
    assert (
        nested("the Oshawa Generals", fact, noun, "league", "group") == "the league in which the Oshawa Generals plays"
    )
    assert restatement("that team", fact) == "that team plays in"


@pytest.mark.parametrize(
    ("sentence", "when"),
    [
        ("As of the 2010 census, the population was 95,535.", "at the 2010 census"),
        ("As of 2018, the estimated population was 996,945.", "in 2018"),
        ("In 2012 its population was 431,272, up from 410,000 in 1998.", ""),
        ("In 2010, the population was 47,723, an increase of 3 percent from the 2000 census.", "in 2010"),
        ("The population was 996,945 in the 2018 census estimate.", "in 2018"),
        ("As of the 2018 Census Bureau estimate, the population was 996,945.", "in 2018"),
    ],
)
def test_a_population_is_asked_for_at_its_time(sentence: str, when: str) -> None:
    (number,) = [f for f in read("Hill", f"Hill is a city in Ohio. {sentence}") if f.kind == "number"]
    assert number.after == when


def test_a_verb_is_read_by_its_spelling() -> None:
    asked = "presented listed hosted visited named rated released used found founded".split()
    assert [base(verb) for verb in asked] == "present list host visit name rate release use find found".split()


def test_a_character_is_not_located_in_a_sitcom() -> None:
    text = "Marge Simpson is a fictional character in the American animated sitcom The Simpsons."
    noun = definition("Marge Simpson", text)
    assert noun is not None
    (fact,) = [f for f in read("Marge Simpson", text) if f.kind == "link"]
    assert inverse(fact, noun, "work", also=False) is None
    assert (
        ask_entity("Marge Simpson", fact, "sitcom", "work") == "Marge Simpson is a fictional character in which sitcom?"
    )


def test_half_a_number_is_no_part_of_a_noun() -> None:
    noun = definition("Delano", "Delano is a 1,117-room luxury suite hotel within the Mandalay Bay complex.")
    assert noun is not None
    assert noun.phrase == "luxury suite hotel"


def test_co_written_is_co_wrote() -> None:
    assert [preterite(word) for word in ("co-written", "written", "co-directed")] == [
        "co-wrote",
        "wrote",
        "co-directed",
    ]


def test_a_song_is_not_by_a_snooker_player() -> None:
    text = "I Cry is a pop song written by Shaun Murphy."
    (fact,) = [f for f in read("I Cry", text) if f.kind == "link"]
    player = definition("Shaun Murphy", "Shaun Murphy is an English professional snooker player.")
    writer = definition("Shaun Murphy", "Shaun Murphy is an English songwriter.")
    assert player is not None
    assert writer is not None
    assert not fits(fact, Thing("Shaun Murphy", player), True)
    assert fits(fact, Thing("Shaun Murphy", writer), True)


def test_the_first_of_two_years_is_the_verbs() -> None:
    text = "Legendary is a company. It was founded by Thomas Tull in 2000 and in 2005 concluded an agreement."
    assert [text[f.object.start : f.object.end] for f in read("Legendary", text) if f.kind == "date"] == ["2000"]


def test_a_film_stars_one_of_several_and_nobody_stars_in_a_song() -> None:
    text = "The Big Chill is a 1983 American comedy-drama film starring Tom Berenger."
    assert [f.shared for f in read("The Big Chill", text) if f.kind == "link"] == [True]
    text = "Ever Again is a song by Timbaland. It features Katy Perry."
    noun = definition("Ever Again", text)
    assert noun is not None
    features = next(f for f in read("Ever Again", text) if f.verb.main == "feature")
    assert inverse(features, noun, "person", also=False) is None
