"""What rollouts show about a draft: its label, how hard it is, and the cause and advice that go back to the refiner.

Pure functions. SAGE's difficulty is the least number of searches over the correct rollouts (Alg. 2). Here repeated
calls are not counted, and a correct rollout must also have seen the evidence.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from pipeline.agents.environment_file import environment
from pipeline.agents.grading import observations, recalled_hops, shows_evidence
from pipeline.context import RunContext
from pipeline.loop.checks.alternatives import describe_agreement, find_agreeing_rollouts
from pipeline.text import strip_tag
from pipeline.text.names import normalise
from pipeline.types import Assessment, Cause, Draft, Feedback, Finding, Label, Probe, Rollout, Share, Verdict

Attempts = Sequence[tuple[Rollout, Verdict]]
UNSOUND = (Cause.GENERATOR_ERROR, Cause.AMBIGUOUS, Cause.UNNATURAL, Cause.UNDATED)
"""Causes that make a draft unusable, and not merely too easy."""


def build_assessment(
    verdicts: Sequence[Verdict], context: RunContext, closed_book: Probe | None = None, *, policy: str = ""
) -> Assessment:
    """Build the assessment of one question for the run's solver or a policy.

    Args:
        verdicts: the verdicts of the model's rollouts, at least one.
        context: the run.
        closed_book: the model's answers from memory.
        policy: the name of the policy; empty for the solver.
    """
    config = context.config
    model = config.models.policies[policy] if policy else config.models.of("solver")
    steps = [verdict.steps for verdict in verdicts if verdict.correct]
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
    """The fewest searches that a draft must need, and which rollouts can show that it needs fewer."""

    steps: int
    takes_recall: bool = True
    """Whether a rollout that used its memory counts, as in the paper."""

    def is_missed(self, verdict: Verdict) -> bool:
        return verdict.correct and verdict.steps < self.steps and (self.takes_recall or not verdict.recalled)


def choose_label(verdicts: Sequence[Verdict], threshold: Threshold) -> Label:
    if not any(verdict.correct for verdict in verdicts):
        return Label.UNSOLVED
    return Label.TOO_EASY if any(map(threshold.is_missed, verdicts)) else Label.CANDIDATE


def feedback_from_findings(findings: Sequence[Finding]) -> Feedback:
    """Return the feedback of checks: the cause of the most serious finding, and the details of all."""
    gravest = next((finding for finding in findings if finding.cause in UNSOUND), findings[0])
    return Feedback(
        label=Label.UNSOUND if gravest.cause in UNSOUND else Label.TOO_EASY,
        cause=gravest.cause,
        message=" ".join(f"{finding.check}: {finding.detail.rstrip('.')}." for finding in findings),
        hops=gravest.hops,
    )


def explain_rollouts(
    draft: Draft, attempts: Attempts, threshold: Threshold, *, refuted: bool = False
) -> Feedback | None:
    """Explain from the rollouts alone why a draft is too easy or unsolved. Return None for a candidate.

    Args:
        draft: the draft.
        attempts: its rollouts with their verdicts.
        threshold: what it must withstand.
        refuted: whether a reader rejected the wrong answer that most rollouts agree on.
    """
    label = choose_label([verdict for _, verdict in attempts], threshold)
    if label is Label.CANDIDATE:
        return None
    if label is Label.UNSOLVED:
        return _explain_unsolved(draft, attempts, refuted)
    rollout, verdict = find_shortest([attempt for attempt in attempts if threshold.is_missed(attempt[1])])
    cause, hops, why = explain_shortcut(draft, rollout, verdict)
    return _build_feedback(draft, label, cause, hops, f"solved in {verdict.steps} steps: {why}")


def find_shortest(attempts: Attempts) -> tuple[Rollout, Verdict]:
    correct = (attempt for attempt in attempts if attempt[1].correct)
    return min(correct, key=lambda attempt: (attempt[1].steps, attempt[1].sample))


def quote_answers(draft: Draft, hops: Iterable[int]) -> str:
    return " and ".join(f"'{draft.hops[hop].answer}'" for hop in hops)


_ALL_STAY = "All hops may stay."
"""The end of an advice that changes no hop."""
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
"""The one change to make for each cause that rollouts show. Findings of checks contain their own."""


def give_advice(draft: Draft, cause: Cause, faulty: Sequence[int]) -> str:
    change = _CHANGES[cause]
    sound = [hop for hop in range(len(draft.hops)) if hop not in faulty]
    if change.endswith(_ALL_STAY) or not faulty or not sound:
        return change
    return f"{change} The hops that give {quote_answers(draft, sound)} may stay."


def _build_feedback(draft: Draft, label: Label, cause: Cause, hops: tuple[int, ...], why: str) -> Feedback:
    return Feedback(label=label, cause=cause, message=f"{why}. {give_advice(draft, cause, hops)}", hops=hops)


def explain_shortcut(draft: Draft, rollout: Rollout, verdict: Verdict) -> tuple[Cause, tuple[int, ...], str]:
    """Explain why a correct rollout took few steps: the cause, the hops concerned, and what happened.

    The cause is one of the four in SAGE's failure analysis (paper, §5), or what the solver knew from memory.
    """
    calls = rollout.trajectory.calls
    deciding = {draft.hops[hop].passage_id for hop in draft.graph.decisive_hops}
    is_one_search = len(draft.hops) > 1 and bool(calls) and deciding <= {*calls[0].passage_ids}
    unused = tuple(hop for hop, call in enumerate(verdict.found_at) if call is None)
    recalled = tuple(hop for hop in recalled_hops(draft, rollout) if is_one_search or hop in unused)
    if recalled:
        why = f"the solver searched with {quote_answers(draft, recalled)} before any passage had shown it"
        return Cause.PRIOR_KNOWLEDGE, recalled, why
    if is_one_search:
        why = f"the first search, '{calls[0].argument}', already found what decides the answer"
        return Cause.OVER_SPECIFIED, draft.graph.decisive_hops, why
    if shared := _find_shared_search(draft, rollout):
        return shared
    why = f"it did without {quote_answers(draft, unused)}" if unused else "the hops took fewer searches than wanted"
    return Cause.SUPERFICIAL, unused, why


def _find_shared_search(draft: Draft, rollout: Rollout) -> tuple[Cause, tuple[int, ...], str] | None:
    """Return how the first search that answered several hops did so.

    It found several cited passages, or one passage with the evidence of several hops, or another passage with the
    evidence of a cited one.
    """
    answered: set[int] = set()
    for call, text in observations(rollout):
        blocks = list(zip(call.passage_ids, text.split("\n\n"), strict=False))
        open_hops = [hop for hop in range(len(draft.hops)) if hop not in answered]
        cited = tuple(hop for hop in open_hops if draft.hops[hop].passage_id in call.passage_ids)
        if len(cited) > 1:
            why = f"the search '{call.argument}' found the passages that give {quote_answers(draft, cited)} together"
            return Cause.QUERY_COLLAPSE, cited, why
        for passage_id, block in blocks:
            hops = tuple(hop for hop in open_hops if shows_evidence(draft, hop, (passage_id,), block))
            if len(hops) > 1:
                why = f"one passage, '{_read_title(block)}', gives {quote_answers(draft, hops)} together"
                return Cause.CO_LOCATED, hops, why
        substitutes = {
            hop: title for hop in open_hops if hop not in cited and (title := _find_substitute(draft, hop, blocks))
        }
        if cited and substitutes:
            titles = ", ".join(f"'{title}'" for title in substitutes.values())
            hops = tuple(sorted({*cited, *substitutes}))
            why = f"the search '{call.argument}' gave {quote_answers(draft, hops)} together"
            return Cause.QUERY_COLLAPSE, hops, f"{why}, with {titles} in the place of a passage that they cite"
        answered.update(cited, substitutes)
    return None


def _find_substitute(draft: Draft, hop: int, blocks: Sequence[tuple[str, str]]) -> str:
    """Return the title of a passage that answers a hop though no hop cites it.

    Such a passage has the same evidence, or it is the page of the thing that the hop leads to.
    """
    cited, answer = {hop.passage_id for hop in draft.hops}, normalise(draft.hops[hop].answer)
    for title, block in ((_read_title(block), block) for passage_id, block in blocks if passage_id not in cited):
        leads_on = hop < len(draft.hops) - 1 and normalise(strip_tag(title)) == answer
        if leads_on or shows_evidence(draft, hop, (), block):
            return title
    return ""


def _read_title(block: str) -> str:
    return block.partition("\n")[0].partition("] ")[2]


def _explain_unsolved(draft: Draft, attempts: Attempts, refuted: bool) -> Feedback:
    missed = tuple(
        hop for hop in range(len(draft.hops)) if all(verdict.found_at[hop] is None for _, verdict in attempts)
    )
    voters = find_agreeing_rollouts(draft, attempts)
    hops: tuple[int, ...] = ()
    if missed:
        cause, hops = Cause.RETRIEVAL_MISS, missed
        why = f"no agent found the passages that give {quote_answers(draft, missed)}"
    elif len(voters) * 2 > len(attempts) and not refuted:
        cause, hops, why = Cause.AMBIGUOUS, (len(draft.hops) - 1,), "another answer may fit as well"
    else:
        cause, why = Cause.SOLVER_ERROR, "the passages were found and not understood"
    if voters:
        why += f"; {describe_agreement(draft, voters, len(attempts))}"
        why += ", which a reader did not find borne out" if refuted else ""
    return _build_feedback(draft, Label.UNSOLVED, cause, hops, f"no rollout was correct: {why}")
