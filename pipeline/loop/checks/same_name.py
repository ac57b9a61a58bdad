"""Where a hop calls the answer before it by another name, a reader says whether both mean one thing."""

from collections.abc import Sequence

from pipeline.agents import cited, readers
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.loop.checks.base import CheckResult, DraftCheck, Stage
from pipeline.loop.checks.broken_chain import broken
from pipeline.types import Cause, Draft, Probe


async def same_name(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Of each hop that names the answer before it in no form that can be compared: does it mean the same thing?"""
    if draft.decided:
        return CheckResult()
    gold = await cited.gather(draft, context.retriever)
    probes: list[Probe] = []
    for number in broken(draft, gold):
        before, passage, hop = gold[number - 1], gold[number], draft.hops[number - 1]
        if before is None or passage is None:
            continue
        asked = context.prompt(
            "names/same",
            called=hop.answer,
            other_names=list(hop.answer_aliases),
            passage_before=shown(before),
            passage=shown(passage),
            quote=draft.hops[number].quote,
        )
        weighed, model, usage = await readers.weigh(asked, context)
        said = "yes" if weighed.fits else "no"
        probe = Probe(
            check="same_name", model=model, answers=(said,), right=int(weighed.fits), hops=(number,), usage=usage
        )
        probes.append(probe)
    return CheckResult(probes=tuple(probes))


def linked_by_reader(probes: Sequence[Probe]) -> frozenset[int]:
    """The hops that are about the answer before them by a reader's word, where names alone do not show it."""
    return frozenset(hop for probe in probes if probe.check == "same_name" and probe.right for hop in probe.hops)


def told(probe: Probe) -> str:
    return f"is it about the answer before it, by another name? {', '.join(probe.answers)}"


CHECK = DraftCheck(Stage.NAMED, 1, Cause.GENERATOR_ERROR, told=told, ask=same_name)
