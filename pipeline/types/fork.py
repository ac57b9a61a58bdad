"""A rollout taken up again at one of its states."""

from pipeline.types.data import Data
from pipeline.types.rollout import Rollout, Verdict


class Branch(Data):
    """One way on from the state; its messages begin with those that lead there."""

    rollout: Rollout
    verdict: Verdict


class Fork(Data):
    """A state of a stored rollout of the final question, and how often the solver gets from there to the answer."""

    key: str
    """Of the record."""
    method: str
    """Which method asked for it: the name of a module of `pipeline/exports/branching`."""
    source: int
    """The sample of the rollout."""
    prefix: int
    """The state: so many of its messages; the next one is the assistant's own."""
    branches: tuple[Branch, ...]
    """Fresh samples from the state on."""
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
        """Calls that the fork rests on, of all roles, whether or not a cache answered them."""
        made = (*self.branches, *self.controls)
        return sum(b.rollout.trajectory.usage.calls + b.verdict.usage.calls for b in made)
