"""The sheet goes out whole and harmless, and comes back as a share of what was marked."""

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
from tests.graphs import changed
from tests.hostile import HOSTILE
from tests.records import accepted, batch, hostile
from tests.tables import figures, page

RECORDS = [accepted(n) for n in range(1, 9)]
KEYS = [record.key for record in RECORDS]


def parsed(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(*marks, parted=","):
    rows = parsed(review.sheet(RECORDS))
    text = io.StringIO()
    writer = csv.DictWriter(text, review.COLUMNS, delimiter=parted)
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
    row = parsed(review.sheet(RECORDS))[0]
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
    (row,) = parsed(review.sheet([record.model_copy(update={"rounds": (last,)})]))
    assert row["key"] == record.key
    for cell in (row["question"], row["answer"], row["evidence"]):
        assert not cell.lstrip().startswith(("=", "+", "-", "@"))


def read(text, by="Ada"):
    return review.read(text, KEYS, by, "2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize("parted", [",", ";"])
def test_marks_come_back_as_a_share_of_what_was_marked(parted):
    sheet = filled("yes/yes/yes", "Y/1/no", "no", "", "yes/0", "yes/yes", "yes", "/no", parted=parted)
    found = review.summarise_marks(read("\ufeff" + sheet), set(KEYS))
    assert found == Review(items=7, precision=Share(part=3, whole=6), unsure=1, natural=Share(part=1, whole=2))


def test_rows_that_somebody_emptied_are_no_rows():
    head, rows = filled("yes/yes", "no").split("\r\n", 1)
    sheet = f"{head}\r\n{',' * head.count(',')}\r\n{rows}{' ,' * head.count(',')}\r\n"
    assert [mark.right for mark in read(sheet)] == [True, False]


def test_a_fault_that_one_of_several_people_saw_counts(tmp_path):
    marks = [*read(filled("yes/yes", "yes/yes", "yes/yes")), *read(filled("yes/yes", "no", ""), "Ben")]
    found = review.summarise_marks(marks, set(KEYS))
    assert (found.precision, found.reviewers) == (Share(part=2, whole=3), 2)
    assert found.agreed == Share(part=1, whole=2)
    assert review.summarise_marks(marks, set(KEYS[3:])) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (filled("yes", "yes/maybe"), "row 2: 'unique'"),
        (filled("", "//yes"), "no row is marked"),
        ("", "columns"),
        ("a,b\r\n1,2\r\n", "columns"),
        (filled("yes") + filled("no").split("\r\n", 1)[1], "row 2"),
    ],
)
def test_a_bad_sheet_is_refused_by_its_row(text, words):
    with pytest.raises(UsageError, match=words):
        read(text)


def test_a_pair_of_another_run_is_refused():
    with pytest.raises(UsageError, match="no pair"):
        review.read(filled("yes"), KEYS[1:], "Ada", "")


def test_card_and_page_show_the_precision_with_its_interval():
    marks = read(filled(*["yes/yes/yes"] * 6, "no", "yes"))
    outside = Outside(marks=tuple(marks))
    text = card(figures(RECORDS, outside), Contents(rows={}), RunConfig())
    assert "a random sample of 8 questions, one person found 6 of 7 (86%, 95 % interval 49% to 97%)" in text
    assert "on 1 they could not tell" in text
    assert "Asked as a person would ask: 6 of 6" in text
    assert "No sample has been reviewed" in card(figures(RECORDS), Contents(rows={}), RunConfig())
    assert "6 of 7 (86%" in page(RECORDS, RunConfig(), outside)
