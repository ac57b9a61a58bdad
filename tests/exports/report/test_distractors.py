"""Distractors on the page are counted by kind, with the most telling example."""

from pipeline.analysis.estimates import Count
from pipeline.config import RunConfig
from pipeline.types import Node, Tree
from pipeline.types.distractor import Kind
from tests.records import batch
from tests.seed_tables import figures, page
from tests.teacher_rollouts import blindly_read, taught


def count_by_kind(*records):
    return {row.kind: row for row in figures(records).distractors}


def test_written_met_and_believed_distractors_are_counted() -> None:
    kinds = count_by_kind(*batch(), taught(1), taught(2))
    written = {kind: row.written for kind, row in kinds.items()}
    assert written == {Kind.DOPPELGANGER: 4, Kind.FALSE_SHORTCUT: 0, None: 4}
    row, evaluation = kinds[Kind.DOPPELGANGER], taught(1).distractor_eval
    assert evaluation
    assert (row.used, row.reasons) == (2, (Count(name="marked", count=2),))
    assert (row.met, row.misled) == (1 / len(evaluation.with_distractors), 1.0)
    right = [
        [verdict.correct for verdict in verdicts]
        for verdicts in (evaluation.without_distractors_verdicts, evaluation.with_distractors_verdicts)
    ]
    assert [row.correct_without, row.correct_with] == [sum(correct) / len(correct) for correct in right]
    assert row.example == taught(1).key


def test_the_example_of_a_kind_is_its_most_telling_rollout() -> None:
    text = page([taught(1)], RunConfig())
    assert "<summary>doppelganger: misled</summary>" in text
    assert "This rollout said “1399”." in text
    assert "Met at step 1." in text


def test_a_kind_without_a_written_distractor_is_counted_too() -> None:
    record = taught(1)
    assert record.distractor_eval
    silent = record.distractor_eval.model_copy(update={"unwritten": ("old_name", "old_name", Kind.DOPPELGANGER)})
    record = record.model_copy(update={"distractor_eval": silent})
    kinds = count_by_kind(record)
    row = kinds["old_name"]
    assert (row.written, row.used, row.reasons, row.example) == (0, 0, (Count(name="unwritten", count=2),), None)
    assert {reason.name: reason.count for reason in kinds[Kind.DOPPELGANGER].reasons} == {"marked": 1, "unwritten": 1}
    assert "unwritten 2" in page([record], RunConfig())


def test_a_kind_that_no_rollout_met_has_no_example() -> None:
    record = taught(1)
    assert record.distractor_eval
    reworded = tuple(
        distractor.model_copy(update={"text": f"{distractor.text} So it says."})
        for distractor in record.distractor_eval.distractors
    )
    record = record.model_copy(
        update={"distractor_eval": record.distractor_eval.model_copy(update={"distractors": reworded})}
    )
    row = count_by_kind(record)[Kind.DOPPELGANGER]
    assert (row.met, row.example) == (0, None)
    assert '<section id="distractors">' in page([record], RunConfig())


def test_the_page_has_a_section_only_if_there_are_distractors() -> None:
    text = page([taught(1)], RunConfig())
    assert '<section id="distractors">' in text
    assert "<mark>1399</mark>" in text
    assert '<section id="distractors">' not in page(batch(), RunConfig())


def test_the_page_shows_blind_readings_and_the_limit_of_a_claim() -> None:
    record = blindly_read(taught(1), True, False, False)
    text = page([record], RunConfig())
    assert "A blind reader named it 1 of 3 times." in text
    assert "Its claim is limited by “1911 guide”." in text
    assert "A blind reader named it" not in page([taught(1)], RunConfig())


def test_the_page_shows_a_tree_if_there_is_one() -> None:
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
