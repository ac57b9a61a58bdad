"""One table words a question and reads it again."""

import pytest

from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf, read_question
from pipeline.demo.relations import TABLE, Relation

ROWS = {relation.name: relation for relation in TABLE}
ASKED = [relation for relation in TABLE if relation.ask]
BAY = Named("Lantern Bay", "film")
PHRASES: list[Phrase] = [
    Named("Ada Holm"),
    BAY,
    Named("Made in Vessby by Night", "1931 film"),
    RelationOf(ROWS["director"], BAY),
    Described("1931 film", ROWS["director"], RelationOf(ROWS["writer"], BAY)),
    RelationOf(
        ROWS["birthplace"], RelationOf(ROWS["director"], Described("1931 film", ROWS["writer"], Named("Max Orr")))
    ),
    Described("mill founded in 1641", ROWS["county"], RelationOf(ROWS["county"], Named("Vessby"))),
]


@pytest.mark.parametrize("relation", ASKED, ids=lambda relation: relation.name)
def test_every_question_of_the_table_is_read_as_it_is_meant(relation: Relation) -> None:
    for phrase in PHRASES:
        meant = RelationOf(relation, phrase, "2019" if "@" in relation.ask else "")
        assert read_question(meant.question()) == meant


@pytest.mark.parametrize("relation", [row for row in TABLE if row.noun], ids=lambda relation: relation.name)
def test_every_thing_may_stand_for_another(relation: Relation) -> None:
    for phrase in PHRASES[:4]:
        meant = RelationOf(ROWS["founder"], RelationOf(relation, phrase))
        assert read_question(meant.question()) == meant


def test_of_other_questions_it_understands_nothing() -> None:
    assert read_question("Why is the sea salt?") is None
    assert read_question("") is None
