"""From rollouts to what they say: verdicts, a label that cannot change any more, and the named cause to feed back.

Pure functions. SAGE's difficulty is the least number of searches over the correct rollouts (Alg. 2); here repeated
calls are left out, and a rollout is correct only if it also read the support of its answer.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from pipeline.agents.environment_file import environment
from pipeline.agents.grading import observations, recalled_hops, shows_evidence
from pipeline.context import RunContext
from pipeline.loop.checks.alternatives import agreed, settled
from pipeline.text import strip_tag
from pipeline.text.names import normalise
from pipeline.types import Assessment, Cause, Draft, Feedback, Finding, Label, Probe, Rollout, Share, Verdict

Tried = Sequence[tuple[Rollout, Verdict]]
UNSOUND = (Cause.GENERATOR_ERROR, Cause.AMBIGUOUS, Cause.UNNATURAL, Cause.UNDATED)
"""Causes that make a draft unusable, and not merely too easy."""


def assessment(
    verdicts: Sequence[Verdict], context: RunContext, closed_book: Probe | None = None, *, policy: str = ""
) -> Assessment:
    """How the run's solver, or the policy of that name, did on one question. There is at least one verdict."""
    config = context.config
    model = config.models.policies[policy] if policy else config.models.of("solver")
    steps = [v.steps for v in verdicts if v.correct]
    solved = Share(part=len(steps), whole=len(verdicts))
    return Assessment(
        policy=policy,
        model=model.model,
        retriever=context.lineage.retriever,
        k=config.retrieval.k,
        environment=environment(config).model_copy(update={"reasoning": model.reasoning, "calls": model.calls}).digest,
        rollouts=solved.whole,
        solve_rate=solved.value,
        solve_rate_interval=solved.interval,
        least_steps=min(steps, default=None),
        median_steps=median(steps) if steps else None,
        known=closed_book.right / closed_book.tries if closed_book else None,
        known_tries=closed_book.tries if closed_book else 0,
    )


class Threshold(NamedTuple):
    """The searches that a draft must take, and which tries can show that it takes fewer."""

    steps: int
    takes_recall: bool = True
    """Whether a try that recalled something can, as in the paper."""

    def is_missed(self, verdict: Verdict) -> bool:
        """Return whether a try shows that the draft takes fewer searches."""
        return verdict.correct and verdict.steps < self.steps and (self.takes_recall or not verdict.recalled)


def label(verdicts: Sequence[Verdict], threshold: Threshold) -> Label:
    """Return what these verdicts say of the draft."""
    if not any(verdict.correct for verdict in verdicts):
        return Label.UNSOLVED
    return Label.TOO_EASY if any(map(threshold.is_missed, verdicts)) else Label.CANDIDATE


def have_decided(verdicts: Sequence[Verdict], threshold: Threshold, *, rollouts: int, screen: int | None) -> bool:
    """Return whether no further rollout could change the label.

    With a `screen`, the first correct one of so many sends the draft on: K fresh rollouts confirm it.
    """
    settles = any(verdict.correct and (screen or threshold.is_missed(verdict)) for verdict in verdicts)
    return settles or len(verdicts) >= (screen or rollouts)


def feedback_from_findings(findings: Sequence[Finding]) -> Feedback:
    """Return what sends a draft back before its rollouts: the cause of the gravest finding, and all that was found."""
    gravest = next((finding for finding in findings if finding.cause in UNSOUND), findings[0])
    return Feedback(
        label=Label.UNSOUND if gravest.cause in UNSOUND else Label.TOO_EASY,
        cause=gravest.cause,
        message=" ".join(f"{finding.check}: {finding.detail.rstrip('.')}." for finding in findings),
        hops=gravest.hops,
    )


def feedback(draft: Draft, tried: Tried, threshold: Threshold, *, refuted: bool = False) -> Feedback | None:
    """Name why a draft was too easy or unsolved, from the traces alone; None for a candidate.

    Args:
        draft: the draft.
        tried: its rollouts with their verdicts.
        threshold: what it must withstand.
        refuted: whether the wrong answer that most rollouts agree on was checked, and does not fit.
    """
    outcome = label([verdict for _, verdict in tried], threshold)
    if outcome is Label.CANDIDATE:
        return None
    if outcome is Label.UNSOLVED:
        return _unsolved(draft, tried, refuted)
    rollout, verdict = shortest([pair for pair in tried if threshold.is_missed(pair[1])])
    cause, hops, why = shortcut(draft, rollout, verdict)
    return _back(draft, outcome, cause, hops, f"solved in {verdict.steps} steps: {why}")


def shortest(tried: Tried) -> tuple[Rollout, Verdict]:
    """The correct try that took the fewest steps. There is one."""
    return min((pair for pair in tried if pair[1].correct), key=lambda pair: (pair[1].steps, pair[1].sample))


def answers(draft: Draft, hops: Iterable[int]) -> str:
    """What these hops give, in quotes."""
    return " and ".join(f"'{draft.hops[number].answer}'" for number in hops)


_ALL_STAY = "All hops may stay."
"""How an advice ends for which no hop is changed."""
_CHANGES: dict[Cause, str] = {
    Cause.CO_LOCATED: "Replace one of these hops by a fact that stands in another passage.",
    Cause.OVER_SPECIFIED: f"Leave out the clue whose words find the last passage, or say it otherwise. {_ALL_STAY}",
    Cause.QUERY_COLLAPSE: "Replace one of these hops by one that shares no name with the other.",
    Cause.SUPERFICIAL: "Replace these hops by ones without which the next cannot be asked for.",
    Cause.RETRIEVAL_MISS: "Give a clue to these hops that stands in their passages in those words.",
    Cause.SOLVER_ERROR: f"Say the question more plainly. {_ALL_STAY}",
    Cause.AMBIGUOUS: f"Add the one clue that rules the other answer out. {_ALL_STAY}",
    Cause.PRIOR_KNOWLEDGE: "Take a less known thing in their place.",
    Cause.ABOVE_BAND: f"Add a step that depends on the others, or describe what the question names. {_ALL_STAY}",
    Cause.BELOW_BAND: f"Say the question more plainly, or leave out a step. {_ALL_STAY}",
}
"""The one thing to change for what rollouts show; a check says it in its finding."""


