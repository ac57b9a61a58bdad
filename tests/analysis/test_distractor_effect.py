"""The cost of distractors: rollouts of the same sample without and with them are paired, by kind and for all kinds."""

import math
from collections.abc import Sequence

import pytest

from pipeline.analysis.distractor_effect import DistractorFigures
from pipeline.analysis.estimates import Interval
from pipeline.config import RunConfig
from pipeline.exports.card.card import Contents, card
from pipeline.types import Record, Share, Verdict
from pipeline.types.distractor import Kind
from tests.records import accepted
from tests.seed_tables import figures, page
from tests.teacher_rollouts import blindly_read, taught

Pair = tuple[bool, int, bool, int]
"""Whether the rollout is correct and its steps, without the distractors and then with them."""


def make_record(n: int, pairs: Sequence[Pair], kinds: Sequence[str] = (Kind.DOPPELGANGER,)) -> Record:
    """Make an accepted record with these outcomes of its paired rollouts, and one distractor of each kind."""
    record = taught(n)
    assert record.distractor_eval
    evaluation = record.distractor_eval

    def verdict(sample: int, right: bool, steps: int) -> Verdict:
        return evaluation.without_distractors_verdicts[0].model_copy(
            update={"sample": sample, "right": right, "supported": right, "steps": steps}
        )

    (used,), rollout = evaluation.used, evaluation.with_distractors[0]
    rollouts = tuple(rollout.model_copy(update={"sample": 8 + sample}) for sample in range(len(pairs)))
    changed = {
        "distractors": tuple(used.model_copy(update={"kind": kind}) for kind in kinds),
        "unwritten": (),
        "without_distractors": rollouts,
        "with_distractors": rollouts,
        "without_distractors_verdicts": tuple(verdict(8 + i, *pair[:2]) for i, pair in enumerate(pairs)),
        "with_distractors_verdicts": tuple(verdict(8 + i, *pair[2:]) for i, pair in enumerate(pairs)),
    }
    return record.model_copy(update={"distractor_eval": evaluation.model_copy(update=changed)})


def get_figures_by_kind(*records: Record) -> dict[str | None, DistractorFigures]:
    return {row.kind: row for row in figures(records).distractors}


def compute_interval(means: Sequence[float]) -> tuple[float, float]:
    """Compute Student's interval over questions with equally many pairs."""
    from scipy import stats  # type: ignore[import-untyped]

    low, high = stats.t.interval(0.95, len(means) - 1, sum(means) / len(means), stats.sem(means))
    return float(low), float(high)


@pytest.mark.parametrize("questions", [2, 3, 8, 31, 32, 200])
def test_the_interval_is_students_over_the_means_of_the_questions(questions: int) -> None:
    means = [float(n % 5) for n in range(questions)]
    interval = Interval.of([4 * mean for mean in means], questions * [4])
    assert interval.low is not None
    assert interval.high is not None
    low, high = compute_interval(means)
    assert interval.value == pytest.approx(sum(means) / questions)
    assert math.isclose(interval.low, low, rel_tol=2e-3)
    assert math.isclose(interval.high, high, rel_tol=2e-3)


def test_one_question_and_questions_that_are_all_alike_have_no_interval() -> None:
    assert Interval.of([2.0], [4]) == Interval(value=0.5)
    assert Interval.of([0.0, 0.0, 0.0], [4, 4, 2]) == Interval(value=0.0)
    assert Interval.of([2.0, 2.0, 1.0], [4, 4, 2]) == Interval(value=0.5)


def test_a_question_with_more_pairs_counts_for_more() -> None:
    interval = Interval.of([0.0, 4.0], [2, 6])
    assert interval.value == 0.5
    # Residuals of -1 and 1 around the mean give a standard error of sqrt(2 * 2) / 8.
    assert interval.low == pytest.approx(0.5 - 12.706 * 0.25)


def test_harm_is_the_points_that_a_sample_loses_and_the_steps_that_it_adds() -> None:
    first = make_record(1, [(True, 3, False, 5), (True, 3, True, 3)])
    second = make_record(2, [(True, 2, True, 2), (False, 4, True, 4)])
    row = get_figures_by_kind(first, second)[Kind.DOPPELGANGER]
    assert (row.pairs, row.correct_without, row.correct_with) == (4, 0.75, 0.75)
    assert row.points_lost
    assert row.steps_added
    assert (row.points_lost.value, row.steps_added.value) == (0.0, 0.5)
    assert (row.points_lost.low, row.points_lost.high) == pytest.approx(compute_interval([50, -50]), rel=1e-3)
    assert (row.steps_added.low, row.steps_added.high) == pytest.approx(compute_interval([1, 0]), rel=1e-3)


def test_a_pair_of_rollouts_counts_for_each_kind_and_once_for_all() -> None:
    with_two_kinds = make_record(
        1, [(True, 3, False, 5), (True, 3, True, 4)], (Kind.DOPPELGANGER, Kind.SUBJECTIVE_FALLACY)
    )
    with_one_kind = make_record(2, [(True, 2, True, 2), (True, 4, True, 4)])
    rows = get_figures_by_kind(with_two_kinds, with_one_kind)
    assert {kind: row.pairs for kind, row in rows.items()} == {
        Kind.DOPPELGANGER: 4, Kind.SUBJECTIVE_FALLACY: 2, None: 4
    }  # fmt: skip
    lost = {kind: row.points_lost.value for kind, row in rows.items() if row.points_lost}
    assert lost == {Kind.DOPPELGANGER: 25.0, Kind.SUBJECTIVE_FALLACY: 50.0, None: 25.0}
    added = {kind: row.steps_added.value for kind, row in rows.items() if row.steps_added}
    assert added == {Kind.DOPPELGANGER: 0.75, Kind.SUBJECTIVE_FALLACY: 1.5, None: 0.75}
    assert list(rows)[-1] is None


def test_blind_readings_are_counted_for_all_and_for_used_distractors() -> None:
    records = [blindly_read(taught(1), True, False, False), blindly_read(taught(2), False, False, True), taught(3)]
    row = get_figures_by_kind(*records)[None]
    assert (row.named, row.named_used) == (Share(part=8, whole=12), Share(part=2, whole=6))


def test_card_and_page_show_effects_with_their_intervals() -> None:
    records = [
        blindly_read(make_record(n, [(True, 3, n > 1, 4 + n), (True, 3, True, 3)]), True, False, False)
        for n in (1, 2, 3)
    ]
    row = get_figures_by_kind(*records)[None]
    assert row.points_lost
    low, high = compute_interval([50, 0, 0])
    cell = f"16.7 ({low:.1f} to {high:.1f})"
    text = card(figures(records), Contents(rows={"qa": {"train": 3}}), RunConfig())
    assert "## Distractors" in text
    assert cell in text
    assert "| all | 3 of 9 (33%) | 3 of 9 (33%) |" in text
    report = page(records, RunConfig())
    assert cell in report
    assert '<td class="n">33%</td>' in report


def test_a_card_mentions_missing_blind_readings_only_with_distractors() -> None:
    contents = Contents(rows={"qa": {"train": 1}})
    assert "## Distractors" not in card(figures([accepted()]), contents, RunConfig())
    assert "No blind reading was made" in card(figures([taught(1)]), contents, RunConfig())
