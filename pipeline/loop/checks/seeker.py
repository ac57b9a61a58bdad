"""A reader that knows the target answers in fewer searches, and has recalled nothing of what leads there.

This is the shortcut seeker, which may win in any way. A solver finds one thing after the other, so that its steps say
nothing of a shortcut that it did not look for.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.solver import rollout, solver
from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded
from pipeline.llm import ledger
from pipeline.llm.deadline import with_timeouts
from pipeline.loop.assess import answers, shortcut
from pipeline.loop.checks.base import CheckResult, DraftCheck, Stage
from pipeline.types import Cause, Draft, Finding, GradedRollout, Probe, Rollout, Searched, Stop

ADVICE = "Ask at the end for a fact that many things of its kind have, so that only the hops say which is meant."

FIRST = 2000
"""Samples that no solver and no policy has."""
WAYS = ("end", "clues", "guess")
"""What each try begins with, in turn: one model that is asked three times the same thing does mostly the same."""
FAR = 7
"""Beyond this target one more try, the first, has half of its searches: with more it could walk most of the way."""


async def seeker(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Tries one after another, until one wins. One that searched with what a hop gives before it was shown has
    recalled it, and wins nothing; neither does one that its clock ends."""
    probes: list[Probe] = []
    with ledger.within(ledger.SEEKER):
        for sample, (searches, way) in enumerate(_tries(target, context.config.checks.seeker_tries), FIRST):
            start = partial(_played, draft, target, searches, way, sample, context)
            try:
                made = await with_timeouts(start, context.config.how.rollout_seconds)
            except DeadlineExceeded:
                continue
            graded = await grade(draft, made.answer, context, ask=grading.supported(draft, made))
            tried = GradedRollout(made, grading.verdict(draft, made, graded))
            probes.append(_probe(draft, tried, context))
            if probes[-1].shortcut:
                return CheckResult(probes=tuple(probes), findings=(_finding(draft, target, tried, probes[-1]),))
    return CheckResult(probes=tuple(probes))


def _tries(target: int, tries: int) -> Iterator[tuple[int, str]]:
    """How many searches each try has, and what it begins with."""
    if target < 2 or not tries:
        return
    if target > FAR:
        yield target // 2, WAYS[0]
    yield from zip([target - 1] * tries, cycle(WAYS), strict=False)


async def _played(draft: Draft, target: int, searches: int, way: str, sample: int, context: RunContext) -> Rollout:
    """One try, turn by turn, without the last turn where no answer could win any more: it would cost as much as all
    before it together."""
    config = context.config
    agent = solver(config, context.llm, context.retriever, config.models.of("reader"))
    messages = context.prompt("seeker/seek", question=draft.question, steps=target, searches=searches, way=way)
    messages, state = prompts.noted(messages, agent.notes), AgentState()
    for turns in range(1, config.solver.turns + 1):
        limits = config.solver.model_copy(update={"searches": searches, "turns": turns})
        made = await rollout(replace(agent, limits=limits), messages, sample, state)
        lost = len(made.trajectory.calls) >= searches and not grading.supported(draft, made)
        if made.trajectory.stop is not Stop.MAX_TURNS or lost:
            break
        messages = made.trajectory.messages
    return made


def _probe(draft: Draft, tried: GradedRollout, context: RunContext) -> Probe:
    made, found = tried
    steps = (call for call in made.trajectory.calls if not call.repeat)
    ran = [(call.argument if call.tool == "search" else f"{call.tool} {call.argument}", call) for call in steps]
    return Probe(
        check="seeker",
        model=context.config.models.of("reader").model,
        answers=(made.answer,),
        right=int(found.right),
        hops=grading.by_heart(draft, made),
        evidence=found.supported,
        searches=tuple(Searched(query=query, passage_ids=call.passage_ids) for query, call in ran),
        usage=made.trajectory.usage,
        judged=found.usage,
        second=found.second,
    )


def _finding(draft: Draft, target: int, tried: GradedRollout, probe: Probe) -> Finding:
    """What it never found is needless; where it found all, what let it find several at once."""
    made, found = tried
    cause, hops, why = shortcut(draft, made, found)
    if missed := tuple(number for number, at in enumerate(found.found_at) if at is None):
        cause, hops, why = Cause.SUPERFICIAL, missed, f"it never found the passages that give {answers(draft, missed)}"
    queries = " and ".join(f"'{search.query}'" for search in probe.searches)
    detail = f"the shortcut seeker answered it in {found.steps} of {target} steps: it searched {queries}; {why}"
    return Finding(check="seeker", cause=cause, fatal=True, hops=hops, detail=detail, searches=probe.searches)


def told(probe: Probe) -> str:
    recalled = ", ".join(f"hops[{n}]" for n in probe.hops)
    return f"it searched with what it recalled of {recalled}" if recalled else "found no shorter way"


CHECK = DraftCheck(Stage.READ, 8, Cause.SUPERFICIAL, advice=ADVICE, wording=True, told=told, ask=seeker)
