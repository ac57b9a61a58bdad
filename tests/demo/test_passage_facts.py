"""The demo model reads facts about a passage's subject, and ignores others."""

import pytest

from pipeline.agents.tools import render
from pipeline.demo.passage_facts import build_passage, description, facts, parse_observation
from pipeline.types import Passage


def read_facts(title: str, text: str) -> dict[str, str]:
    return {fact.relation.name: fact.value for fact in facts(build_passage("p1", title, text)) if fact.sole}


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        (
            "The Mill",
            "The Mill is a 1950 Velian comedy film directed by Velian director Ivo Sand and written by Max Orr.",
            {"director": "Ivo Sand", "writer": "Max Orr", "released": "1950"},
        ),
        (
            "Ada Holm",
            "Ada Holm (3 May 1890 – 9 June 1961) was a Velian director. She was born in Vessby, Ohio, and lived there.",
            {"born": "1890", "died": "1961", "birthplace": "Vessby, Ohio"},
        ),
        (
            "Ada Holm",
            "Ada Maria Holm (born 3 March 1889 - 2 June 1950) was a bridge engineer.",
            {"born": "1889", "died": "1950"},
        ),
        (
            "Ada Holm",
            "Ada Holm was a bridge engineer who was born in Vessby on 3 March 1889.",
            {"born": "1889", "birthplace": "Vessby"},
        ),
        (
            "Vessby",
            "Vessby is a town in Tarn County, Velia. It was founded by Olaf Brandt and had 8,310 inhabitants in 2019.",
            {"county": "Tarn County, Velia", "founder": "Olaf Brandt", "population": "8,310"},
        ),
    ],
)
def test_what_is_said_of_the_subject_is_read(title: str, text: str, expected: dict[str, str]) -> None:
    assert read_facts(title, text) == expected


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The Mill", "The Mill is a Velian film. Its rival, which was directed by Ivo Sand, was seen by more people."),
        ("The Mill", "The Mill is a Velian film directed by Ivo Sand and Max Orr."),
        ("Vessby", "Vessby is a town. Ada Holm was born in Tarnby."),
        ("Vessby", "Vessby is a town. Its population is 4,000."),
        ("The Mill", "The Mill is a Velian sitcom. It premiered on November 14, 1988, in the United States."),
    ],
    ids=["of another thing", "of two", "of another subject", "without its year", "a date in place of a network"],
)
def test_what_is_said_of_others_or_of_several_is_not(title: str, text: str) -> None:
    assert read_facts(title, text) == {}


def test_a_description_tells_a_thing_apart_or_is_none() -> None:
    assert description(build_passage("p", "The Mill", "The Mill is a 1950 Velian comedy film.")) == "1950 film"
    holm = build_passage("p", "Ada Holm", "Ada Holm (born 3 May 1890) is a Velian film director.")
    assert description(holm) == "film director born in 1890"
    assert description(build_passage("p", "The Mill", "The Mill is a Velian comedy film.")) == ""
    assert description(build_passage("p", "Tide", "Tide is a song by Ada Holm.")) == ""


def test_numbered_sentences_are_cited_by_their_numbers() -> None:
    text = "Vessby is a town in Velia. It had a mill. Vessby was founded by Olaf Brandt in 1641."
    passage = Passage(id="d#0", document_id="d", title="Vessby", text=text, start=0, end=len(text))
    [numbered] = parse_observation(render([passage], numbered=True))
    [plain] = parse_observation(render([passage]))
    assert numbered == plain
    assert {fact.relation.name: fact.sentence for fact in facts(numbered)} == {"founder": 3}


def test_a_month_is_no_part_of_a_place() -> None:
    assert read_facts("Ada Holm", "Ada Holm is a Velian actor. She was born in Vessby, April 1941.") == {"born": "1941"}
