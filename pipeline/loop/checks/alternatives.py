"""Several rollouts agree on a wrong answer, and their passages support it."""

from collections.abc import Iterable, Sequence

from pipeline.agents.readers import check_alternative
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult, DraftCheck
from pipeline.reward.equality import equal
from pipeline.text.names import normalise
from pipeline.types import Cause, Draft, Feedback, Finding, Label, Passage, Probe, Rollout, Verdict

VOTES = 2
"""Rollouts that must agree: a single wrong answer says more about the solver than about the question."""
MOST_PASSAGES = 40
ADVICE = "Say in the question what rules the other answer out."


def find_agreeing_rollouts(draft: Draft, rollouts: Iterable[tuple[Rollout, Verdict]]) -> list[Rollout]:
    """Return the largest group of wrong rollouts with the same answer, the fewest steps first.

    The group is empty if fewer than `VOTES` rollouts agree. The judge does not compare unsupported answers with the
    known one, so they are compared here.
    """
    groups: list[list[Rollout]] = []
    for rollout, verdict in rollouts:
        if rollout.answered and not verdict.right and not is_known_answer(draft, rollout.answer):
            group = next((group for group in groups if is_same_answer(rollout.answer, group[0].answer)), None)
            if group is None:
                groups.append(group := [])
            group.append(rollout)
    largest = max(groups, key=len, default=[])
    if len(largest) < VOTES:
        return []
    return sorted(largest, key=lambda rollout: (rollout.trajectory.steps, rollout.sample))


async def check_agreed_answer(
    draft: Draft, rollouts: Sequence[tuple[Rollout, Verdict]], feedback: Feedback | None, context: RunContext
) -> CheckResult:
    """Ask a reader whether the passages support the wrong answer with the most votes. If so, the draft goes back.

    The reader is not asked if `feedback` already sends the draft back as too easy or unsound.
    """
    is_decided = feedback is not None and feedback.label is not Label.UNSOLVED
    if is_decided or "alternatives" not in context.config.checks_enabled():
        return CheckResult()
    if not (voters := find_agreeing_rollouts(draft, rollouts)):
        return CheckResult()
    answer, passages = voters[0].answer, await load_shown_passages(voters[0], context)
    fits, usage = await check_alternative(draft.question, answer, passages, context)
    model = context.config.models.of("reader").model
    probe = Probe(check="alternatives", model=model, answers=(answer,), right=int(fits), usage=usage)
    detail = f"{describe_agreement(draft, voters, len(rollouts))}, and their passages bear it out. {ADVICE}"
    finding = Finding(check="alternatives", cause=CHECK.cause, hops=(len(draft.hops) - 1,), detail=detail)
    return CheckResult(probes=(probe,), findings=(finding,) if fits else ())


def describe_agreement(draft: Draft, voters: Sequence[Rollout], rollouts: int) -> str:
    return f"{len(voters)} of {rollouts} solvers settled on '{voters[0].answer}', the key says '{draft.answer}'"


def is_same_answer(first: str, second: str) -> bool:
    return normalise(first) == normalise(second) or equal(first, [second])


def is_known_answer(draft: Draft, answer: str) -> bool:
    """Return whether the reward accepts an answer. It is strict: €5 million is not $5 million."""
    return any(equal(answer, [name]) for name in (draft.answer, *draft.answer_aliases))


async def load_shown_passages(rollout: Rollout, context: RunContext) -> list[Passage]:
    ids = dict.fromkeys(passage_id for call in rollout.trajectory.calls for passage_id in call.passage_ids)
    passages = [await context.retriever.get(passage_id) for passage_id in list(ids)[-MOST_PASSAGES:]]
    return [passage for passage in passages if passage is not None]


CHECK = DraftCheck(3, Cause.AMBIGUOUS, None)
