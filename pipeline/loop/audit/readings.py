"""Checks that a model makes by reading, not by searching: a handful of calls that may save K rollouts.

The gate has two sides. Whoever holds the evidence must be able to answer, or the draft is broken; whoever holds less
must not, or it is too easy. Cheap ones come first, and the first fatal finding ends it. What each model said is kept as
a `Probe`, passed or not.
"""

from collections.abc import Sequence
from functools import partial

from pipeline.agents import evidence, readers
from pipeline.agents.grading import shows
from pipeline.agents.readers import Reading, oracle, rest, trace
from pipeline.agents.tools import render
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.audit.completeness import complete_list
from pipeline.loop.audit.end import end, opened
from pipeline.loop.audit.probes import ask_reader, hold_evidence, over
from pipeline.loop.audit.results import Check, CheckResult
from pipeline.loop.audit.retrievers import too_easy
from pipeline.loop.audit.seeker import seeker
from pipeline.loop.audit.wording import contested, naturalness
from pipeline.text.names import contains
from pipeline.types import KNOWN_TRIES, Cause, Draft, Finding, Passage, Probe, Usage, beyond_chance

DECOYS = 4
"""Passages beside those that are left when one is held back."""


async def readings(
    draft: Draft, target: int, found: Sequence[Finding], context: RunContext, *, author: bool = False
) -> CheckResult:
    """All checks of the configuration on a draft that the static audit let pass, whose findings are `found`.

    As there, a finding that only saves some hops is fatal when fewer hops than the target remain. After a fatal one
    nothing more is asked, but the cheap checks for an `author`.
    """
    probes: tuple[Probe, ...] = ()
    findings: list[Finding] = []
    unread: tuple[str, ...] = ()
    for name, check in CHECKS.items():
        failed = any(finding.fatal for finding in (*found, *findings))
        if name not in context.config.checks_run() or (failed and not (author and name in CHEAP)):
            continue
        try:
            read = await check(draft, target, context)
        except FormatError:
            if not author:
                raise
            unread += (name,)
            continue
        probes += read.probes
        for finding in read.findings:
            passed = [one for one in (*found, *findings) if not one.fatal]
            fatal = finding.fatal or too_easy(draft, target, (*passed, finding), finding)
            findings.append(finding.model_copy(update={"fatal": fatal}))
    return CheckResult(probes=probes, findings=tuple(findings), unread=unread)


async def closed_book(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Known without any passage, in most of the tries: fatal where it is so of every model to be trained, so that
    nobody would learn from it. What the solver knows says nothing of the question, and is kept as `Record.known_to`;
    where it remembers another answer, that one is looked at (`contested`)."""
    solver, policies = context.config.models.of("solver"), trained(context.config)
    probes = [await recalled(draft, context, solver)]
    known: list[Probe] = []
    for model in policies:
        if model.digested() != solver.digested():
            probes.append(await recalled(draft, context, model))
        probe = probes[0] if model.digested() == solver.digested() else probes[-1]
        if beyond_chance(probe.right, probe.tries, draft.answer_type.chance) <= 0.5:
            known = []
            break
        known.append(probe)
    detail = "answered from memory by " + " and ".join(probe.model for probe in known)
    if found := _findings("closed_book", Cause.PRIOR_KNOWLEDGE, known, detail):
        return CheckResult(probes=tuple(probes), findings=found)
    other = await contested(draft, probes[0], context)
    return CheckResult(probes=(*probes, *other.probes), findings=other.findings)


def trained(config: RunConfig) -> list[ModelConfig]:
    """The models to be trained that the pairs are for: the one whose solve rate is the target, or all."""
    policies = config.models.policies
    return [policies[config.policy]] if config.solve_rate and config.policy else list(policies.values())


async def recalled(draft: Draft, context: RunContext, model: ModelConfig) -> Probe:
    """What a model answers without any passage, in at least three tries if it is to be trained. There an answer that
    cannot be read is a wrong one: a checkpoint need not speak JSON."""
    policy = any(model.digested() == one.digested() for one in context.config.models.policies.values())

    async def answer(sample: int) -> Reading:
        try:
            return await readers.closed_book(draft.question, context, model, sample)
        except FormatError:
            if not policy:
                raise
            return Reading(answer="", model=model.model, usage=Usage())

    tries = context.config.checks.tries
    return await ask_reader("closed_book", draft, context, answer, max(KNOWN_TRIES, tries) if policy else tries)


async def with_evidence(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Never answered from all its passages by one who was given them. Then each hop is read alone, to name the bad one.

    A right answer proves nothing where the passages state less than the reader needed.
    """
    passages = await evidence.passages(draft, context.retriever)
    answer = partial(oracle, draft.question, passages, context)
    probe = await ask_reader("oracle", draft, context, answer, context.config.checks.oracle_tries, until_grounded=True)
    probe = over(passages, draft, probe)
    if probe.grounded:
        return CheckResult(probes=(probe,))
    parts = await _hop_by_hop(draft, context)
    hops = tuple(hop for part in parts for hop in part.hops)
    found = Finding(check="oracle", cause=Cause.GENERATOR_ERROR, fatal=True, hops=hops, detail=_unproven(probe))
    return CheckResult(probes=(probe, *parts), findings=(found,))


def _unproven(probe: Probe) -> str:
    said = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers) if answer) or "nothing"
    answered = f"with all its passages in hand the answer was {said}"
    unstated = "no passage of the draft states: " + ", ".join(f"'{fact}'" for fact in probe.uncited)
    if probe.right:
        return f"the reader answered, but {unstated}"
    return f"{answered}; {unstated}" if probe.uncited else answered


