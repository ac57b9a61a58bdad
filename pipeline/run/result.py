"""How a run stands, as `result.json` holds it."""

from pathlib import Path

from pipeline.types import Data


class RunResult(Data):
    """How a run stands; `planned == accepted + rejected + failed`. What a gate dropped is rejected."""

    folder: Path
    planned: int
    accepted: int
    rejected: int
    failed: int
    reasons: dict[str, int]
    """Of the rejected and the failed; `gate:` and a name for what a gate dropped."""
    surplus: int
    """Finished seeds beyond the plan, which a larger one will use."""
    dropped: dict[str, int]
    """Passages that the seed filter dropped on the way, by reason; none of them is planned."""
    complete: bool
    exhausted: bool
    """The most seeds were tried, and there are fewer pairs than wanted."""
    missing: dict[str, int]
    """Accepted pairs that lack rollouts of an optional stage, by stage; `digsite complete` makes them up."""
    damaged: int
    """Lines of the journal that were torn or damaged; their seeds are owed again."""
