"""The state of a run, as `result.json` holds it."""

from pathlib import Path

from pipeline.types import Data


class RunResult(Data):
    """The state of a run. `planned == accepted + rejected + failed`; seeds that a gate dropped count as rejected."""

    folder: Path
    planned: int
    accepted: int
    rejected: int
    failed: int
    reasons: dict[str, int]
    """Counts of rejected and failed seeds by reason; `gate:` and a name if a gate dropped the seed."""
    surplus: int
    """Finished seeds beyond the plan, which a larger plan will use."""
    dropped: dict[str, int]
    """Passages that the seed filter dropped on the way, by reason; none of them is planned."""
    complete: bool
    exhausted: bool
    """Whether the most seeds were tried and there are fewer pairs than wanted."""
    missing: dict[str, int]
    """Accepted pairs that lack rollouts of an optional stage, by stage; `digsite complete` makes these."""
    damaged: int
    """Lines of the journal that were torn or damaged; their seeds are owed again."""
