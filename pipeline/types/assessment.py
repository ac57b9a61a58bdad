"""How hard a question is, and for whom: difficulty ages with the model that it was measured with."""

from typing import Literal

from pipeline.types.data import Data
from pipeline.types.model_probe import Probe
from pipeline.types.rollout import Rollout, Usage, Verdict

DEMO_MODELS = ("embedded", "embedded-weak")
"""The names of the demo model in its two strengths."""
DEMO_NOTE = "made with the demo model: these figures describe the pipeline, not the quality of the data"
"""Stands wherever a figure of such a run does."""
WITH_DISTRACTORS = "/distractors"
"""Ends the name under which a policy is measured with the distractors of a question in the index; no name holds it."""
KNOWN_TRIES = 3
"""From memory, at least: what most of one or two tries gave may be luck."""


def by_demo(models: str) -> bool:
    """Did the demo model play any of the roles, whose models are joined by " + "? Then the figures describe the
    pipeline, and no row is for training."""
    return not set(DEMO_MODELS).isdisjoint(models.split(" + "))


class Assessment(Data):
    """One model on one question, over fresh rollouts in one environment."""

    policy: str = ""
    """Which of the models to be trained it is, by its name in `models.policies`; empty: the run's own solver. A name
    that ends in WITH_DISTRACTORS: that policy among the distractors of the question."""
    model: str
    retriever: str
    k: int
    """Passages per search."""
    environment: str = ""
    """Digest of all that the model was given: prompt, tools, limits, rendering, whether its thoughts were sent back."""
    rollouts: int
    solve_rate: float
    solve_rate_interval: tuple[float, float] | None = None
    """Wilson's, 95 %."""
    least_steps: int | None
    """Over the correct rollouts; none where none was correct."""
    median_steps: float | None = None
    """As `least_steps`."""
    known: float | None = None
    """Share of the tries without any passage that gave the right answer; None where there was no try."""
    known_tries: int = 0
    date: str = ""
    """The day on which `digsite remeasure` measured it; empty for what the run itself measured."""


class PolicyMeasurement(Data):
    """What was measured of one record for one model to be trained, in the run or by `digsite remeasure`."""

    key: str
    identity: str = ""
    """Digest of all that its rollouts and verdicts rest on: model, sampling, environment, judges."""
    order: int = 0
    """0 for what the run itself measured, then counted by `remeasure`: of one policy the latest counts."""
    reasoning: Literal["keep", "strip"] = "strip"
    """Whether the model was sent its thoughts of earlier turns again."""
    trainable: bool = True
    """May other models be trained on what it writes?"""
    assessment: Assessment
    rollouts: tuple[Rollout, ...]
    verdicts: tuple[Verdict, ...]
    closed_book: Probe | None = None
    """What it answered without any passage."""

    @property
    def policy(self) -> str:
        return self.assessment.policy

    @property
    def usages(self) -> dict[str, list[Usage]]:
        """By role, of rollouts, closed book and their verdicts."""
        asked = [self.closed_book] if self.closed_book else []
        return {
            "policy": [*(made.trajectory.usage for made in self.rollouts), *(probe.usage for probe in asked)],
            "judge": [*(verdict.usage for verdict in self.verdicts), *(probe.judged for probe in asked)],
        }
