"""Distractors on the page: counted by kind, with the example that tells most."""

from pipeline.analysis.estimates import Count
from pipeline.config import RunConfig
from pipeline.types import Node, Tree
from pipeline.types.distractor import Kind
from tests.records import batch
from tests.tables import figures, page
from tests.teacher_rollouts import blindly_read, taught


def counted(*records):
    return {row.kind: row for row in figures(records).distractors}


def test_what_was_written_met_and_believed_is_counted() -> None:
    kinds = counted(*batch(), taught(1), taught(2))
    written = {kind: row.written for kind, row in kinds.items()}
    assert written == {Kind.DOPPELGANGER: 4, Kind.FALSE_SHORTCUT: 0, None: 4}
    row, tried = kinds[Kind.DOPPELGANGER], taught(1).distractor_eval
    assert tried
    assert (row.used, row.reasons) == (2, (Count(name="marked", count=2),))
    assert (row.met, row.misled) == (1 / len(tried.with_distractors), 1.0)
    right = [
        [verdict.correct for verdict in verdicts]
        for verdicts in (tried.without_distractors_verdicts, tried.with_distractors_verdicts)
    ]
    assert [row.correct_without, row.correct_with] == [sum(ones) / len(ones) for ones in right]
    assert row.example == taught(1).key


def test_the_example_of_a_kind_is_the_rollout_whose_outcome_tells_most() -> None:
    text = page([taught(1)], RunConfig())
    assert "<summary>doppelganger: misled</summary>" in text
    assert "This rollout said “1399”." in text
    assert "Met at step 1." in text


def test_a_kind_of_which_nothing_was_written_is_counted_too() -> None:
    record = taught(1)
    assert record.distractor_eval
    silent = record.distractor_eval.model_copy(update={"unwritten": ("old_name", "old_name", Kind.DOPPELGANGER)})
    record = record.model_copy(update={"distractor_eval": silent})
    kinds = counted(record)
    row = kinds["old_name"]
    assert (row.written, row.used, row.reasons, row.example) == (0, 0, (Count(name="unwritten", count=2),), None)
    assert {one.name: one.count for one in kinds[Kind.DOPPELGANGER].reasons} == {"marked": 1, "unwritten": 1}
    assert "unwritten 2" in page([record], RunConfig())


def test_a_kind_that_no_rollout_met_has_no_example() -> None:
    record = taught(1)
    assert record.distractor_eval
    others = tuple(
        one.model_copy(update={"text": f"{one.text} So it says."}) for one in record.distractor_eval.distractors
    )
    record = record.model_copy(
        update={"distractor_eval": record.distractor_eval.model_copy(update={"distractors": others})}
    )
    row = counted(record)[Kind.DOPPELGANGER]
    assert (row.met, row.example) == (0, None)
    assert '<section id="distractors">' in page([record], RunConfig())


def test_the_page_shows_it_only_where_there_is_something_to_show() -> None:
    text = page([taught(1)], RunConfig())
    assert '<section id="distractors">' in text
    assert "<mark>1399</mark>" in text
    assert '<section id="distractors">' not in page(batch(), RunConfig())


def test_the_page_says_how_often_a_blind_reader_named_one_and_what_limits_its_claim() -> None:
    record = blindly_read(taught(1), True, False, False)
    text = page([record], RunConfig())
    assert "A blind reader named it 1 of 3 times." in text
    assert "Its claim is limited by “1911 guide”." in text
    assert "A blind reader named it" not in page([taught(1)], RunConfig())


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
