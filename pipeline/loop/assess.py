"""From rollouts to what they say: verdicts, a label that cannot change any more, and the named cause to feed back.

Pure functions. SAGE's difficulty is the least number of searches over the correct rollouts (Alg. 2); here repeated
calls are left out, and a rollout is correct only if it also read the support of its answer.
"""

from collections import Counter
from collections.abc import Sequence

from pipeline.agents.grading import observations, shows
from pipeline.config import RunConfig
from pipeline.text import contains, normalise, untagged
from pipeline.types import Assessment, Cause, Draft, Feedback, Finding, Label, Rollout, Verdict


def assessment(verdicts: Sequence[Verdict], config: RunConfig, retriever: str) -> Assessment:
    """How the solver of the configuration did on one question. There is at least one verdict."""
    return Assessment(
        solver=config.models.of("solver").model,
        retriever=retriever,
        k=config.retrieval.k,
        rollouts=len(verdicts),
        solve_rate=sum(v.correct for v in verdicts) / len(verdicts),
        least_steps=min((v.steps for v in verdicts if v.correct), default=None),
    )


def label(verdicts: Sequence[Verdict], target: int) -> Label:
    """What these verdicts say of the draft."""
    steps = [v.steps for v in verdicts if v.correct]
    if not steps:
        return Label.UNSOLVED
    return Label.TOO_EASY if min(steps) < target else Label.CANDIDATE


def decided(verdicts: Sequence[Verdict], target: int, *, rollouts: int, screen: int | None) -> int | None:
    """How many verdicts, in index order, the label rests on; none while a further rollout could still change it.

    With a `screen`, the first correct one of so many sends the draft on: K fresh rollouts will tell the rest.
    """
    for count, found in enumerate(verdicts, 1):
        if (found.correct and (screen or found.steps < target)) or count == (screen or rollouts):
            return count
    return None


def feedback_from_audit(findings: Sequence[Finding]) -> Feedback:
    """The first fatal finding, soundness before shortcuts, as the checks are listed."""
    finding = next(f for f in findings if f.fatal)
    unsound = finding.cause in (Cause.GENERATOR_ERROR, Cause.AMBIGUOUS)
    return Feedback(
        label=Label.UNSOUND if unsound else Label.TOO_EASY,
        cause=finding.cause,
        message=f"{finding.check}: {finding.detail}",
        hops=finding.hops,
    )


def feedback(draft: Draft, tried: Sequence[tuple[Rollout, Verdict]], *, target: int) -> Feedback | None:
    """Name why a draft was too easy or unsolved, from the traces alone; none for a candidate."""
    found = label([v for _, v in tried], target)
    if found is Label.CANDIDATE:
        return None
    if found is Label.UNSOLVED:
        return _unsolved(draft, tried)
    return _too_easy(draft, *min((pair for pair in tried if pair[1].correct), key=lambda p: (p[1].steps, p[1].sample)))


def _too_easy(draft: Draft, rollout: Rollout, found: Verdict) -> Feedback:
    """The four causes of SAGE's failure analysis (paper, §5), read off the shortest correct rollout."""
    homes = [hop.passage_id for hop in draft.hops]
    calls = rollout.trajectory.calls
    first = set(calls[0].passage_ids) if calls else set()
    hops: tuple[int, ...]
    if len(homes) > 1 and homes[-1] in first:
        cause, hops, why = Cause.OVER_SPECIFIED, (len(homes) - 1,), "the first search already found the last passage"
    elif together := _together(draft, rollout):
        cause, hops, why = together
    else:
        unused = tuple(i for i, home in enumerate(homes) if all(home not in call.passage_ids for call in calls))
        cause, hops, why = Cause.SUPERFICIAL, unused, "these hops were not needed"
    return Feedback(label=Label.TOO_EASY, cause=cause, message=f"solved in {found.steps} steps: {why}", hops=hops)


