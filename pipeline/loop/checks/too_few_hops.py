"""There are fewer hops than steps wanted."""

from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage
from pipeline.types import Cause

ADVICE = f"Add a hop at the beginning, or at the end where the answer may change. {ALL_STAY}"


async def too_few_hops(case: Case) -> Found | None:
    """Such a draft could meet its target only by a solver's detours."""
    hops = len(case.draft.hops)
    return Found(f"it has {hops} hops and is to take {case.target} steps") if hops < case.target else None


CHECK = DraftCheck(Stage.LONG, 1, Cause.SUPERFICIAL, advice=ADVICE, look=too_few_hops)
