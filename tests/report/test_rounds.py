from pipeline.report.figures import Share
from pipeline.report.rounds import Rounds
from pipeline.types import Status
from tests.records import accepted, batch, no_draft, rejected


def counted(*records):
    rounds = Rounds()
    for record in records:
        rounds.add(record)
    return rounds


def test_rounds_count_drafts_by_label():
    first, second, third = counted(accepted(rounds=3), rejected(reason="superficial"), no_draft()).rows()
    assert (first.drafts, first.none, first.too_easy, first.candidates) == (2, 1, 2, 0)
    assert (second.drafts, second.too_easy) == (2, 2)
    assert (third.candidates, third.accepted, third.too_easy) == (0, 1, 1)
    assert third.mean_steps == 2.0


def test_rounds_add_up_with_a_relaxed_last_round_too():
    relaxed = rejected(reason="superficial").model_copy(update={"status": Status.ACCEPTED, "reason": "relaxed"})
    for stage in counted(*batch(24), relaxed).rows():
        parts = stage.unsound + stage.too_easy + stage.unsolved + stage.candidates + stage.accepted
        assert parts == stage.drafts
    assert counted(relaxed).rows()[-1].accepted == 1


def test_only_controls_speak_for_audit_and_early_stop():
    without = counted(rejected(reason="co_located"), rejected(reason="superficial")).controls()
    assert (without.false_alarms.whole, without.early_stop.whole, without.rollouts_saved) == (0, 0, None)
    controls = (rejected(1, reason="co_located", control=True), rejected(2, reason="superficial", control=True))
    checks = counted(*controls).controls()
    assert checks.false_alarms == Share(part=1, whole=1)
    assert checks.early_stop.whole == 3
    assert checks.rollouts_saved == 3.0
