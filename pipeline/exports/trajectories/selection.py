"""Rejection sampling: which rollouts of a pair are worth imitating, and in what order."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from pipeline.agents.environment_file import Environment
from pipeline.agents.grading import holds, observations, recalled_hops
from pipeline.config import RunConfig
from pipeline.config.exports import SftConfig
from pipeline.errors import UsageError
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import is_trainable
from pipeline.types import Draft, PolicyMeasurement, Record, Rollout, Verdict, sha256

AGENTS = ("solver", "teacher", "policy")
T = TypeVar("T")


class TrainingExample(NamedTuple):
    """A rollout to imitate."""

    agent: str
    rollout: Rollout
    verdict: Verdict
    resisted: bool | None = None
    """Whether a teacher resisted every distractor that it met. None for other agents, or if it met none."""
    measured: PolicyMeasurement | None = None
    """The measurement that a policy's rollout belongs to."""


def require_policy(config: RunConfig) -> None:
    """Raise UsageError if `[sft]` asks for a policy's rollouts but no policy is named."""
    if "policy" in config.sft.source and not config.gates.policy:
        raise UsageError("sft.source = policy needs the name of the policy: --for NAME")


def examples(
    record: Record, environment: Environment, render: Callable[[TrainingExample], T | None]
) -> Iterator[tuple[TrainingExample, T]]:
    """Yield the rollouts that `[sft]` selects, the solver's first, each with its rendering by `render`.

    Rollouts that cannot be rendered are skipped, and so are repeated renderings: a teacher at temperature 0 repeats
    itself.
    """
    settings, rendered = environment.sft, list[T]()
    for agent in AGENTS:
        if agent not in settings.source:
            continue
        passing = _filter_candidates(record, _list_candidates(record, agent, environment), environment)
        remaining = settings.per_pair or (len(passing) if settings.select == "all" or agent == "teacher" else 1)
        for example in _sort(record, passing, settings):
            if not remaining:
                break
            text = render(example)
            if text and text not in rendered:
                rendered.append(text)
                remaining -= 1
                yield example, text


def count_rollouts(record: Record, environment: Environment) -> dict[str, Counter[str]]:
    """Return by agent how many rollouts were `made`, and how many remained after each condition.

    `fit` are those that are good enough and worth imitating by their form; `passed` also passed the filters of `[sft]`;
    `kept` became rows. Agents without a rollout are left out.
    """
    rows_by_agent = Counter(example.agent for example, _ in examples(record, environment, dump_conversation))
    by_agent = {agent: _list_candidates(record, agent, environment) for agent in environment.sft.source}
    return {
        agent: Counter(
            made=len(candidates),
            correct=sum(example.verdict.correct for example, _ in candidates),
            fit=len(_filter_trainable(candidates)),
            passed=len(_filter_candidates(record, candidates, environment)),
            kept=rows_by_agent[agent],
        )
        for agent, candidates in by_agent.items()
        if candidates
    }


def dump_conversation(example: TrainingExample) -> list[str] | None:
    """Return the messages after the system prompt as JSON, or None if they cannot be dumped."""
    return chat.dump_messages(example.rollout.trajectory.messages[1:])


def _list_candidates(record: Record, agent: str, environment: Environment) -> list[tuple[TrainingExample, bool]]:
    """Return all rollouts of an agent, each with whether it is good enough.

    A teacher's rollout is good enough if the run keeps it, any other if it is correct.
    """
    if agent == "teacher":
        return [
            (TrainingExample(agent, t.rollout, t.verdict, t.resisted if t.encounters else None), t.kept)
            for t in record.teacher_rollouts
        ]
    measured, rollouts = None, record.graded
    if agent == "policy":
        measured = record.measurement(environment.policy) if environment.policy else None
        rollouts = measured.graded if measured else []
    return [(TrainingExample(agent, *graded, measured=measured), graded.verdict.correct) for graded in rollouts]


def _filter_trainable(candidates: list[tuple[TrainingExample, bool]]) -> list[TrainingExample]:
    return [example for example, is_good in candidates if is_good and is_trainable(example.rollout.trajectory)]


def _filter_candidates(
    record: Record, candidates: list[tuple[TrainingExample, bool]], environment: Environment
) -> list[TrainingExample]:
    draft = record.draft
    return [example for example in _filter_trainable(candidates) if draft and _passes(example, draft, environment)]


def _passes(example: TrainingExample, draft: Draft, environment: Environment) -> bool:
    settings = environment.sft
    if example.verdict.steps < settings.min_steps:
        return False
    if settings.every_hop and None in example.verdict.found_at:
        return False
    if settings.unguessed and has_guessed(draft, example.rollout):
        return False
    if settings.max_tokens is None:
        return True
    texts = chat.dump_messages(example.rollout.trajectory.messages) or []
    return chat.tokens([*texts, environment.offered]) <= settings.max_tokens


def has_guessed(draft: Draft, rollout: Rollout) -> bool:
    """Check whether the rollout searched for the answer of a hop before it had seen it."""
    if recalled_hops(draft, rollout):
        return True
    if draft.graph.is_computed:
        return False
    unseen = [draft.answer]
    for call, text in observations(rollout):
        if any(holds(call.argument, name) for name in unseen):
            return True
        unseen = [name for name in unseen if not holds(text, name)]
    return False


def _sort(record: Record, candidates: list[TrainingExample], settings: SftConfig) -> list[TrainingExample]:
    if settings.select == "random":
        return sorted(candidates, key=lambda example: sha256(f"{record.key}:{example.agent}:{example.rollout.sample}"))
    sign = -1 if settings.select == "longest" else 1
    by_steps = sorted(
        candidates,
        key=lambda example: (sign * example.verdict.steps, example.verdict.calls, example.rollout.sample),
    )
    return _sort_diverse(by_steps) if settings.select == "diverse" else by_steps


def _sort_diverse(candidates: list[TrainingExample]) -> list[TrainingExample]:
    """Start with the first candidate; then always append the one that is least similar to all before it."""
    calls = [{(call.tool, call.argument) for call in example.rollout.trajectory.calls} for example in candidates]
    chosen, waiting = list[int](), list(range(len(candidates)))
    while waiting:
        # Ties go to the first, which is the shortest.
        nearest = [max((_jaccard(calls[n], calls[m]) for m in chosen), default=0.0) for n in waiting]
        chosen.append(waiting.pop(nearest.index(min(nearest))))
    return [candidates[n] for n in chosen]


def _jaccard(first: set[Any], second: set[Any]) -> float:
    return len(first & second) / len(first | second) if first or second else 1.0
