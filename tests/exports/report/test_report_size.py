"""The report is one file of at most 1 MB for any run, and says what it leaves out."""

from functools import cache

import orjson
import pytest

from pipeline.config import RunConfig
from pipeline.exports.report.page import MOST_BYTES, SHOWN
from pipeline.types import Record, Status, sha256
from tests.golden.recording import HOME, read_packed_lines
from tests.golden.strong import convert
from tests.graph_drafts import changed
from tests.records import accepted, batch, hostile, rejected
from tests.seed_tables import page
from tests.teacher_rollouts import taught


@cache
def load_strong_records() -> list[Record]:
    """Load the records of a strong model, 300 kB each."""
    lines = read_packed_lines(HOME / "strong-model.jsonl.zst")
    return [Record.model_validate(convert(orjson.loads(line)["record"])) for line in lines]


def repeat_records(records: list[Record], number: int) -> list[Record]:
    return [
        records[index % len(records)].model_copy(update={"key": sha256(str(index)), "status": status, "reason": reason})
        for index in range(number)
        for status, reason in [(Status.ACCEPTED, "") if index % 2 else (Status.REJECTED, "superficial")]
    ]


def make_long(record: Record, text: str) -> Record:
    """Return the record with this question, answer and evidence."""
    draft = record.draft
    assert draft
    hops = tuple(hop.model_copy(update={"quote": text, "title": text}) for hop in draft.hops)
    return record.model_copy(update={"draft": changed(draft, question=text, answer=text, hops=hops)})


RUNS = {
    "a strong model's records": lambda: repeat_records(load_strong_records(), 24),
    "pairs rich in distractors": lambda: [taught(n) for n in range(12)],
    "texts of a hundred thousand letters": lambda: [make_long(accepted(n), "<b>&" * 25_000) for n in range(12)],
    "hostile texts": lambda: [hostile(n=6000 + n, text="\U0001f600" * 3000) for n in range(12)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_report_of_any_run_has_at_most_a_megabyte(name: str) -> None:
    records = RUNS[name]()
    text = page(records, RunConfig())
    assert len(text.encode()) <= MOST_BYTES
    pairs = sum(record.status is Status.ACCEPTED for record in records)
    assert text.count("<article") == min(SHOWN, pairs) + min(SHOWN, len(records) - pairs)
    assert f"digsite view {records[0].lineage.run[:12]}" in text
    assert "shortened here" in text or "strong" not in name


def test_a_complete_report_mentions_no_omission() -> None:
    small = page(batch(12), RunConfig())
    assert "shortened here" not in small
    assert "left out here" not in small
    assert "passages that any agent saw" in small


def test_small_items_keep_all_their_traces_next_to_large_ones() -> None:
    large = [record for record in repeat_records(load_strong_records(), 20) if record.status is Status.ACCEPTED]
    text = page([*large[:9], rejected()], RunConfig())
    article = next(part for part in text.split("<article")[1:] if part.startswith(' class="rejected"'))
    assert "passages that any agent saw" in article
