"""Shortcut and soundness checks that need no rollout: most bad drafts go back before a solver is paid for.

A check is one function in `soundness` or `shortcuts`. A soundness finding is always fatal. A shortcut takes away the
hops that it makes needless, and is fatal when fewer hops remain than the target asks for.
"""

from pipeline.audit import shortcuts, soundness
from pipeline.audit.evidence import gather
from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Finding


async def audit(draft: Draft, target: int, retriever: Retriever, k: int) -> tuple[Finding, ...]:
    """All findings, soundness first, each with `fatal` set. Shortcut checks run only on a sound draft."""
    evidence = await gather(draft, retriever)
    findings = [finding for check in soundness.CHECKS for finding in check(draft, evidence)]
    if findings:
        return tuple(findings)
    for check in shortcuts.CHECKS:
        findings += await check(draft, evidence, retriever, k)
    needless = {hop for finding in findings for hop in finding.hops}
    fatal = len(draft.hops) - len(needless) < target
    return tuple(finding.model_copy(update={"fatal": fatal}) for finding in findings)
