"""There are fewer hops than steps wanted."""

from pipeline.loop.checks.base import ALL_STAY, Case, Check, Found, Stage
from pipeline.types import Cause


async def too_few_hops(case: Case) -> Found | None:
    """Such a draft could meet its target only by a solver's detours."""
    hops = len(case.draft.hops)
    return Found(f"it has {hops} hops and is to take {case.target} steps") if hops < case.target else None


CHECK = Check(
    stage=Stage.LONG,
    cause=Cause.SUPERFICIAL,
    advice=f"Add a hop at the beginning or at the end. {ALL_STAY}",
    look=too_few_hops,
)
