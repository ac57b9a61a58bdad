"""New rollouts from an intermediate state of a stored rollout."""

from pipeline.types.data import Data
from pipeline.types.rollout import Rollout, Verdict


class Branch(Data):
    """A rollout from the state; its messages begin with those before the state."""

    rollout: Rollout
    verdict: Verdict


class Fork(Data):
    """A state of a stored rollout of the final question, and how often the solver gets from there to the answer."""

    key: str
    """The key of the record."""
    method: str
    """The method that chose the state: the name of a module of `pipeline/exports/branching`."""
    source: int
    """The sample of the stored rollout."""
    prefix: int
    """The number of messages before the state; the next message is the assistant's."""
    branches: tuple[Branch, ...]
    """Fresh samples from the state."""
    controls: tuple[Branch, ...] = ()
    """The same samples after the rollout's own next turn."""

    @property
    def id(self) -> str:
        return f"{self.key}:{self.method}:{self.source}:{self.prefix}"

    @property
    def solved(self) -> int:
        return sum(branch.verdict.correct for branch in self.branches)

    @property
    def calls(self) -> int:
        """Return the number of calls of all roles, whether or not they were cache hits."""
        branches = (*self.branches, *self.controls)
        return sum(b.rollout.trajectory.usage.calls + b.verdict.usage.calls for b in branches)
