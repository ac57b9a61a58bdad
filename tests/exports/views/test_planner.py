import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import planner
from pipeline.types import Hop
from tests.graph_drafts import changed
from tests.records import accepted

ENVIRONMENT = environment(RunConfig())


def make_hop(question, answer, title="T"):
    return Hop(sub_question=question, answer=answer, passage_id="d#0", title=title, quote=answer, passage_sha256="0")


def rows(*hops):
    record = accepted(1)
    last = record.rounds[-1]
    drafted = last.model_copy(update={"draft": changed(last.draft, hops=hops)})
    return list(planner.rows(record.model_copy(update={"rounds": (drafted,)}), ENVIRONMENT))


def test_a_chain_refers_to_earlier_answers():
    (row,) = rows(
        make_hop("Who wrote Emma?", "Jane Austen"),
        make_hop("Where was Jane Austen born?", "Steventon"),
        make_hop("Where is Steventon?", "UK"),
    )
    assert row["gold_plan"] == ["Who wrote Emma?", "Where was #1 born?", "Where is #2?"]
    assert row["depends_on"] == [[], [1], [2]]
    assert row["sub_answers"] == ["Jane Austen", "Steventon", "UK"]


def test_a_comparison_has_two_roots():
    (row,) = rows(
        make_hop("How long is A?", "12 km"),
        make_hop("How long is B?", "9 km"),
        make_hop("Which is more, 12 km or 9 km?", "A"),
    )
    assert row["gold_plan"][-1] == "Which is more, #1 or #2?"
    assert row["depends_on"] == [[], [], [1, 2]]


def test_the_title_of_the_evidence_shows_a_dependence_too():
    (row,) = planner.rows(accepted(1), ENVIRONMENT)
    assert row["depends_on"] == [[], [1], [2]]


def test_longer_answers_are_replaced_first_and_only_as_entire_words():
    (row,) = rows(
        make_hop("a", "York"), make_hop("b York", "New York"), make_hop("Is New York in Yorkshire, York?", "no")
    )
    assert row["gold_plan"][-1] == "Is #2 in Yorkshire, #1?"


@pytest.mark.parametrize(
    "hops",
    [
        (make_hop("one", "a"),),
        (make_hop("one", "a"), make_hop("two", "b")),
        (make_hop("1", "x"), make_hop("2", "y"), make_hop("of y", "z")),
    ],
)
def test_a_question_without_dependence_has_no_plan(hops):
    assert rows(*hops) == []
