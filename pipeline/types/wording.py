"""One wording of a question that somebody brought, over fresh rollouts."""

from typing import Literal

from pipeline.types.data import Data
from pipeline.types.rollout import Rollout, Usage, Verdict, correct, least_steps
from pipeline.types.share import Share


class Wording(Data):
    """What the model that the question is made harder for makes of it in these words."""

    name: Literal["unchanged", "paraphrase", "hardened"]
    question: str
    role: Literal["solver", "policy"]
    """Who tried it: the run's solver, or the policy that the run is for."""
    rollouts: tuple[Rollout, ...]
    verdicts: tuple[Verdict, ...]
    written: Usage = Usage()
    """What the author of a paraphrase took; of one that was none it stands at `unchanged`."""

    @property
    def solved(self) -> Share:
        return Share(part=len(correct(self.verdicts)), whole=len(self.verdicts))

    @property
    def least_steps(self) -> int | None:
        return least_steps(correct(self.verdicts))

    @property
    def usages(self) -> dict[str, list[Usage]]:
        """By role, of rollouts, verdicts and the author."""
        return {
            self.role: [rollout.trajectory.usage for rollout in self.rollouts],
            "judge": [verdict.usage for verdict in self.verdicts],
            "refiner": [self.written],
        }
