"""Distractors on the page: counted by kind, with the example that tells most."""

from pipeline.config import RunConfig
from pipeline.types import Kind, Node, Outcome, Tree
from pipeline.view.html import page
from pipeline.view.opposed import DistractorTally
from tests.records import batch
from tests.teacher_rollouts import taught


def test_what_was_written_met_and_believed_is_counted() -> None:
    counted = DistractorTally()
    for record in (*batch(), taught(1), taught(2)):
        counted.add(record)
    assert {kind: row.written for kind, row in counted.kinds.items()} == {Kind.DOPPELGANGER: 4, Kind.FALSE_SHORTCUT: 0}
    row, k = counted.kinds[Kind.DOPPELGANGER], len(taught(1).confirmation)
    assert row.used == 2
    assert row.reasons == {"marked": 2}
    assert row.met == {True: 2, False: 2 * k - 2}
    assert row.misled == {True: 2}
    assert row.plain[True] - row.opposed[True] == 2 * taught(1).confirmation_verdicts[0].correct
    assert row.example
    assert (row.example.outcome, row.example.said, row.example.step) == (Outcome.MISLED, "1399", 1)


def test_a_kind_of_which_nothing_was_written_is_counted_too() -> None:
    record, counted = taught(1), DistractorTally()
    assert record.opposition
    silent = record.opposition.model_copy(update={"unwritten": ("old_name", "old_name", Kind.DOPPELGANGER)})
    counted.add(record.model_copy(update={"opposition": silent}))
    row = counted.kinds["old_name"]
    assert (row.written, row.used, row.reasons, row.example) == (0, 0, {"unwritten": 2}, None)
    assert counted.kinds[Kind.DOPPELGANGER].reasons == {"marked": 1, "unwritten": 1}
    assert "unwritten 2" in page([record.model_copy(update={"opposition": silent})], RunConfig())


def test_the_page_shows_it_only_where_there_is_something_to_show() -> None:
    text = page([taught(1)], RunConfig())
    assert '<section id="distractors">' in text
    assert "<mark>1399</mark>" in text
    assert '<section id="distractors">' not in page(batch(), RunConfig())


def test_the_page_shows_a_tree_where_one_was_grown() -> None:
    nodes = [Node(parent=None, tool="", argument="", intent="", passage_ids=(), reached=("<Vessby>",))]
    nodes += [
        Node(parent=0, tool="search", argument=name, intent="why not", passage_ids=(), reached=(name,)) for name in "ab"
    ]
    record = taught(1)
    past = record.rounds[0].model_copy(update={"tree": Tree(nodes=tuple(nodes), paths=(1,), composed=1, refused=1)})
    text = page([record.model_copy(update={"rounds": (past,)})], RunConfig())
    assert '<section id="tree">' in text
    assert "3 nodes, 2 paths, 1 action refused" in text
    assert "&lt;Vessby&gt;" in text
    assert text.count('class="taken"') == 2
    assert '<section id="tree">' not in page([record], RunConfig())
