"""What a curriculum sorts and mixes by: how hard a pair is for the policy of `--for`, and what it is made of.

`band` and `order` are null until that policy was measured: how often the run's own solver was right says nothing of the
model that will be trained.
"""

from typing import Any

from pipeline.types import Record
from pipeline.types.step_counts import StepCounts

DIFFICULTY_BANDS = {"unsolved": 0.0, "hard": 1 / 3, "medium": 2 / 3, "easy": 1.0, "always": 1.0}
"""The greatest solve rate of each band: `unsolved` is 0 alone, `always` 1 alone, and `easy` ends below 1."""

COLUMNS: dict[str, Any] = {
    "band": str,
    "steps": int,
    "hop_count": int,
    "answer_type": str,
    "language": str,
    "strategy": str,
    "distractors": int,
    "order": float,
    **dict.fromkeys(StepCounts.model_fields, int),
}
_STEPS, _HOPS, _HASHES = 64, 32, 1 << 32


def difficulty_band(solve_rate: float | None) -> str | None:
    """Return the name of the first band that holds the rate, or None if nothing was measured."""
    if solve_rate is None or solve_rate >= 1:
        return None if solve_rate is None else "always"
    return next(name for name, most in DIFFICULTY_BANDS.items() if solve_rate <= most)


def order(solve_rate: float, steps: int | None, hops: int, key: str) -> float:
    """Return a position from 0 (easy) to 1 (hard).

    It goes by the share of rollouts that failed, to a thousandth, then by steps, hops and a hash. It depends on this
    pair only, so that no other pair moves it, and no two are alike.
    """
    place = round(1000 * (1 - solve_rate))
    for value, most in ((steps or 0, _STEPS), (hops, _HOPS), (int(key[:8], 16), _HASHES)):
        place = place * most + min(value, most - 1)
    # 53 bits: as many as a float tells apart.
    return place / ((1 << 10) * _STEPS * _HOPS * _HASHES)


def curriculum(record: Record, policy: str) -> dict[str, Any]:
    """The values of COLUMNS for a record with a draft."""
    draft = record.draft
    assert draft  # noqa: S101 - a view gives no row without one
    hop_count = len(draft.hops)
    steps, solve_rate = record.hardness_for(policy)
    rate = solve_rate if policy else None
    return {
        "band": difficulty_band(rate),
        "steps": steps,
        "hop_count": hop_count,
        "answer_type": str(draft.answer_type),
        "language": record.lineage.language,
        "strategy": record.lineage.strategy,
        "distractors": len(record.distractor_eval.used) if record.distractor_eval else 0,
        "order": None if rate is None else order(rate, steps, hop_count, record.key),
        **record.step_counts.model_dump(),
    }
