from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import synthetic
from tests.passages import is_synthetic
from tests.records import accepted
from tests.teacher_rollouts import blindly_read, taught

ENVIRONMENT = environment(RunConfig())


def test_used_distractors_are_rows_that_are_marked_as_synthetic():
    record = blindly_read(taught(3), True, False, False)
    (row,) = synthetic.rows(record, ENVIRONMENT)
    (used,) = record.distractor_eval.used
    assert row["synthetic"] is True
    assert is_synthetic(row["passage_id"])
    assert (row["question_id"], row["text"], row["claim"]) == (record.key, used.text, used.claim)
    assert (row["blind_readings"], row["blind_named"]) == (3, 1)
    transcript = "\n".join(m.content for m in record.distractor_eval.with_distractors[0].trajectory.messages)
    assert f"[{row['shown_id']}]" in transcript
    assert row["passage_id"] not in transcript


def test_a_pair_without_distractors_has_no_rows():
    assert list(synthetic.rows(accepted(3), ENVIRONMENT)) == []
