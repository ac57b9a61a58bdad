from pipeline.dataset.figures import Share
from pipeline.types import Status
from pipeline.view.rounds import Rounds
from tests.records import accepted, batch, no_draft, rejected


def counted(*records):
    rounds = Rounds()
    for record in records:
        rounds.add(record)
    return rounds


def test_rounds_count_drafts_by_label():
    stages = counted(accepted(rounds=3), rejected(reason="superficial"), no_draft()).stages
    assert [stages[index].became for index in sorted(stages)] == [
        {"too_easy": 2, "none": 1},
        {"too_easy": 2},
        {"too_easy": 1, "accepted": 1},
    ]
    assert stages[2].mean_steps == 2.0


def test_rounds_add_up_with_a_relaxed_last_round_too():
    relaxed = rejected(reason="superficial").model_copy(update={"status": Status.ACCEPTED, "reason": "relaxed"})
    shown = {"unsound", "too_easy", "unsolved", "candidate", "accepted", "none"}
    assert all(set(stage.became) <= shown for stage in counted(*batch(24), relaxed).stages.values())
    stages = counted(relaxed).stages
    assert stages[max(stages)].became["accepted"] == 1


def test_only_controls_speak_for_audit_and_early_stop():
    without = counted(rejected(reason="co_located"), rejected(reason="superficial")).controls()
    assert (without.false_alarms.whole, without.early_stop.whole, without.rollouts_saved) == (0, 0, None)
    controls = (rejected(1, reason="co_located", control=True), rejected(2, reason="superficial", control=True))
    checks = counted(*controls).controls()
    assert checks.false_alarms == Share(part=1, whole=1)
    assert checks.early_stop.whole == 3
    assert checks.rollouts_saved == 3.0
