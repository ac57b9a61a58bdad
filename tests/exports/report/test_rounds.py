from pipeline.exports.report import charts
from pipeline.types import Status
from tests.records import accepted, batch, no_draft, rejected
from tests.seed_tables import table


def count_rounds(*records):
    return charts.rounds(table(records))


def test_rounds_count_drafts_by_label():
    stages = count_rounds(accepted(rounds=3), rejected(reason="superficial"), no_draft())
    assert [stage.became for stage in stages.values()] == [
        {"too_easy": 2, "none": 1},
        {"too_easy": 2},
        {"too_easy": 1, "accepted": 1},
    ]
    assert stages[2].mean_steps == 2.0


def test_rounds_add_up_with_a_relaxed_last_round_too():
    relaxed = rejected(reason="superficial").model_copy(update={"status": Status.ACCEPTED, "reason": "relaxed"})
    labels = {"unsound", "too_easy", "unsolved", "candidate", "accepted", "none"}
    assert all(set(stage.became) <= labels for stage in count_rounds(*batch(24), relaxed).values())
    stages = count_rounds(relaxed)
    assert stages[max(stages)].became["accepted"] == 1
