"""All that is said of a draft before a rollout, asked once: by an author who has it checked, or else by its round.

What costs nothing comes first, so that most bad drafts go back before a model is paid for. Of a reader's checks there
are two sides: whoever holds the evidence must be able to answer, or the draft is broken; whoever holds less must not,
or it is too easy. What each reader said is kept as a `Probe`, passed or not.
"""

from collections.abc import Collection, Mapping, Sequence

from pipeline.agents.cited import gather
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.assess import UNSOUND
from pipeline.loop.checks.base import Ask, Case, CheckResult, Stage, known
from pipeline.loop.checks.same_name import linked_by_reader
from pipeline.loop.retrievers import by, too_easy
from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Finding

GRAPH_CHECKS = frozenset({"oracle", "closed_book"})
"""Checks by a reader that a composed draft goes through; its graph was reviewed before it was worded."""


async def examine(
    draft: Draft, target: int, context: RunContext, *, author: bool = False, findings: Sequence[Finding] = ()
) -> CheckResult:
    """The free checks, then those that a reader makes. A draft that was examined before for this seed is not examined
    again.

    An `author` who asks is told all at once what can be mended at once, and all that is found without a call. A reader
    that says nothing readable is then left out, and asked again in the round.
    """
    if findings:
        return CheckResult(findings=tuple(findings))
    if said := context.memory.audits.get(draft):
        return CheckResult(findings=said[0], probes=said[1], again=True)
    result = CheckResult()
    if context.config.loop.audit and draft.graph is None:
        own, k, run = context.retriever, context.config.retrieval.k, context.config.checks_run()
        naming = [(n, one.ask) for n, one in known().items() if one.stage is Stage.NAMED and one.ask and n in run]
        # What a reader may yet say to be linked passes as such, until nothing else is wrong.
        linked = frozenset(range(len(draft.hops))) if naming else frozenset[int]()
        case = Case(draft, await gather(draft, own), own, k, target, linked)
        made = await free_findings(case, context.others, worded=True, every=author)
        if naming and not any(finding.fatal for finding in made):
            for name, ask in naming:
                result += await _read(name, ask, draft, target, context, author=author)
            case = case._replace(linked=linked_by_reader(result.probes))
            made = (*await _looked(Stage.SOUND, case, worded=True), *made)
        result += CheckResult(findings=made)
    result += await readings(draft, target, result.findings, context, author=author)
    if not result.unread:
        context.memory.audits[draft] = result.findings, result.probes
    return result


async def audit(
    draft: Draft,
    target: int,
    retriever: Retriever,
    k: int,
    others: Mapping[str, Retriever] | None = None,
    *,
    linked: Collection[int] = (),
) -> tuple[Finding, ...]:
    """All findings of the free checks, each with `fatal` set, up to the first stage that is fatal. Of the hops `linked`
    a reader says that they are about the answer before them, whatever they call it.

    Those that search for a shortcut run over `others` too, by name.
    """
    case = Case(draft, await gather(draft, retriever), retriever, k, target, frozenset(linked))
    return await free_findings(case, others or {}, worded=True, every=False)


async def free_findings(
    case: Case, others: Mapping[str, Retriever], *, worded: bool, every: bool
) -> tuple[Finding, ...]:
    """As `audit`, but for the checks of a wording where nobody has worded it, and those of `every` stage on request,
    the gravest first."""
    unfit = list[Finding]()
    for stage in (Stage.SOUND, Stage.LONG, Stage.ALONE):
        unfit += await _looked(stage, case, worded=worded)
        if unfit and not every:
            return tuple(unfit)
    findings = await _looked(Stage.SHORT, case, worded=worded)
    for name, other in others.items():
        there = await _looked(Stage.SHORT, case._replace(retriever=other), worded=worded)
        findings += by(name, [finding for finding in there if finding.searches])
    easy = (too_easy(case.draft, case.target, findings, finding) for finding in findings)
    return (*unfit, *(f.model_copy(update={"fatal": fatal}) for f, fatal in zip(findings, easy, strict=True)))


async def _looked(stage: Stage, case: Case, *, worded: bool) -> list[Finding]:
    findings = []
    for name, check in known().items():
        fits = check.stage is stage and (worded or not check.wording)
        if fits and check.look and (found := await check.look(case)):
            findings.append(found.finding(name, check.cause, fatal=stage < Stage.SHORT))
    return findings


async def readings(
    draft: Draft, target: int, found: Sequence[Finding], context: RunContext, *, author: bool = False
) -> CheckResult:
    """What the readers of the configuration say of a draft of which the free checks have `found` this.

    As there, a finding that only saves some hops is fatal when fewer hops than the target remain. After a fatal one
    nothing more is asked, but for an `author` what can be told at once, unless the draft is unsound.
    """
    result = CheckResult()
    more = author and not any(finding.fatal and finding.cause in UNSOUND for finding in found)
    for name, check in known().items():
        failed = any(finding.fatal for finding in (*found, *result.findings))
        ask = check.at_once if failed else check.ask
        if ask is None or check.stage is not Stage.READ or name not in context.config.checks_run():
            continue
        if draft.graph is not None and name not in GRAPH_CHECKS:
            continue
        if failed and not more:
            break
        read = await _read(name, ask, draft, target, context, author=author)
        result += read.model_copy(update={"findings": ()})
        for finding in read.findings:
            passed = [one for one in (*found, *result.findings) if not one.fatal]
            fatal = finding.fatal or too_easy(draft, target, (*passed, finding), finding)
            result += CheckResult(findings=(finding.model_copy(update={"fatal": fatal}),))
    return result


async def _read(name: str, ask: Ask, draft: Draft, target: int, context: RunContext, *, author: bool) -> CheckResult:
    try:
        return await ask(draft, target, context)
    except FormatError:
        if not author:
            raise
        return CheckResult(unread=(name,))
