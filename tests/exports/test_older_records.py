"""Records of older versions, whose candidates had K fresh rollouts, are read, measured and exported as they were."""

from pathlib import Path

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.views import base
from pipeline.store.journal import Journal
from tests.records import accepted, below_target, measured_in_its_round

ENVIRONMENT = environment(RunConfig())


def test_a_journal_line_with_a_confirmation_is_read_as_it_was_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "main")
    journal.append(accepted(), "0000")
    journal.close()
    assert b'"confirmation":[{"sample":100,' in (tmp_path / "main.jsonl").read_bytes()
    record = Journal(tmp_path).read(accepted().key)
    assert record == accepted()
    assert record.measured == accepted().confirmation_verdicts
    assert [rollout.sample for rollout, _ in record.graded] == [100, 101, 102, 103, 0, 1, 2, 3]


def test_the_confirmation_measures_the_question_and_all_rollouts_are_paid_for() -> None:
    old, now = below_target(), measured_in_its_round(below_target())
    assert (old.difficulty, old.solve_rate) == (now.difficulty, now.solve_rate) == (1, 0.75)
    assert old.step_counts == now.step_counts
    assert old.usage["solver"].calls == sum(rollout.trajectory.usage.calls for rollout, _ in old.graded)
    assert old.usage["solver"].calls > now.usage["solver"].calls


def test_views_hold_the_rollouts_of_both() -> None:
    old, now = accepted(), measured_in_its_round(accepted())
    assert (len(correct_rollouts(old)), len(correct_rollouts(now))) == (6, 3)
    (stored,) = base.load("records").rows(old, ENVIRONMENT)
    assert len(stored["confirmation"]) == len(stored["process"]) == len(stored["rounds"][-1]["rollouts"]) == 4
    assert [fields["sample"] for fields in stored["process"]] == [100, 101, 102, 103]
    for view in ("qa", "rl_trl", "retriever"):
        columns = [dict(row) for row in base.load(view).rows(old, ENVIRONMENT)]
        assert columns == [dict(row) for row in base.load(view).rows(now, ENVIRONMENT)]
