"""Several rollouts agree on a wrong answer, and their passages support it."""

from collections.abc import Iterable, Sequence

from pipeline.agents.readers import check_alternative
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult, DraftCheck, Found, Stage
from pipeline.reward.answers import compared, placed
from pipeline.reward.equality import equal
from pipeline.text.names import normalise
from pipeline.types import Cause, Draft, Feedback, Label, Passage, Probe, Rollout, Verdict

VOTES = 2
"""Rollouts that must agree on it: one alone says more of the solver than of the question."""
MOST_PASSAGES = 40


def agreed(draft: Draft, tried: Iterable[tuple[Rollout, Verdict]]) -> list[Rollout]:
    """The wrong rollouts that settled on one answer, in whatever spelling, where enough of them did: the most, the
    first of them with the fewest steps. Of one without its support no judge has said whether its answer is the key."""
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
    """The wrong answer with the most votes; a fatal finding where the passages bear it out.

    Not asked about a draft that `feedback` sends back for being too easy or unsound.
    """
    decided = feedback is not None and feedback.label is not Label.UNSOLVED
    if decided or "alternatives" not in context.config.checks_run():
        return CheckResult()
    found = _further_item(draft, tried) if draft.answer_items else _other_answer(draft, tried)
    if found is None:
        return CheckResult()
    answer, claim, voter, told = found
    fits, usage = await check_alternative(draft.question, claim, await seen(voter, context), context)
    model = context.config.models.of("reader").model
    probe = Probe(check="alternatives", model=model, answers=(answer,), right=int(fits), usage=usage)
    against = Found(f"{told}, and their passages bear it out", (len(draft.hops) - 1,))
    findings = (against.finding("alternatives", CHECK.cause),) if fits else ()
    return CheckResult(probes=(probe,), findings=findings)


def _other_answer(draft: Draft, tried: Sequence[tuple[Rollout, Verdict]]) -> tuple[str, str, Rollout, str] | None:
    """The wrong answer, the claim to check, the rollout whose passages are looked at, and how many gave it."""
    if not (voters := agreed(draft, tried)):
        return None
    return voters[0].answer, voters[0].answer, voters[0], settled(draft, voters, len(tried))


def _further_item(draft: Draft, tried: Sequence[tuple[Rollout, Verdict]]) -> tuple[str, str, Rollout, str] | None:
    """The same of a list: one more item that several of its wrong rollouts name, or put into one gap of a text."""
    named: dict[str, list[tuple[str, str, Rollout]]] = {}
    for rollout in (rollout for rollout, verdict in tried if rollout.answered and not verdict.right):
        for claim, name in {normalise(claim): (claim, name) for claim, name in _wrong(draft, rollout.answer)}.values():
            named.setdefault(normalise(claim), []).append((claim, name, rollout))
    votes = max(named.values(), key=len, default=[])
    if len(votes) < VOTES:
        return None
    claim, item, voter = min(votes, key=lambda vote: (vote[2].trajectory.steps, vote[2].sample))
    told = f"say that {claim}" if draft.ordered else f"named '{item}' too"
    return item, claim, voter, f"{len(votes)} of {len(tried)} rollouts {told}"


def _wrong(draft: Draft, answer: str) -> list[tuple[str, str]]:
    """What an answer names beside the items of the list, or in a gap instead of its own, and what it claims so."""
    items = [list(item.spellings) for item in draft.answer_items]
    if draft.ordered:
        given = enumerate(zip(placed(answer, len(items), items), items, strict=True), 1)
        return [(f"[{n}] is {name}", name) for n, (name, own) in given if name and not _any_same(name, own)]
    known = [name for item in items for name in item]
    return [(f"{name} is one of them", name) for name in compared(answer, items)[1] if not _any_same(name, known)]


def settled(draft: Draft, voters: Sequence[Rollout], tried: int) -> str:
    """In words, on what these of so many rollouts agree."""
    return f"{len(voters)} of {tried} solvers settled on '{voters[0].answer}', the key says '{draft.answer}'"


def same(answer: str, other: str) -> bool:
    """One answer, in whatever spelling."""
    return normalise(answer) == normalise(other) or equal(answer, [other])


def is_key(draft: Draft, answer: str) -> bool:
    """Is it the known answer, in whatever spelling?"""
    return _any_same(answer, (draft.answer, *draft.answer_aliases))


def _any_same(answer: str, others: Iterable[str]) -> bool:
    """By the reward's rules: €5 million is no other spelling of $5 million."""
    return any(equal(answer, [other]) for other in others)


async def seen(rollout: Rollout, context: RunContext) -> list[Passage]:
    """The passages that the rollout was shown, or the last of it where that is too much."""
    ids = dict.fromkeys(key for call in rollout.trajectory.calls for key in call.passage_ids)
    passages = [await context.retriever.get(key) for key in list(ids)[-MOST_PASSAGES:]]
    return [passage for passage in passages if passage is not None]


CHECK = DraftCheck(Stage.TRIED, 1, Cause.AMBIGUOUS)
