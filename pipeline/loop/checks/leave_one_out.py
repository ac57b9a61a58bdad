"""The answer is given although the passage of one hop is held back."""

from functools import partial

from pipeline.agents import cited
from pipeline.agents.grading import shows
from pipeline.agents.readers import rest
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.loop.asking import ask_reader, hold_evidence, over
from pipeline.loop.checks.base import CheckResult, DraftCheck, Found, Stage
from pipeline.loop.checks.end import opened
from pipeline.types import Cause, Draft

ADVICE = "What is left singles the answer out: without these hops, two things should fit the rest of the question."

DECOYS = 4
"""Passages beside those that are left when one is held back."""


async def leave_one_out(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """A hop whose passage can be held back without the answer being lost is no hop, unless it is recalled.

    Of a chain, and of what leads to the values of an aggregate or to a clue, only where a search for the next hop that
    does not know what this one gives brings its passage: else nobody comes there without it. What is found beside it
    stands among what is left, so that this alone does not give the answer away; but not what tells what is held back,
    which was then read, not skipped.
    """
    passages = await cited.passages(draft, context.retriever)
    gold = {passage.id for passage in passages}
    closing = cited.closing(draft)
    probes = []
    for number, hop in enumerate(draft.hops if len(draft.hops) > 1 else ()):
        chained = number not in closing if closing else not draft.joined
        led = chained and number + 1 < len(draft.hops) and cited.start(draft, number + 1) <= number
        if led and number + 2 == len(draft.hops) and "end" in context.config.checks_run():
            continue  # `end` has asked as much.
        after = [number + 1] if led else [other for other in range(len(draft.hops)) if other != number]
        queries = [opened(draft, other) for other in after]
        found = await context.retriever.search_many(queries, context.config.retrieval.k)
        hits = list({hit.passage.id: hit.passage for hits in found for hit in hits}.values())
        decoys = [p for p in hits if p.id not in gold and not shows(draft, number, (), render([p]))][:DECOYS]
        # In an order that tells nothing of which is which.
        left = [*(passage for passage in passages if passage.id != hop.passage_id), *decoys]
        left.sort(key=lambda passage: passage.sha256)
        nowhere = led and draft.hops[number + 1].passage_id not in {passage.id for passage in hits}
        if nowhere or not hold_evidence(left, draft):
            continue
        answer = partial(rest, draft.question, left, context)
        probe = await ask_reader("leave_one_out", draft, context, answer, 1)
        searches = tuple(map(cited.searched, queries, found))
        probes.append(over(left, draft, probe).model_copy(update={"hops": (number,), "searches": searches}))
    needless = [probe for probe in probes if probe.grounded]
    hops = tuple(hop for probe in needless for hop in probe.hops)
    without = " and ".join(f"'{draft.hops[hop].title}'" for hop in hops)
    detail = f"a reader answered '{draft.answer}' without the passages of these hops, {without}"
    searches = tuple(dict.fromkeys(search for probe in needless for search in probe.searches))
    finding = Found(detail, hops, searches).finding("leave_one_out", CHECK.cause, fatal=False)
    return CheckResult(probes=tuple(probes), findings=(finding,) if hops else ())


CHECK = DraftCheck(Stage.READ, 5, Cause.SUPERFICIAL, advice=ADVICE, ask=leave_one_out, at_once=leave_one_out)