def _together(draft: Draft, rollout: Rollout) -> tuple[Cause, tuple[int, ...], str] | None:
    """The first search that answered several hops at once, and how: by the passages that they cite, by one passage that
    holds the evidence of all, or by another passage in the place of a cited one."""
    answered: set[int] = set()
    for call, text in observations(rollout):
        blocks = list(zip(call.passage_ids, text.split("\n\n"), strict=False))
        owed = [i for i in range(len(draft.hops)) if i not in answered]
        cited = tuple(i for i in owed if draft.hops[i].passage_id in call.passage_ids)
        if len(cited) > 1:
            return Cause.QUERY_COLLAPSE, cited, "one search found the passages of these hops together"
        for passage_id, block in blocks:
            if len(both := tuple(i for i in owed if shows(draft, i, (passage_id,), block))) > 1:
                return Cause.CO_LOCATED, both, f"one passage, '{_title(block)}', answers these hops together"
        others = {i: _title(block) for i in owed if i not in cited and (block := _stands_in(draft, i, blocks))}
        if cited and others:
            names = ", ".join(f"'{title}'" for title in others.values())
            why = f"one search answered these hops together, with {names} in the place of a passage that they cite"
            return Cause.QUERY_COLLAPSE, tuple(sorted({*cited, *others})), why
        answered.update(cited, others)
    return None


def _stands_in(draft: Draft, number: int, blocks: Sequence[tuple[str, str]]) -> str:
    """A passage that no hop cites and that answers this one: it says the same, or is the page of what it leads to."""
    homes, hop = {hop.passage_id for hop in draft.hops}, draft.hops[number]
    between = number < len(draft.hops) - 1
    for passage_id, block in blocks:
        if passage_id not in homes and (
            shows(draft, number, (), block) or (between and normalise(untagged(_title(block))) == normalise(hop.answer))
        ):
            return block
    return ""


def _title(block: str) -> str:
    """Of a passage as it is rendered: what follows rank and id."""
    return block.partition("\n")[0].partition("] ")[2]


def _unsolved(draft: Draft, tried: Sequence[tuple[Rollout, Verdict]]) -> Feedback:
    """What went wrong in most rollouts: a broken chain, nothing found, a rival answer, or the solver itself."""
    missed = _missed_hops(draft, [rollout for rollout, _ in tried])
    rivals = Counter(normalise(rollout.answer) for rollout, v in tried if rollout.answer and not v.right)
    rival, votes = rivals.most_common(1)[0] if rivals else ("", 0)
    broken = tuple(i for i in range(1, len(draft.hops)) if not contains(_context(draft, i), draft.hops[i - 1].answer))
    hops: tuple[int, ...]
    if broken:
        cause, hops, why = Cause.GENERATOR_ERROR, broken, "the quotes of these hops do not name what they are about"
    elif missed:
        cause, hops, why = Cause.RETRIEVAL_MISS, missed, "no agent found the passages of these hops"
    elif votes * 2 > len(tried):
        cause, hops, why = Cause.AMBIGUOUS, (len(draft.hops) - 1,), f"most agents answered '{rival}'"
    else:
        cause, hops, why = Cause.SOLVER_ERROR, (), "the passages were found and not understood"
    return Feedback(label=Label.UNSOLVED, cause=cause, message=f"no rollout was correct: {why}", hops=hops)


def _missed_hops(draft: Draft, rollouts: Sequence[Rollout]) -> tuple[int, ...]:
    """The hops whose passages no rollout read; reading all but these still is a miss."""
    read = {passage_id for rollout in rollouts for call in rollout.trajectory.calls for passage_id in call.passage_ids}
    return tuple(i for i, hop in enumerate(draft.hops) if hop.passage_id not in read)


def _context(draft: Draft, index: int) -> str:
    """What ties hop `index` to the hop before it: its passage's title and its quote."""
    return f"{draft.hops[index].title} | {draft.hops[index].quote} | {draft.hops[index].answer}"
