"""The target that is a band of solve rates: what the tries of the model that the pairs are for say of a draft, in words
for whoever revises it, and how long a chain is aimed at because of it.
"""

from collections import Counter
from collections.abc import Sequence

from pipeline.agents.solver import graded_rollouts
from pipeline.config import RunConfig
from pipeline.config.loop import MOST_STEPS
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.loop.assess import Threshold, advice, answers, shortcut, shortest
from pipeline.loop.policies import FIRST
from pipeline.types import Cause, Draft, Feedback, GradedRollout, Label, Round, Seed


async def attempts(draft: Draft, known: Sequence[GradedRollout], context: RunContext) -> list[GradedRollout]:
    """The tries of the model that the pairs are for, after the `known` ones: as many as decide. Without a confirmation
    it is these that are measured, so that all run unless the target is missed."""
    loop = context.config.loop
    return await _tried(draft, range(loop.rollouts), known, context, whole=not (loop.confirm and loop.early_stop))


async def confirm(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """K fresh tries of the model that the pairs are for, or as many as miss the target. None where no solve rate is a
    target, or it is the solver's, whom the confirmation measures."""
    if not (context.config.band and context.config.policy):
        return []
    ledger.enter(ledger.POLICIES)
    return await _tried(draft, range(FIRST, FIRST + context.config.loop.rollouts), (), context, whole=True)


async def _tried(
    draft: Draft, samples: range, known: Sequence[GradedRollout], context: RunContext, *, whole: bool
) -> list[GradedRollout]:
    """Together run the tries of which there must be so many in any case."""
    model, band, tried = context.config.policy_model, context.config.band, list(known)
    assert band is not None  # noqa: S101 - nobody asks else
    while more := band.due(_right(tried), len(tried), whole=whole):
        owed = samples[len(tried) : len(tried) + more]
        tried += await graded_rollouts(draft, owed, context, model)
    return tried


def missed(tried: Sequence[GradedRollout], config: RunConfig) -> bool:
    """Do these tries, if there are any, miss the target?"""
    return bool(tried) and _label(tried, config) in (Label.TOO_EASY, Label.UNSOLVED)


def _label(tried: Sequence[GradedRollout], config: RunConfig) -> Label | None:
    return config.band.label(_right(tried), len(tried)) if config.band else None


def feedback(draft: Draft, tried: Sequence[GradedRollout], config: RunConfig) -> Feedback | None:
    """Why the draft is too easy or too hard for the model, from the traces of its tries alone; None where neither."""
    count = f"{_right(tried)} of {len(tried)} tries"
    solved = f"the model to be trained solved it in {count}, and the target is {config.band}"
    if not missed(tried, config):
        return None
    return _above(draft, tried, solved) if _label(tried, config) is Label.TOO_EASY else _below(draft, tried, solved)


def _above(draft: Draft, tried: Sequence[GradedRollout], solved: str) -> Feedback:
    """By its shortest correct try."""
    rollout, verdict = shortest(tried)
    cause, hops, why = shortcut(draft, rollout, verdict)
    if cause is Cause.SUPERFICIAL and not hops:
        cause, why = Cause.ABOVE_BAND, "it found the passages of all hops"
    message = f"{solved}: its shortest correct try took {verdict.steps} steps; {why}. {advice(draft, cause, hops)}"
    return Feedback(label=Label.TOO_EASY, cause=Cause.ABOVE_BAND, message=message, hops=hops)


def _below(draft: Draft, tried: Sequence[GradedRollout], solved: str) -> Feedback:
    """By the hops at which most of its wrong tries came to an end."""
    wrong = [pair for pair in tried if not pair.verdict.correct]
    lost = Counter(next((n for n, at in enumerate(v.found_at) if at is None), None) for _, v in wrong)
    ends = [f"{count} {'try' if count == 1 else 'tries'} {_where(draft, n)}" for n, count in lost.most_common()]
    given = Counter(pair.rollout.answer for pair in wrong if pair.rollout.answered and pair.wrong)
    said = ", ".join(f"'{answer}'" for answer in given) or "nothing"
    most = lost.most_common(1)[0][0]
    hops = () if most is None else (most,)
    change = advice(draft, Cause.RETRIEVAL_MISS if hops else Cause.BELOW_BAND, hops)
    change += " Or leave out a step." if hops else ""
    message = f"{solved}: {', '.join(ends)}; the wrong answers were {said}. {change}"
    return Feedback(label=Label.UNSOLVED, cause=Cause.BELOW_BAND, message=message, hops=hops)


def _where(draft: Draft, number: int | None) -> str:
    if number is None:
        return "found the passages of all hops and answered wrongly"
    return f"never found the passage that gives {answers(draft, [number])} (hops[{number}])"


def _right(tried: Sequence[GradedRollout]) -> int:
    return sum(verdict.correct for _, verdict in tried)


def explained(config: RunConfig) -> str:
    """The target in words; empty where no solve rate is one."""
    if (band := config.band) is None:
        return ""
    counts, whose = band.counts, config.policy or "the run's own solver"
    right = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    free = "" if config.steps_required else ", whatever steps it takes"
    return f"{right} of {band.tries} tries of {whose} correct (a solve rate of {band}){free}"


def least_steps(seed: Seed, config: RunConfig) -> int:
    """The steps below which a draft is too easy: one where only the solve rate is a target."""
    return seed.target_steps if config.steps_required else 1


def find_threshold(seed: Seed, config: RunConfig) -> Threshold:
    """Return what a draft must withstand to be accepted.

    Seekers measure what a question really takes, so that the seed's own target is only an aim where they do.
    """
    if not config.difficulty.adversarial:
        return Threshold(least_steps(seed, config))
    return Threshold(config.steps[0] if config.steps_required else 1, takes_recall=False)


def aim(seed: Seed, config: RunConfig, rounds: Sequence[Round]) -> int:
    """The steps that an author is asked for: the seed's and, where the model solved a draft too often or too seldom,
    one more or less than that draft had."""
    least = seed.target_steps if config.steps_required else config.steps[0]
    for past in reversed(rounds):
        if past.draft and past.feedback and past.feedback.cause in _STEPS:
            wanted = len(past.draft.hops) + _STEPS[past.feedback.cause]
            return min(max(wanted, least), MOST_STEPS)
    return seed.target_steps


_STEPS = {Cause.ABOVE_BAND: 1, Cause.BELOW_BAND: -1}
