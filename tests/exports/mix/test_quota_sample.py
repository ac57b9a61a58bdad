"""Quotas of a mix are exact if the pairs allow it, never exceeded, and the same in any order; gaps are counted."""

import random

import pytest

from pipeline.errors import UsageError
from pipeline.exports.mix.quota_sample import Quota, parse_quotas, sample_pairs
from pipeline.types import sha256

HARD, GERMAN = Quota("band", "hard", 0.3), Quota("language", "de", 0.2)


def make_pool(**counts: int) -> dict[str, dict[str, str]]:
    """Make these numbers of pairs per kind, such as `hard_de`."""
    kinds = [kind.split("_") for kind, count in counts.items() for _ in range(count)]
    return {sha256(str(n)): {"band": band, "language": language} for n, (band, language) in enumerate(kinds)}


def count_shares(values: dict[str, dict[str, str]], keys: frozenset[str]) -> tuple[float, float]:
    hard = sum(values[key]["band"] == "hard" for key in keys)
    german = sum(values[key]["language"] == "de" for key in keys)
    return hard / len(keys), german / len(keys)


def test_one_quota_is_exact_and_takes_all_that_it_can() -> None:
    values = make_pool(hard_en=90, easy_en=600, medium_en=310)
    sample = sample_pairs(values, (HARD,), None)
    assert len(sample.keys) == 300
    assert count_shares(values, sample.keys)[0] == 0.3
    assert [(quota.name, quota.wanted, quota.taken, quota.there, quota.short) for quota in sample.quotas] == [
        ("band:hard", 90, 90, 90, 0),
        ("the rest of band", 210, 210, 910, 0),
    ]


def test_two_quotas_are_met_together_though_their_pairs_are_of_different_kinds() -> None:
    values = make_pool(hard_de=10, hard_en=90, easy_de=70, easy_en=830)
    sample = sample_pairs(values, (HARD, GERMAN), None)
    assert len(sample.keys) >= 330
    hard, german = count_shares(values, sample.keys)
    assert hard == pytest.approx(0.3, abs=0.004)
    assert german == pytest.approx(0.2, abs=0.004)


def test_missing_pairs_are_counted_and_not_replaced() -> None:
    values = make_pool(hard_en=50, easy_en=950)
    sample = sample_pairs(values, (HARD,), 500)
    assert [(quota.wanted, quota.taken, quota.short) for quota in sample.quotas] == [(150, 50, 100), (350, 350, 0)]
    assert len(sample.keys) == 50 + 350
    none, _ = sample_pairs(make_pool(easy_en=10), (HARD,), None).quotas
    assert (none.wanted, none.taken, none.there) == (3, 0, 0)


@pytest.mark.parametrize("size", [None, 10])
def test_pairs_of_one_value_leave_other_values_short(size: int | None) -> None:
    sample = sample_pairs(make_pool(hard_en=10), (HARD,), size)
    assert [(quota.wanted, quota.taken, quota.short) for quota in sample.quotas] == [(3, 3, 0), (7, 0, 7)]
    halves = (Quota("band", "easy", 0.7), HARD)
    assert [quota.value for quota in sample_pairs(make_pool(hard_en=3, easy_en=7), halves, size).quotas] == [
        "easy",
        "hard",
    ]


def test_shares_that_exclude_each_other_are_never_exceeded() -> None:
    values = make_pool(hard_de=300, easy_en=700)
    sample = sample_pairs(values, (HARD, Quota("language", "de", 0.5)), 100)
    assert [(quota.wanted, quota.taken) for quota in sample.quotas] == [(30, 30), (50, 30), (70, 50), (50, 50)]


@pytest.mark.parametrize("seed", range(8))
def test_no_value_ever_has_more_than_its_share(seed: int) -> None:
    chance = random.Random(seed)
    values = {
        sha256(f"{seed} {n}"): {
            "band": chance.choice(["hard", "easy", "easy", "medium"]),
            "language": chance.choice(["de", "en", "fr"]),
            "hops": chance.choice("234"),
        }
        for n in range(400)
    }
    quotas = (HARD, Quota("hops", "4", 0.1), Quota("language", "de", 0.5), Quota("language", "en", 0.1))
    sample = sample_pairs(values, quotas, chance.choice([None, 50, 200]))
    assert sample.keys
    assert all(0 <= quota.taken <= quota.wanted for quota in sample.quotas)
    assert all(quota.short <= 3 for quota in sample.quotas if quota.there > quota.wanted)


def test_the_sample_depends_only_on_the_keys() -> None:
    values = make_pool(hard_en=40, easy_en=300, easy_de=60)
    reversed_values = dict(reversed(values.items()))
    assert sample_pairs(values, (HARD, GERMAN), None) == sample_pairs(reversed_values, (HARD, GERMAN), None)
    fewer = sample_pairs(values, (HARD,), 60).keys
    assert fewer < sample_pairs(values, (HARD,), 100).keys
    assert len(sample_pairs(values, (), 7).keys) == 7


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["band=0.3"], "takes TRAIT:VALUE=SHARE"),
        (["band:hard=30"], "takes TRAIT:VALUE=SHARE"),
        (["band:hard=0..3"], "takes TRAIT:VALUE=SHARE"),
        (["colour:red=0.3"], "no trait for --quota 'colour'; known: target"),
        (["band:harsh=0.3"], "no 'harsh'; known: unsolved"),
        (["band:hard=0.7", "band:easy=0.7"], "shares of band add up"),
    ],
)
def test_an_invalid_quota_is_a_usage_error(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_quotas(texts)


def test_a_repeated_quota_replaces_the_first() -> None:
    assert parse_quotas(["band:hard=0.2", "language:pt-BR=0.5", "band:hard=0.3"]) == (
        HARD,
        Quota("language", "pt-BR", 0.5),
    )
