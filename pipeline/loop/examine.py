"""All that is said of a draft before a rollout, asked once: by an author who has it checked, or else by its round."""

from collections.abc import Sequence

from pipeline.agents import evidence, readers
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks import audit
from pipeline.loop.checks import broken_chain as soundness
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.closed_book import readings
from pipeline.types import Draft, Finding, Probe


async def examine(draft: Draft, target: int, context: RunContext, *, author: bool = False) -> CheckResult:
    """All that is said of a draft before a rollout: the free checks, then those that a reader makes. A draft that was
    examined before for this seed is not examined again.

    An `author` who asks is told all at once what can be mended at once: the cheap readers speak of what other checks
    send back too. One that says nothing readable is then left out, and asked again in the round.
    """
    if known := context.memory.audits.get(draft):
        return CheckResult(findings=known[0], probes=known[1], again=True)
    free: tuple[Finding, ...] = ()
    names = CheckResult()
    if context.config.loop.audit:
        try:
            names = await same_name(draft, context)
        except FormatError:
            if not author:
                raise
            names = CheckResult(unread=("same_name",))
        own, k, linked = context.retriever, context.config.retrieval.k, linked_by_reader(names.probes)
        free = await audit(draft, target, own, k, context.others, linked=linked)
    read = await readings(draft, target, free, context, author=author)
    probes, findings = (*names.probes, *read.probes), (*free, *read.findings)
    unread = (*names.unread, *read.unread)
    result = CheckResult(probes=probes, findings=findings, unread=unread)
    if not result.unread:
        context.memory.audits[draft] = result.findings, result.probes
    return result


async def same_name(draft: Draft, context: RunContext) -> CheckResult:
    """Of each hop that names the answer before it in no form that can be compared: does it mean the same thing?"""
    if "same_name" not in context.config.checks_run() or draft.answer_type.decided:
        return CheckResult()
    cited = await evidence.gather(draft, context.retriever)
    probes: list[Probe] = []
    for number in (hop for finding in soundness.broken_chain(draft, cited) for hop in finding.hops):
        before, passage, hop = cited[number - 1], cited[number], draft.hops[number - 1]
        if before is None or passage is None:
            continue
        quote = draft.hops[number].quote
        fits, model, usage = await readers.same_name(hop.answer, hop.answer_aliases, before, passage, quote, context)
        said = "yes" if fits else "no"
        probe = Probe(check="same_name", model=model, answers=(said,), right=int(fits), hops=(number,), usage=usage)
        probes.append(probe)
    return CheckResult(probes=tuple(probes))


def linked_by_reader(probes: Sequence[Probe]) -> frozenset[int]:
    """The hops that are about the answer before them by a reader's word, where names alone do not show it."""
    return frozenset(hop for probe in probes if probe.check == "same_name" and probe.right for hop in probe.hops)
