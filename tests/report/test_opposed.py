"""Distractors on the page: counted by kind, with the example that tells most."""

from pipeline.config import RunConfig
from pipeline.report.html import page
from pipeline.report.tally import tally
from pipeline.types import Kind, Outcome
from tests.lessons import taught
from tests.records import batch


def test_what_was_written_met_and_believed_is_counted() -> None:
    (row,) = tally([*batch(), taught(1), taught(2)]).figures().opposed
    k = len(taught(1).confirmation)
    assert (row.kind, row.written, row.used) == (Kind.DOPPELGANGER, 4, 2)
    assert [(count.name, count.count) for count in row.rejected] == [("marked", 2)]
    assert (row.met.part, row.met.whole) == (2, 2 * k)
    assert (row.misled.part, row.misled.whole) == (2, 2)
    assert row.plain.part - row.opposed.part == 2 * taught(1).confirmation_verdicts[0].correct
    assert row.example
    assert (row.example.outcome, row.example.said, row.example.step) == (Outcome.MISLED, "1399", 1)


def test_the_page_shows_it_only_where_there_is_something_to_show() -> None:
    text = page([taught(1)], RunConfig())
    assert '<section id="distractors">' in text
    assert "<mark>1399</mark>" in text
    assert '<section id="distractors">' not in page(batch(), RunConfig())