async def _hop_by_hop(draft: Draft, context: RunContext) -> list[Probe]:
    """Each hop's own question over its own passage, where there are several hops."""
    passages = [passage for passage in await evidence.gather(draft, context.retriever) if passage is not None]
    if not 1 < len(draft.hops) == len(passages):
        return []
    questions = [hop.sub_question for hop in draft.hops]
    try:
        answers, model, usage = await trace(list(zip(questions, passages, strict=True)), context)
    except FormatError:
        return []  # The draft goes back in any case; only the hint which hop it was is lost.
    misread = tuple(
        place
        for place, (hop, answer) in enumerate(zip(draft.hops, answers, strict=True))
        if not all(any(contains(answer, name) for name in names) for names in draft.wanted(place))
        and (len(draft.wanted(place)) > 1 or not contains(hop.answer, answer))
    )
    found = {"check": "trace", "model": model, "answers": tuple(answers), "right": len(answers) - len(misread)}
    return [Probe.model_validate({**found, "hops": misread, "usage": usage})]


async def leave_one_out(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """A hop whose passage can be held back without the answer being lost is no hop, unless it is recalled.

    Of a chain only where a search for the next hop that does not know what this one gives brings its passage: else
    nobody comes there without it. What is found beside it stands among what is left, so that this alone does not give
    the answer away; but not what tells what is held back, which was then read, not skipped.
    """
    passages = await evidence.passages(draft, context.retriever)
    cited = {passage.id for passage in passages}
    probes = []
    for number, hop in enumerate(draft.hops if len(draft.hops) > 1 else ()):
        led = draft.family == "chain" and number + 1 < len(draft.hops) and evidence.start(draft, number + 1) <= number
        if led and number + 2 == len(draft.hops) and "end" in context.config.checks_run():
            continue  # `end` has asked as much.
        after = [number + 1] if led else [other for other in range(len(draft.hops)) if other != number]
        queries = [opened(draft, other) for other in after]
        found = await context.retriever.search_many(queries, context.config.retrieval.k)
        hits = list({hit.passage.id: hit.passage for hits in found for hit in hits}.values())
        decoys = [p for p in hits if p.id not in cited and not shows(draft, number, (), render([p]))][:DECOYS]
        # In an order that tells nothing of which is which.
        left = [*(passage for passage in passages if passage.id != hop.passage_id), *decoys]
        left.sort(key=lambda passage: passage.sha256)
        nowhere = led and draft.hops[number + 1].passage_id not in {passage.id for passage in hits}
        if nowhere or not hold_evidence(left, draft):
            continue

        async def answer(sample: int, left: Sequence[Passage] = left) -> Reading:
            return await rest(draft.question, left, context)

        probe = await ask_reader("leave_one_out", draft, context, answer, 1)
        searches = tuple(map(evidence.searched, queries, found))
        probes.append(over(left, draft, probe).model_copy(update={"hops": (number,), "searches": searches}))
    needless = [probe for probe in probes if probe.grounded]
    hops = tuple(hop for probe in needless for hop in probe.hops)
    without = " and ".join(f"'{draft.hops[hop].title}'" for hop in hops)
    detail = f"a reader answered '{draft.answer}' without the passages of these hops, {without}"
    searches = tuple(dict.fromkeys(search for probe in needless for search in probe.searches))
    finding = Finding(
        check="leave_one_out", cause=Cause.SUPERFICIAL, fatal=False, hops=hops, detail=detail, searches=searches
    )
    return CheckResult(probes=tuple(probes), findings=(finding,) if hops else ())


CHECKS: dict[str, Check] = {
    "end": end,
    "complete_list": complete_list,
    "closed_book": closed_book,
    "oracle": with_evidence,
    "leave_one_out": leave_one_out,
    "naturalness": naturalness,
    "seeker": seeker,
}
CHEAP = ("end", "complete_list")
"""A call or two each, and what most drafts failed that a model wrote and the free checks let pass."""


def _findings(check: str, cause: Cause, probes: Sequence[Probe], detail: str) -> tuple[Finding, ...]:
    searches = tuple(search for probe in probes for search in probe.searches)
    return (Finding(check=check, cause=cause, fatal=True, detail=detail, searches=searches),) if probes else ()
