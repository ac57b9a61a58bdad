"""Several rollouts agree on a wrong answer, and their passages support it."""

from collections.abc import Iterable, Sequence

from pipeline.agents.readers import check_alternative
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult, DraftCheck
from pipeline.reward.equality import equal
from pipeline.text.names import normalise
from pipeline.types import Cause, Draft, Feedback, Finding, Label, Passage, Probe, Rollout, Verdict

VOTES = 2
"""Rollouts that must agree on it: one alone says more of the solver than of the question."""
MOST_PASSAGES = 40
ADVICE = "Say in the question what rules the other answer out."


def agreed(draft: Draft, tried: Iterable[tuple[Rollout, Verdict]]) -> list[Rollout]:
    """Return the wrong rollouts that agree on one answer, in whatever spelling, the fewest steps first; none if too few
    agree. No judge has compared the answer of a rollout without support with the key, so that it is compared here."""
    groups: list[list[Rollout]] = []
    for rollout, verdict in tried:
        if rollout.answered and not verdict.right and not is_key(draft, rollout.answer):
            agreeing = next((group for group in groups if same(rollout.answer, group[0].answer)), None)
            if agreeing is None:
                groups.append(agreeing := [])
            agreeing.append(rollout)
    most = max(groups, key=len, default=[])
    return sorted(most, key=lambda r: (r.trajectory.steps, r.sample)) if len(most) >= VOTES else []


async def alternatives(
    draft: Draft, tried: Sequence[tuple[Rollout, Verdict]], feedback: Feedback | None, context: RunContext
) -> CheckResult:
    """Ask a reader about the wrong answer with the most votes; the draft goes back if the passages bear it out.

    Nothing is asked about a draft that `feedback` sends back for being too easy or unsound.
    """
    is_decided = feedback is not None and feedback.label is not Label.UNSOLVED
    if is_decided or "alternatives" not in context.config.checks_enabled():
        return CheckResult()
    if not (voters := agreed(draft, tried)):
        return CheckResult()
    answer = voters[0].answer
    fits, usage = await check_alternative(draft.question, answer, await seen(voters[0], context), context)
    model = context.config.models.of("reader").model
    probe = Probe(check="alternatives", model=model, answers=(answer,), right=int(fits), usage=usage)
    detail = f"{settled(draft, voters, len(tried))}, and their passages bear it out. {ADVICE}"
    finding = Finding(check="alternatives", cause=CHECK.cause, hops=(len(draft.hops) - 1,), detail=detail)
    return CheckResult(probes=(probe,), findings=(finding,) if fits else ())


def settled(draft: Draft, voters: Sequence[Rollout], tried: int) -> str:
    """Say on what these of so many rollouts agree."""
    return f"{len(voters)} of {tried} solvers settled on '{voters[0].answer}', the key says '{draft.answer}'"


def same(answer: str, other: str) -> bool:
    """Return whether it is one answer, in whatever spelling."""
    return normalise(answer) == normalise(other) or equal(answer, [other])


def is_key(draft: Draft, answer: str) -> bool:
    """Return whether it is the known answer by the reward's rules: €5 million is no other spelling of $5 million."""
    return any(equal(answer, [name]) for name in (draft.answer, *draft.answer_aliases))


async def seen(rollout: Rollout, context: RunContext) -> list[Passage]:
    """Return the passages that the rollout was shown, the last ones if there are too many."""
    ids = dict.fromkeys(key for call in rollout.trajectory.calls for key in call.passage_ids)
    passages = [await context.retriever.get(key) for key in list(ids)[-MOST_PASSAGES:]]
    return [passage for passage in passages if passage is not None]


CHECK = DraftCheck(3, Cause.AMBIGUOUS, None)
