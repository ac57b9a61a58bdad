"""Measurements of policy models."""

from typing import Any

from pipeline.types import Assessment, PolicyMeasurement, Rollout, correct
from tests.records import Style, draft, rollout, verdict, world

W = world(1)
STYLES: dict[str, list[Style]] = {
    "half": ["right", "lucky", "wrong", "wrong"],
    "none": ["wrong", "wrong"],
    "all": ["right", "right"],
}


def make_rollout(style: Style, sample: int, thought: str = "") -> Rollout:
    base = rollout(W, draft(W), sample, style)
    messages = [
        m.model_copy(update={"reasoning": f"{thought}{n}"}) if m.role == "assistant" and thought else m
        for n, m in enumerate(base.trajectory.messages)
    ]
    return base.model_copy(update={"trajectory": base.trajectory.model_copy(update={"messages": tuple(messages)})})


def measure(
    policy: str, outcome: str = "half", *, known: float | None = 0.0, tries: int = 3, **update: Any
) -> PolicyMeasurement:
    """Measure rollouts that reason with `thought` in every turn."""
    thought = update.pop("thought", "")
    rollouts = [make_rollout(style, 1000 + n, thought) for n, style in enumerate(STYLES[outcome])]
    verdicts = tuple(verdict(W, rollout, draft(W)) for rollout in rollouts)
    steps = [v.steps for v in correct(verdicts)]
    assessment = Assessment(
        policy=policy, model=update.pop("model", "m"), retriever="bm25", k=5, rollouts=len(rollouts),
        solve_rate=len(steps) / len(rollouts), least_steps=min(steps, default=None),
        median_steps=sum(steps) / len(steps) if steps else None, known=known, known_tries=tries,
        date=update.pop("date", ""),
    )  # fmt: skip
    return PolicyMeasurement(key="k", assessment=assessment, rollouts=tuple(rollouts), verdicts=verdicts, **update)
