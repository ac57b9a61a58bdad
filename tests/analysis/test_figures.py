import pytest

from pipeline.analysis.figures import ROLE_OF_REQUEST, Outside
from pipeline.demo.role_dispatch import ROLES as EMBEDDED
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Share, Status, Usage
from tests import seed_tables
from tests.records import accepted, batch, below_target, failed, measured_in_its_round, no_draft, rejected


def make_figures(*records, **outside):
    return seed_tables.figures(records, Outside(**outside))


def get_counts(counts):
    return {count.name: count.count for count in counts}


def test_planned_is_accepted_and_rejected_and_failed():
    f = make_figures(*batch(48))
    assert f.planned == f.accepted + f.rejected + f.failed == 48
    assert sum(get_counts(f.reasons).values()) == f.rejected + f.failed


def test_the_funnel_never_widens():
    funnel = [count.count for count in make_figures(*batch(48)).funnel]
    assert funnel == sorted(funnel, reverse=True)
    assert funnel[-1] == make_figures(*batch(48)).accepted


@pytest.mark.parametrize(
    ("record", "furthest"),
    [
        (no_draft(), "planned"),
        (rejected(reason="co_located"), "drafted"),
        (rejected(reason="solver_error"), "audited"),
        (rejected(reason="superficial"), "solved"),
        (below_target(), "candidate"),
        (accepted(), "accepted"),
    ],
)
def test_a_record_counts_for_its_furthest_stage(record, furthest):
    reached = [count.name for count in make_figures(record).funnel if count.count]
    assert reached[-1] == furthest


def test_an_unsound_draft_is_not_past_the_audit():
    assert get_counts(make_figures(rejected(reason="co_located")).funnel)["audited"] == 0


@pytest.mark.parametrize("measured", [measured_in_its_round, lambda record: record], ids=["now", "older version"])
def test_targets_are_measured_on_the_rollouts_of_candidates(measured):
    (target,) = make_figures(measured(accepted(0)), measured(below_target()), rejected()).targets
    assert (target.planned, target.accepted, target.below_target) == (3, 1, 1)
    assert get_counts(target.difficulty) == {"1": 1, "3": 1}
    assert (target.mean_difficulty, target.mean_solve_rate) == (3.0, 0.75)


@pytest.mark.parametrize("measured", [measured_in_its_round, lambda record: record], ids=["now", "older version"])
def test_the_share_of_accepted_candidates_leaves_out_what_was_sent_back_or_failed(measured):
    records = [measured(record) for record in (accepted(0), accepted(1), below_target())]
    assert make_figures(*records, rejected(), failed()).confirmed == Share(part=2, whole=3)
    dropped = measured(accepted(2)).model_copy(update={"status": Status.REJECTED, "reason": "gate:duplicate"})
    assert make_figures(*records, dropped).confirmed == Share(part=3, whole=4)


def test_a_candidate_that_a_seeker_rejects_is_measured_by_the_seekers_way():
    attacked = measured_in_its_round(below_target())
    last = attacked.rounds[-1].model_copy(
        update={"rollouts": accepted().rounds[0].rollouts[:1], "verdicts": accepted().rounds[0].verdicts[:1]}
    )
    found = below_target().confirmation_verdicts[:1]
    attacked = attacked.model_copy(
        update={
            "rounds": (last,),
            "reason": "below_range",
            "seekers": below_target().confirmation[:1],
            "seeker_verdicts": found,
        }
    )
    f = make_figures(attacked)
    assert (f.confirmed, get_counts(f.targets[0].difficulty)) == (Share(part=0, whole=1), {"1": 1})


def test_a_failed_seed_whose_measurement_was_cut_short_is_not_measured():
    f = make_figures(failed())
    assert (f.confirmed.whole, get_counts(f.targets[0].difficulty)) == (0, {})
    assert [count.name for count in f.funnel if count.count][-1] == "candidate"


def test_cost_is_that_of_all_seeds_and_stated_per_accepted_pair():
    records = [accepted(0), accepted(1), rejected(), failed()]
    f = make_figures(
        *records, spent=Spending(by_stage={"round 0": {"answer": Spent(paid=Usage(calls=7), seconds=2.5)}})
    )
    total = sum((usage for record in records for usage in record.usage.values()), Usage())
    assert f.usage == total
    assert f.per_pair(f.usage.calls) == total.calls / 2
    solver = next(cost for cost in f.costs if cost.role == "solver")
    assert (solver.spent.paid.calls, solver.spent.seconds) == (7, 2.5)


def test_per_pair_is_unknown_without_pairs():
    assert make_figures(rejected()).per_pair(10) is None


def test_the_embedded_model_marks_its_figures():
    assert make_figures(accepted()).by_demo
    assert not make_figures(accepted(model="qwen")).by_demo


def test_seed_drops_come_from_outside():
    assert get_counts(make_figures(accepted(), dropped={"list": 3, "short": 9}).dropped) == {"short": 9, "list": 3}


def test_figures_without_records_are_empty():
    f = make_figures()
    assert (f.planned, f.mean_difficulty, f.lineage, f.by_demo) == (0, None, None, False)


@pytest.mark.parametrize(
    ("part", "total", "low", "high"), [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)]
)
def test_wilson_interval_has_the_published_values(part, total, low, high):
    assert Share(part=part, whole=total).interval == pytest.approx((low, high), abs=5e-4)


def test_every_request_of_a_model_has_a_role():
    assert set(EMBEDDED) <= set(ROLE_OF_REQUEST)
