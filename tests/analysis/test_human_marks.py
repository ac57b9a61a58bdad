"""A sheet for reviewers contains all texts safely, and its marks become shares."""

import csv
import io

import pytest

from pipeline.analysis import human_marks as review
from pipeline.analysis.figures import Outside
from pipeline.analysis.human_marks import Review
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.exports.card.card import Contents, card
from pipeline.store.review_marks import ASKED
from pipeline.types import Share
from tests.graph_drafts import changed
from tests.hostile_texts import HOSTILE
from tests.records import accepted, batch, hostile
from tests.seed_tables import figures, page

RECORDS = [accepted(n) for n in range(1, 9)]
KEYS = [record.key for record in RECORDS]


def parse_sheet(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def fill_sheet(*marks, delimiter=","):
    rows = parse_sheet(review.sheet(RECORDS))
    text = io.StringIO()
    writer = csv.DictWriter(text, review.COLUMNS, delimiter=delimiter)
    writer.writeheader()
    for row, mark in zip(rows, marks, strict=False):
        writer.writerow({**row, **dict(zip(ASKED, mark.split("/"), strict=False))})
    return text.getvalue()


def test_the_sample_is_the_same_every_time():
    keys = [record.key for record in batch(40)]
    chosen = review.sample(keys, 5)
    assert len(set(chosen)) == 5
    assert review.sample(reversed(keys), 5) == chosen
    assert review.sample(keys, 3) == chosen[:3]


def test_a_row_shows_question_answer_and_evidence():
    row = parse_sheet(review.sheet(RECORDS))[0]
    draft = RECORDS[0].draft
    assert row["question"] == draft.question
    assert row["answer"].startswith(draft.answer)
    assert all(hop.quote in row["evidence"] for hop in draft.hops)
    assert {row[name] for name in (*ASKED, "note")} == {""}


@pytest.mark.parametrize("text", [*HOSTILE, "=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", ' "=1', "\x00=1"])
def test_no_text_becomes_a_formula_or_another_row(text):
    record = hostile(text=text)
    draft = changed(record.draft, question=text, answer=text or "x")
    last = record.rounds[-1].model_copy(update={"draft": draft})
    (row,) = parse_sheet(review.sheet([record.model_copy(update={"rounds": (last,)})]))
    assert row["key"] == record.key
    for cell in (row["question"], row["answer"], row["evidence"]):
        assert not cell.lstrip().startswith(("=", "+", "-", "@"))


def read_marks(text, by="Ada"):
    return review.read(text, KEYS, by, "2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_marks_come_back_as_a_share_of_what_was_marked(delimiter):
    sheet = fill_sheet("yes/yes/yes", "Y/1/no", "no", "", "yes/0", "yes/yes", "yes", "/no", delimiter=delimiter)
    summary = review.summarise_marks(read_marks("\ufeff" + sheet), set(KEYS))
    assert summary == Review(items=7, precision=Share(part=3, whole=6), unsure=1, natural=Share(part=1, whole=2))


def test_emptied_rows_are_ignored():
    head, rows = fill_sheet("yes/yes", "no").split("\r\n", 1)
    sheet = f"{head}\r\n{',' * head.count(',')}\r\n{rows}{' ,' * head.count(',')}\r\n"
    assert [mark.right for mark in read_marks(sheet)] == [True, False]


def test_a_fault_that_one_of_several_reviewers_saw_counts(tmp_path):
    marks = [
        *read_marks(fill_sheet("yes/yes", "yes/yes", "yes/yes")),
        *read_marks(fill_sheet("yes/yes", "no", ""), "Ben"),
    ]
    summary = review.summarise_marks(marks, set(KEYS))
    assert (summary.precision, summary.reviewers) == (Share(part=2, whole=3), 2)
    assert summary.agreed == Share(part=1, whole=2)
    assert review.summarise_marks(marks, set(KEYS[3:])) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (fill_sheet("yes", "yes/maybe"), "row 2: 'unique'"),
        (fill_sheet("", "//yes"), "no row is marked"),
        ("", "columns"),
        ("a,b\r\n1,2\r\n", "columns"),
        (fill_sheet("yes") + fill_sheet("no").split("\r\n", 1)[1], "row 2"),
    ],
)
def test_a_bad_sheet_is_refused_with_its_row(text, words):
    with pytest.raises(UsageError, match=words):
        read_marks(text)


def test_a_pair_of_another_run_is_refused():
    with pytest.raises(UsageError, match="no pair"):
        review.read(fill_sheet("yes"), KEYS[1:], "Ada", "")


def test_card_and_page_show_the_precision_with_its_interval():
    marks = read_marks(fill_sheet(*["yes/yes/yes"] * 6, "no", "yes"))
    outside = Outside(marks=tuple(marks))
    text = card(figures(RECORDS, outside), Contents(rows={}), RunConfig())
    assert "a random sample of 8 questions, one person found 6 of 7 (86%, 95 % interval 49% to 97%)" in text
    assert "on 1 they could not tell" in text
    assert "Asked as a person would ask: 6 of 6" in text
    assert "No sample has been reviewed" in card(figures(RECORDS), Contents(rows={}), RunConfig())
    assert "6 of 7 (86%" in page(RECORDS, RunConfig(), outside)