def advice(draft: Draft, cause: Cause, faulty: Sequence[int]) -> str:
    """Return the one thing to change, and which hops may stay."""
    change = _CHANGES[cause]
    stay = [number for number in range(len(draft.hops)) if number not in faulty]
    if change.endswith(_ALL_STAY) or not faulty or not stay:
        return change
    return f"{change} The hops that give {answers(draft, stay)} may stay."


def _back(draft: Draft, label: Label, cause: Cause, hops: tuple[int, ...], why: str) -> Feedback:
    return Feedback(label=label, cause=cause, message=f"{why}. {advice(draft, cause, hops)}", hops=hops)


def shortcut(draft: Draft, rollout: Rollout, found: Verdict) -> tuple[Cause, tuple[int, ...], str]:
    """Why a correct rollout took few steps: cause, hops concerned and what happened. The four causes of SAGE's failure
    analysis (paper, §5), or what its solver knew by heart, which is none of them."""
    calls = rollout.trajectory.calls
    deciding = {draft.hops[number].passage_id for number in draft.graph.decisive_hops}
    at_once = len(draft.hops) > 1 and bool(calls) and deciding <= {*calls[0].passage_ids}
    unused = tuple(number for number, at in enumerate(found.found_at) if at is None)
    known = tuple(number for number in recalled_hops(draft, rollout) if at_once or number in unused)
    if known:
        why = f"the solver searched with {answers(draft, known)} before any passage had shown it"
        return Cause.PRIOR_KNOWLEDGE, known, why
    if at_once:
        why = f"the first search, '{calls[0].argument}', already found what decides the answer"
        return Cause.OVER_SPECIFIED, draft.graph.decisive_hops, why
    why = f"it did without {answers(draft, unused)}" if unused else "the hops took fewer searches than wanted"
    return _together(draft, rollout) or (Cause.SUPERFICIAL, unused, why)


def _together(draft: Draft, rollout: Rollout) -> tuple[Cause, tuple[int, ...], str] | None:
    """The first search that answered several hops at once, and how: by the passages that they cite, by one passage that
    holds the evidence of all, or by another passage in the place of a cited one."""
    answered: set[int] = set()
    for call, text in observations(rollout):
        blocks = list(zip(call.passage_ids, text.split("\n\n"), strict=False))
        owed = [i for i in range(len(draft.hops)) if i not in answered]
        homes = tuple(i for i in owed if draft.hops[i].passage_id in call.passage_ids)
        if len(homes) > 1:
            why = f"the search '{call.argument}' found the passages that give {answers(draft, homes)} together"
            return Cause.QUERY_COLLAPSE, homes, why
        for passage_id, block in blocks:
            if len(both := tuple(i for i in owed if shows_evidence(draft, i, (passage_id,), block))) > 1:
                return Cause.CO_LOCATED, both, f"one passage, '{_title(block)}', gives {answers(draft, both)} together"
        others = {i: title for i in owed if i not in homes and (title := _stands_in(draft, i, blocks))}
        if homes and others:
            names = ", ".join(f"'{title}'" for title in others.values())
            both = tuple(sorted({*homes, *others}))
            given = f"the search '{call.argument}' gave {answers(draft, both)} together"
            return Cause.QUERY_COLLAPSE, both, f"{given}, with {names} in the place of a passage that they cite"
        answered.update(homes, others)
    return None


def _stands_in(draft: Draft, number: int, blocks: Sequence[tuple[str, str]]) -> str:
    """The title of a passage that no hop cites and that answers this one: it says the same, or is the page of what it
    leads to."""
    homes, answer = {hop.passage_id for hop in draft.hops}, normalise(draft.hops[number].answer)
    for title, block in ((_title(block), block) for passage_id, block in blocks if passage_id not in homes):
        leads_on = number < len(draft.hops) - 1 and normalise(strip_tag(title)) == answer
        if leads_on or shows_evidence(draft, number, (), block):
            return title
    return ""


def _title(block: str) -> str:
    """Of a passage as it is rendered: what follows rank and id."""
    return block.partition("\n")[0].partition("] ")[2]


def _unsolved(draft: Draft, tried: Tried, refuted: bool) -> Feedback:
    """Say what went wrong in most rollouts: nothing found, a rival answer, or the solver itself."""
    missed = tuple(i for i in range(len(draft.hops)) if all(v.found_at[i] is None for _, v in tried))
    voters = agreed(draft, tried)
    hops: tuple[int, ...] = ()
    if missed:
        cause, hops = Cause.RETRIEVAL_MISS, missed
        why = f"no agent found the passages that give {answers(draft, missed)}"
    elif len(voters) * 2 > len(tried) and not refuted:
        cause, hops, why = Cause.AMBIGUOUS, (len(draft.hops) - 1,), "another answer may fit as well"
    else:
        cause, why = Cause.SOLVER_ERROR, "the passages were found and not understood"
    if voters:
        why += f"; {settled(draft, voters, len(tried))}" + ", which a reader did not find borne out" * refuted
    return _back(draft, Label.UNSOLVED, cause, hops, f"no rollout was correct: {why}")
