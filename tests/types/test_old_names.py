"""What earlier versions wrote under other field names can still be read."""

import hashlib
from pathlib import Path

import orjson

from pipeline.exports.views import records
from pipeline.store.journal import Journal, encode, headed
from pipeline.types import Assessment, CompletedStages
from tests.teacher_rollouts import taught

OLD_NAMES = {
    b'"teacher_rollouts":': b'"lessons":',
    b'"distractor_eval":': b'"opposition":',
    b'"without_distractors":': b'"plain":',
    b'"without_distractors_verdicts":': b'"plain_verdicts":',
    b'"with_distractors":': b'"opposed":',
    b'"with_distractors_verdicts":': b'"opposed_verdicts":',
}


def old(json: bytes) -> bytes:
    for name, before in OLD_NAMES.items():
        assert name in json
        json = json.replace(name, before)
    return json


def test_a_journal_line(tmp_path: Path) -> None:
    record = taught()
    body = old(encode(headed(record, "0000"), record)).partition(b",")[2]
    line = b'{"sha256":"%b",%b\n' % (hashlib.sha256(body).hexdigest().encode(), body)
    (tmp_path / "main.jsonl").write_bytes(line)
    journal = Journal(tmp_path)
    assert journal.read(record.key) == record


def test_completed_stages() -> None:
    record = taught()
    stages = CompletedStages(
        key=record.key,
        attempt=1,
        distractor_eval=record.distractor_eval,
        teacher_rollouts=record.teacher_rollouts,
        missing=(),
    )
    assert CompletedStages.model_validate_json(old(stages.model_dump_json().encode())) == stages


def test_a_row_of_the_view_records_with_the_columns_of_then() -> None:
    record = taught()
    row = orjson.loads(old(record.model_dump_json().encode()))
    assert records.record({**row, "process": [], "trainable": False}) == record


def test_an_assessment_that_calls_its_model_the_solver() -> None:
    now = {"model": "qwen", "retriever": "bm25", "k": 5, "rollouts": 4, "solve_rate": 0.5, "least_steps": 3}
    then = {"solver" if name == "model" else name: value for name, value in now.items()}
    assert Assessment.model_validate(then) == Assessment.model_validate(now)
