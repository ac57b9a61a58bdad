"""Two runs beside each other: every figure is that of its run, and seeds are paired by what they were drawn from."""

from collections.abc import Sequence
from typing import Any

import pytest
from scipy import stats  # type: ignore[import-untyped]

from pipeline.analysis.comparison import Comparison, ComparisonInput, compare
from pipeline.analysis.contrasts import Contrast, in_words
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import Outside, figures
from pipeline.types import Record, Share, sha256
from tests.records import accepted, batch, below_target, rejected
from tests.tables import table


def side(records: Sequence[Record], what: dict[str, Any] | None = None) -> ComparisonInput:
    return ComparisonInput("made", table(records), Outside(), what or {})


def again(record: Record) -> Record:
    """The same seed as another run knows it: under another key."""
    key = sha256(f"again {record.key}")
    return record.model_copy(update={"key": key, "seed": record.seed.model_copy(update={"key": key})})


def named(contrasts: Sequence[Contrast], name: str) -> Contrast:
    return next(one for one in contrasts if one.name == name)


@pytest.fixture(scope="module")
def both() -> Comparison:
    return compare(side(batch(48)), side([again(record) for record in batch(24)]))


def test_every_count_is_that_of_its_run(both: Comparison) -> None:
    made = figures(table(batch(48))), figures(table(batch(24)))
    assert (both.first.accepted, both.second.accepted) == tuple(one.accepted for one in made)
    for stage, first, second in zip(both.funnel, made[0].funnel[1:], made[1].funnel[1:], strict=True):
        assert (stage.name, stage.counts) == (first.name, (first.count, second.count))
    ends = {one.name: one.counts for one in both.ends}
    for place, one in enumerate(made):
        assert sum(counts[place] for counts in ends.values() if counts) == one.planned
        assert {name: counts[place] for name, counts in ends.items() if counts and counts[place]} == {
            "accepted": one.accepted, **{reason.name: reason.count for reason in one.reasons}
        }  # fmt: skip
    steps = named(both.figures, "measured steps of a pair")
    assert steps.first
    assert steps.first.value == pytest.approx(made[0].mean_difficulty)
    tokens = named(both.figures, "tokens for a pair")
    used = made[1].usage
    assert tokens.second
    assert tokens.second.value == pytest.approx((used.prompt_tokens + used.completion_tokens) / made[1].accepted)
    assert sum(one.second.value for one in both.roles if one.second) == pytest.approx(tokens.second.value)
    for contrasts in (both.difficulty, both.solve_rates, both.reasoning):
        assert sum(one.counts[0] for one in contrasts if one.counts) == made[0].accepted
    assert [sum(target.planned[place] for target in both.targets) for place in (0, 1)] == [48, 24]


def test_seeds_are_paired_by_passage_and_draw_whatever_their_keys() -> None:
    first = [accepted(1), accepted(2), rejected(3), rejected(4), accepted(9)]
    second = [accepted(1), rejected(2), accepted(3), rejected(4), accepted(8)]
    found = compare(side(first), side([again(record) for record in second])).paired
    assert found
    assert (found.seeds, found.alone) == (4, (1, 1))
    mixed = compare(side([*first, again(first[0])]), side(second)).paired
    assert mixed
    assert (mixed.seeds, mixed.alone) == (4, (1, 1)), "a mix may hold a seed twice"
    assert (found.both, found.first, found.second, found.neither) == (1, 1, 1, 1)
    gave = named(found.contrasts, "gave a pair")
    assert gave.cases == 4
    assert gave.difference
    assert gave.difference.value == 0


def test_a_paired_difference_is_one_over_seeds() -> None:
    first = [accepted(n) for n in (1, 2, 3)]
    second = [accepted(1), below_target(2), below_target(3)]
    found = compare(side(first), side([again(record) for record in second])).paired
    assert found
    assert (found.more_steps, found.same_steps, found.fewer_steps) == (0, 1, 2)
    steps = named(found.contrasts, "measured steps, where both were measured")
    apart = [(b.difficulty or 0) - (a.difficulty or 0) for a, b in zip(first, second, strict=True)]
    low, high = stats.t.interval(0.95, 2, sum(apart) / 3, stats.sem(apart))
    assert steps.difference
    assert steps.difference.low == pytest.approx(low, 1e-3)
    assert steps.difference.high == pytest.approx(high, 1e-3)


def test_another_corpus_pairs_nothing() -> None:
    other = [
        r.model_copy(update={"lineage": r.lineage.model_copy(update={"corpus_fingerprint": "x"})}) for r in batch(8)
    ]
    found = compare(side(batch(8)), side(other))
    assert (found.same_corpus, found.paired) == (False, None)


def test_settings_that_differ_are_named() -> None:
    one = {"steps": [2, 4], "loop": {"rounds": 4, "audit": True}, "prompts": {"a": sha256("1"), "gone": sha256("x")}}
    other = {"steps": [2, 4], "loop": {"rounds": 2, "audit": True}, "prompts": {"a": sha256("2")}}
    found = compare(side(batch(8), one), side(batch(8), other)).settings
    assert [(s.name, s.first, s.second) for s in found] == [
        ("loop.rounds", "4", "2"),
        ("prompts.a", sha256("1")[:12], sha256("2")[:12]),
        ("prompts.gone", sha256("x")[:12], ""),
    ]


def test_a_run_without_a_pair_or_a_seed_is_compared_all_the_same() -> None:
    for records in ([rejected(1)], []):
        found = compare(side(batch(8)), side(records))
        assert named(found.figures, "tokens for a pair").difference is None
        assert named(found.figures, "seeds that gave a pair").counts == (found.first.accepted, 0)


def test_the_difference_of_two_shares_has_newcombes_interval() -> None:
    """His example of 1998, method 10: 56 of 70 and 48 of 80."""
    found = Interval.of_share(Share(part=56, whole=70)).minus(Interval.of_share(Share(part=48, whole=80)))
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=1e-4)
    assert found.high == pytest.approx(0.3339, abs=1e-4)


def test_an_amount_s_interval_stays_above_0() -> None:
    found = Interval.of([10.0, 0.0, 500.0], [1, 0, 0]).positive()
    assert found.low is not None
    assert 0 < found.low < found.value == 510 < (found.high or 0)


@pytest.mark.parametrize(
    ("found", "unit", "signed", "words"),
    [
        (Interval(value=0.25, low=0.2, high=0.31), "share", False, "25% (20% to 31%)"),
        (Interval(value=0.25, low=-0.02, high=0.5), "share", True, "+25.0 points (-2.0 to 50.0)"),
        (Interval(value=-1200.0), "amount", True, "-1.20k"),
        (None, "number", False, "–"),
    ],
)
def test_a_figure_in_words(found: Interval | None, unit: Any, signed: bool, words: str) -> None:
    assert in_words(found, unit, signed=signed) == words


def test_it_is_plain_data(both: Comparison) -> None:
    assert Comparison.model_validate_json(both.model_dump_json()) == both
