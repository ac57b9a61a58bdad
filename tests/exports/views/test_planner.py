import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import planner
from pipeline.types import Hop
from tests.graphs import changed
from tests.records import accepted

ENVIRONMENT = environment(RunConfig())


def hop(question, answer, title="T"):
    return Hop(sub_question=question, answer=answer, passage_id="d#0", title=title, quote=answer, passage_sha256="0")


def rows(*hops):
    record = accepted(1)
    last = record.rounds[-1]
    drafted = last.model_copy(update={"draft": changed(last.draft, hops=hops)})
    return list(planner.rows(record.model_copy(update={"rounds": (drafted,)}), ENVIRONMENT))


def test_a_chain_refers_to_what_came_before():
    (row,) = rows(
        hop("Who wrote Emma?", "Jane Austen"),
        hop("Where was Jane Austen born?", "Steventon"),
        hop("Where is Steventon?", "UK"),
    )
    assert row["gold_plan"] == ["Who wrote Emma?", "Where was #1 born?", "Where is #2?"]
    assert row["depends_on"] == [[], [1], [2]]
    assert row["sub_answers"] == ["Jane Austen", "Steventon", "UK"]


def test_a_comparison_has_two_roots():
    (row,) = rows(
        hop("How long is A?", "12 km"), hop("How long is B?", "9 km"), hop("Which is more, 12 km or 9 km?", "A")
    )
    assert row["gold_plan"][-1] == "Which is more, #1 or #2?"
    assert row["depends_on"] == [[], [], [1, 2]]


def test_the_title_of_the_evidence_tells_a_dependence_too():
    (row,) = planner.rows(accepted(1), ENVIRONMENT)
    assert row["depends_on"] == [[], [1], [2]]


def test_longer_answers_are_found_first_and_only_whole():
    (row,) = rows(hop("a", "York"), hop("b York", "New York"), hop("Is New York in Yorkshire, York?", "no"))
    assert row["gold_plan"][-1] == "Is #2 in Yorkshire, #1?"


@pytest.mark.parametrize(
    "hops", [(hop("one", "a"),), (hop("one", "a"), hop("two", "b")), (hop("1", "x"), hop("2", "y"), hop("of y", "z"))]
)
def test_what_hangs_on_nothing_is_no_plan(hops):
    assert rows(*hops) == []
