"""The columns that a curriculum sorts and mixes by: how hard a pair is for the policy of `--for`, and its composition.

`band` and `order` are null until that policy is measured: the solve rate of the run's own solver says nothing about the
model that will be trained.
"""

from typing import Any

from pipeline.types import Record
from pipeline.types.step_counts import StepCounts

DIFFICULTY_BANDS = {"unsolved": 0.0, "hard": 1 / 3, "medium": 2 / 3, "easy": 1.0, "always": 1.0}
"""The greatest solve rate of each band: `unsolved` is exactly 0, `always` exactly 1, and `easy` ends below 1."""

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
    """Return the name of the first band that contains the rate, or None if nothing was measured."""
    if solve_rate is None or solve_rate >= 1:
        return None if solve_rate is None else "always"
    return next(name for name, most in DIFFICULTY_BANDS.items() if solve_rate <= most)


def order(solve_rate: float, steps: int | None, hops: int, key: str) -> float:
    """Return a position from 0 (easy) to 1 (hard).

    It depends on the share of failed rollouts, to a thousandth, then on steps, hops and a hash, and so on this pair
    alone. No two pairs have the same position.
    """
    position = round(1000 * (1 - solve_rate))
    for value, limit in ((steps or 0, _STEPS), (hops, _HOPS), (int(key[:8], 16), _HASHES)):
        position = position * limit + min(value, limit - 1)
    # 53 bits, the precision of a float.
    return position / ((1 << 10) * _STEPS * _HOPS * _HASHES)


def curriculum(record: Record, policy: str) -> dict[str, Any]:
    """Return the values of COLUMNS for a record with a draft."""
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
