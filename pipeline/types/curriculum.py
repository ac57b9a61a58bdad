"""What a curriculum sorts and mixes by: how hard a pair is for the policy that the data set is for, and what it is made
of. The policy is that of `--for`, or else the run's own solver.
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


def difficulty_band(solve_rate: float | None) -> str:
    """The name of the first band that holds the rate; empty where nothing was measured."""
    if solve_rate is None or solve_rate >= 1:
        return "" if solve_rate is None else "always"
    return next(name for name, most in DIFFICULTY_BANDS.items() if solve_rate <= most)


def order(solve_rate: float | None, steps: int | None, hops: int, key: str) -> float:
    """From 0 (easy) to 1 (hard): by the share of rollouts that failed, to a thousandth, then by steps, hops and a hash.

    It rests on nothing but the pair, so that no other pair moves it, and no two are alike.
    """
    failed = 1000 if solve_rate is None else round(1000 * (1 - solve_rate))
    place = failed
    for value, most in ((steps or 0, _STEPS), (hops, _HOPS), (int(key[:8], 16), _HASHES)):
        place = place * most + min(value, most - 1)
    # 53 bits: as many as a float tells apart.
    return place / ((1 << 10) * _STEPS * _HOPS * _HASHES)


def curriculum(record: Record, policy: str) -> dict[str, Any]:
    """The values of COLUMNS for a record with a draft."""
    draft = record.draft
    assert draft  # noqa: S101 - a view gives no row without one
    steps, solve_rate = record.hardness_for(policy)
    return {
        "band": difficulty_band(solve_rate),
        "steps": steps,
        "hop_count": len(draft.hops),
        "answer_type": str(draft.answer_type),
        "language": record.lineage.language,
        "strategy": record.lineage.strategy,
        "distractors": len(record.distractor_eval.used) if record.distractor_eval else 0,
        "order": order(solve_rate, steps, len(draft.hops), record.key),
        **record.step_counts.model_dump(),
    }
