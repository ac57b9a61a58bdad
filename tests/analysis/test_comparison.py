"""Two runs compared: every figure is that of its run, and seeds are paired by what they were drawn from."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.analysis.comparison import Comparison, ComparisonInput, compare
from pipeline.analysis.contrasts import Contrast, in_words
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import Outside, figures
from pipeline.types import Record, Share, sha256
from tests.records import accepted, batch, below_target, rejected
from tests.seed_tables import table


def make_input(records: Sequence[Record], settings: dict[str, Any] | None = None) -> ComparisonInput:
    return ComparisonInput("made", table(records), Outside(), settings or {})


def rekey(record: Record) -> Record:
    """Return the same seed under another run's key."""
    key = sha256(f"again {record.key}")
    return record.model_copy(update={"key": key, "seed": record.seed.model_copy(update={"key": key})})


def find_contrast(contrasts: Sequence[Contrast], name: str) -> Contrast:
    return next(contrast for contrast in contrasts if contrast.name == name)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(make_input(batch(48)), make_input([rekey(record) for record in batch(24)]))


def test_every_count_is_that_of_its_run(comparison: Comparison) -> None:
    expected = figures(table(batch(48))), figures(table(batch(24)))
    assert (comparison.first.accepted, comparison.second.accepted) == tuple(run.accepted for run in expected)
    for stage, first, second in zip(comparison.funnel, expected[0].funnel[1:], expected[1].funnel[1:], strict=True):
        assert (stage.name, stage.counts) == (first.name, (first.count, second.count))
    ends = {end.name: end.counts for end in comparison.ends}
    for index, run_figures in enumerate(expected):
        assert sum(counts[index] for counts in ends.values() if counts) == run_figures.planned
        assert {name: counts[index] for name, counts in ends.items() if counts and counts[index]} == {
            "accepted": run_figures.accepted, **{reason.name: reason.count for reason in run_figures.reasons}
        }  # fmt: skip
    steps = find_contrast(comparison.figures, "measured steps of a pair")
    assert steps.first
    assert steps.first.value == pytest.approx(expected[0].mean_difficulty)
    tokens = find_contrast(comparison.figures, "tokens for a pair")
    usage = expected[1].usage
    assert tokens.second
    assert tokens.second.value == pytest.approx((usage.prompt_tokens + usage.completion_tokens) / expected[1].accepted)
    assert sum(role.second.value for role in comparison.roles if role.second) == pytest.approx(tokens.second.value)
    for contrasts in (comparison.difficulty, comparison.solve_rates, comparison.reasoning):
        assert sum(row.counts[0] for row in contrasts if row.counts) == expected[0].accepted
    assert [sum(target.planned[index] for target in comparison.targets) for index in (0, 1)] == [48, 24]


def test_seeds_are_paired_by_passage_and_draw_whatever_their_keys() -> None:
    first = [accepted(1), accepted(2), rejected(3), rejected(4), accepted(9)]
    second = [accepted(1), rejected(2), accepted(3), rejected(4), accepted(8)]
    paired = compare(make_input(first), make_input([rekey(record) for record in second])).paired
    assert paired
    assert (paired.seeds, paired.alone) == (4, (1, 1))
    mixed = compare(make_input([*first, rekey(first[0])]), make_input(second)).paired
    assert mixed
    assert (mixed.seeds, mixed.alone) == (4, (1, 1)), "a mix may contain a seed twice"
    assert (paired.both, paired.first, paired.second, paired.neither) == (1, 1, 1, 1)
    gave_a_pair = find_contrast(paired.contrasts, "gave a pair")
    assert gave_a_pair.cases == 4
    assert gave_a_pair.difference
    assert gave_a_pair.difference.value == 0


def test_a_paired_difference_is_over_seeds() -> None:
    from scipy import stats  # type: ignore[import-untyped]

    first = [accepted(n) for n in (1, 2, 3)]
    second = [accepted(1), below_target(2), below_target(3)]
    paired = compare(make_input(first), make_input([rekey(record) for record in second])).paired
    assert paired
    assert (paired.more_steps, paired.same_steps, paired.fewer_steps) == (0, 1, 2)
    steps = find_contrast(paired.contrasts, "measured steps, where both were measured")
    apart = [(b.difficulty or 0) - (a.difficulty or 0) for a, b in zip(first, second, strict=True)]
    low, high = stats.t.interval(0.95, 2, sum(apart) / 3, stats.sem(apart))
    assert steps.difference
    assert steps.difference.low == pytest.approx(low, 1e-3)
    assert steps.difference.high == pytest.approx(high, 1e-3)


def test_another_corpus_pairs_nothing() -> None:
    other_corpus = [
        r.model_copy(update={"lineage": r.lineage.model_copy(update={"corpus_fingerprint": "x"})}) for r in batch(8)
    ]
    comparison = compare(make_input(batch(8)), make_input(other_corpus))
    assert (comparison.same_corpus, comparison.paired) == (False, None)


def test_settings_that_differ_are_named() -> None:
    first = {"steps": [2, 4], "loop": {"rounds": 4, "audit": True}, "prompts": {"a": sha256("1"), "gone": sha256("x")}}
    second = {"steps": [2, 4], "loop": {"rounds": 2, "audit": True}, "prompts": {"a": sha256("2")}}
    settings = compare(make_input(batch(8), first), make_input(batch(8), second)).settings
    assert [(s.name, s.first, s.second) for s in settings] == [
        ("loop.rounds", "4", "2"),
        ("prompts.a", sha256("1")[:12], sha256("2")[:12]),
        ("prompts.gone", sha256("x")[:12], ""),
    ]


def test_a_run_without_a_pair_or_a_seed_is_compared_too() -> None:
    for records in ([rejected(1)], []):
        comparison = compare(make_input(batch(8)), make_input(records))
        assert find_contrast(comparison.figures, "tokens for a pair").difference is None
        assert find_contrast(comparison.figures, "seeds that gave a pair").counts == (comparison.first.accepted, 0)


def test_the_difference_of_two_shares_has_newcombes_interval() -> None:
    """Use Newcombe's example of 1998, method 10: 56 of 70 and 48 of 80."""
    difference = Interval.of_share(Share(part=56, whole=70)).minus(Interval.of_share(Share(part=48, whole=80)))
    assert difference.value == pytest.approx(0.2)
    assert difference.low == pytest.approx(0.0524, abs=1e-4)
    assert difference.high == pytest.approx(0.3339, abs=1e-4)


def test_the_interval_of_an_amount_stays_above_0() -> None:
    interval = Interval.of([10.0, 0.0, 500.0], [1, 0, 0]).positive()
    assert interval.low is not None
    assert 0 < interval.low < interval.value == 510 < (interval.high or 0)


@pytest.mark.parametrize(
    ("interval", "unit", "signed", "words"),
    [
        (Interval(value=0.25, low=0.2, high=0.31), "share", False, "25% (20% to 31%)"),
        (Interval(value=0.25, low=-0.02, high=0.5), "share", True, "+25.0 points (-2.0 to 50.0)"),
        (Interval(value=-1200.0), "amount", True, "-1.20k"),
        (None, "number", False, "–"),
    ],
)
def test_a_figure_is_formatted(interval: Interval | None, unit: Any, signed: bool, words: str) -> None:
    assert in_words(interval, unit, signed=signed) == words


def test_a_comparison_is_plain_data(comparison: Comparison) -> None:
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison
