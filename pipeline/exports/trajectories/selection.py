"""Rejection sampling: which of the rollouts of a pair that were paid for are worth imitating, and in what order."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from pipeline.agents.environment_file import Environment
from pipeline.agents.grading import by_heart, holds, observations
from pipeline.config import RunConfig
from pipeline.config.sft_settings import SftConfig
from pipeline.errors import UsageError
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import is_trainable
from pipeline.types import Draft, GradedRollout, PolicyMeasurement, Record, Rollout, Verdict, sha256

AGENTS = ("solver", "teacher", "policy")
T = TypeVar("T")


class TrainingExample(NamedTuple):
    """A rollout to imitate."""

    agent: str
    rollout: Rollout
    verdict: Verdict
    resisted: bool | None = None
    """Did a teacher resist every distractor that it met? None where it met none, and for the others."""
    measured: PolicyMeasurement | None = None
    """What a policy's rollout is part of."""


def ready(config: RunConfig) -> None:
    """Raises UsageError where a policy's rollouts are asked for, and nobody says which policy."""
    if "policy" in config.sft.source and not config.gates.policy:
        raise UsageError("sft.source = policy needs the name of the policy: --for NAME")


def examples(
    record: Record, environment: Environment, render: Callable[[TrainingExample], T | None]
) -> Iterator[tuple[TrainingExample, T]]:
    """The rollouts that `[sft]` selects, the solver's first, with what `render` makes of each.

    Left out are those that cannot be rendered, and those rendered before: a teacher at temperature 0 repeats itself.
    """
    settings, seen = environment.sft, list[T]()
    for agent in AGENTS:
        if agent not in settings.source:
            continue
        passing = _passing(record, _made(record, agent, environment), environment)
        left = settings.per_pair or (len(passing) if settings.select == "all" or agent == "teacher" else 1)
        for example in _ordered(record, passing, settings):
            if not left:
                break
            text = render(example)
            if text and text not in seen:
                seen.append(text)
                left -= 1
                yield example, text


def counts(record: Record, environment: Environment) -> dict[str, Counter[str]]:
    """By agent, of those that made rollouts of the question and are asked for: how many were `made`, and how many each
    condition left. `fit` are correct, and of a form worth imitating, of the teacher those that the run keeps; `passed`
    passed the filters of `[sft]` too."""
    kept = Counter(example.agent for example, _ in examples(record, environment, said))
    every = {agent: _made(record, agent, environment) for agent in environment.sft.source}
    return {
        agent: Counter(
            made=len(made),
            correct=sum(example.verdict.correct for example, _ in made),
            fit=len(_fit(made)),
            passed=len(_passing(record, made, environment)),
            kept=kept[agent],
        )
        for agent, made in every.items()
        if made
    }


def said(example: TrainingExample) -> list[str] | None:
    """Its messages after the system prompt, by which two trajectories are the same; none where it cannot be read."""
    return chat.dumped(example.rollout.trajectory.messages[1:])


def _made(record: Record, agent: str, environment: Environment) -> list[tuple[TrainingExample, bool]]:
    """All rollouts of an agent, each with whether it is good enough: correct, or of the teacher what the run keeps."""
    if agent == "teacher":
        return [
            (TrainingExample(agent, made.rollout, made.verdict, made.resisted if made.encounters else None), made.kept)
            for made in record.teacher_rollouts
        ]
    measured, graded = None, record.graded
    if agent == "policy":
        measured = record.measurement(environment.policy) if environment.policy else None
        pairs = zip(measured.rollouts, measured.verdicts, strict=True) if measured else ()
        graded = [GradedRollout(*pair) for pair in pairs]
    return [(TrainingExample(agent, *one, measured=measured), one.verdict.correct) for one in graded]


def _fit(made: list[tuple[TrainingExample, bool]]) -> list[TrainingExample]:
    return [example for example, good in made if good and is_trainable(example.rollout.trajectory)]


def _passing(
    record: Record, made: list[tuple[TrainingExample, bool]], environment: Environment
) -> list[TrainingExample]:
    draft = record.draft
    return [one for one in _fit(made) if draft and _passes(one, draft, environment)]


def _passes(example: TrainingExample, draft: Draft, environment: Environment) -> bool:
    settings = environment.sft
    if example.verdict.steps < settings.min_steps:
        return False
    if settings.every_hop and None in example.verdict.found_at:
        return False
    if settings.unguessed and guessed(draft, example.rollout):
        return False
    if settings.max_tokens is None:
        return True
    texts = chat.dumped(example.rollout.trajectory.messages) or []
    return chat.tokens([*texts, environment.offered]) <= settings.max_tokens


def guessed(draft: Draft, rollout: Rollout) -> bool:
    """Did it search with the answer of a hop before it had been shown it?"""
    if by_heart(draft, rollout):
        return True
    if draft.graph.is_computed:
        return False
    names = [draft.answer]
    for call, text in observations(rollout):
        shown = [name for name in names if holds(text, name)]
        if any(holds(call.argument, name) for name in names):
            return True
        names = [name for name in names if name not in shown]
    return False


def _ordered(record: Record, found: list[TrainingExample], settings: SftConfig) -> list[TrainingExample]:
    if settings.select == "random":
        return sorted(found, key=lambda one: sha256(f"{record.key}:{one.agent}:{one.rollout.sample}"))
    if settings.select == "longest":
        return sorted(found, key=lambda one: (-one.verdict.steps, one.verdict.calls, one.rollout.sample))
    ordered = sorted(found, key=lambda one: (one.verdict.steps, one.verdict.calls, one.rollout.sample))
    return _spread(ordered) if settings.select == "diverse" else ordered


def _spread(ordered: list[TrainingExample]) -> list[TrainingExample]:
    """The first, then each time whichever shares the fewest calls with the one before it that is most like it."""
    acts = [{(call.tool, call.argument) for call in one.rollout.trajectory.calls} for one in ordered]
    taken, left = list[int](), list(range(len(ordered)))
    while left:
        # Of equals the earlier, which is the shorter.
        nearest = [max((_likeness(acts[n], acts[other]) for other in taken), default=0.0) for n in left]
        taken.append(left.pop(nearest.index(min(nearest))))
    return [ordered[n] for n in taken]


def _likeness(one: set[Any], other: set[Any]) -> float:
    """Jaccard's."""
    return len(one & other) / len(one | other) if one or other else 1.0
