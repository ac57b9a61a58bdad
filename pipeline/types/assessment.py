"""How hard a question is for which model. Difficulty is relative to the model that it was measured with."""

from typing import Literal

from pipeline.types.data import Data
from pipeline.types.model_probe import Probe
from pipeline.types.rollout import GradedRollout, Rollout, Usage, Verdict

DEMO_MODELS = ("embedded", "embedded-weak")
"""The names of the demo model, normal and weak."""
DEMO_NOTE = "made with the demo model: these figures describe the pipeline, not the quality of the data"
"""The note beside all figures of a run with the demo model."""
WITH_DISTRACTORS = "/distractors"
"""The suffix of the name of a policy that is measured with a question's distractors in the index. No other name has
it."""
KNOWN_TRIES = 3
"""The least number of tries from memory: one or two right answers may be luck."""


def by_demo(models: str) -> bool:
    """Return whether the demo model is among the models, which are joined by " + ".

    If so, the figures describe the pipeline, and no row is for training.
    """
    return not set(DEMO_MODELS).isdisjoint(models.split(" + "))


class Assessment(Data):
    """One model on one question, over rollouts in one environment."""

    policy: str = ""
    """The name of the model in `models.policies`; empty for the run's own solver. A name with the suffix
    WITH_DISTRACTORS stands for that policy among the distractors of the question."""
    model: str
    retriever: str
    k: int
    """The number of passages per search."""
    environment: str = ""
    """A digest of the model's environment: prompt, tools, limits, rendering, and whether its thoughts were sent
    back."""
    rollouts: int
    solve_rate: float
    solve_rate_interval: tuple[float, float] | None = None
    """Wilson's interval, 95 %."""
    least_steps: int | None
    """The least steps of a correct rollout; None if none was correct."""
    median_steps: float | None = None
    """The median steps of the correct rollouts."""
    known: float | None = None
    """The share of tries without any passage that gave the right answer; None without tries."""
    known_tries: int = 0
    date: str = ""
    """The day of `digsite remeasure`; empty if the run itself measured it."""


class PolicyMeasurement(Data):
    """One model to be trained on the question of one record, measured in the run or by `digsite remeasure`."""

    key: str
    identity: str = ""
    """A digest of everything that its rollouts and verdicts depend on: model, sampling, environment, judges."""
    order: int = 0
    """0 for a measurement of the run itself; `remeasure` counts up. The latest measurement of a policy counts."""
    reasoning: Literal["keep", "strip"] = "strip"
    """Whether the model received its thoughts of earlier turns again."""
    trainable: bool = True
    """Whether other models may be trained on its outputs."""
    assessment: Assessment
    rollouts: tuple[Rollout, ...]
    verdicts: tuple[Verdict, ...]
    closed_book: Probe | None = None
    """Its answers without any passage."""

    @property
    def graded(self) -> list[GradedRollout]:
        return GradedRollout.join(self.rollouts, self.verdicts)

    @property
    def policy(self) -> str:
        return self.assessment.policy

    @property
    def usages(self) -> dict[str, list[Usage]]:
        probes = [self.closed_book] if self.closed_book else []
        return {
            "policy": [*(rollout.trajectory.usage for rollout in self.rollouts), *(probe.usage for probe in probes)],
            "judge": [*(verdict.usage for verdict in self.verdicts), *(probe.judged for probe in probes)],
        }
