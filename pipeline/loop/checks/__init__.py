"""Shortcut and soundness checks that need no rollout: most bad drafts go back before a solver is paid for.

A check is one function in `soundness`, `uniqueness` or `shortcuts`. A finding of the first two is always fatal. A
shortcut takes away the hops that it makes needless, and is fatal when fewer hops remain than the target asks for.
"""

from collections.abc import Collection, Mapping

from pipeline.agents.evidence import gather
from pipeline.loop.checks import broken_chain as soundness
from pipeline.loop.checks import query_collapse as shortcuts
from pipeline.loop.checks.another_answer import another_answer
from pipeline.loop.retrievers import by, too_easy
from pipeline.retrieval.base import Retriever
from pipeline.types import Cause, Draft, Finding


async def audit(
    draft: Draft,
    target: int,
    retriever: Retriever,
    k: int,
    others: Mapping[str, Retriever] | None = None,
    *,
    linked: Collection[int] = (),
) -> tuple[Finding, ...]:
    """All findings, soundness first, each with `fatal` set. Of the hops `linked` a reader says that they are about the
    answer before them, whatever they call it.

    Shortcut checks run only on a sound draft that is long enough: one with fewer hops than the target could meet it
    only by a solver's detours. Those that search run over `others` too, by name.
    """
    evidence = await gather(draft, retriever)
    findings = [finding for check in soundness.CHECKS for finding in check(draft, evidence)]
    if linked:
        links = soundness.broken_chain(draft, evidence, linked)
        findings = [f for one in findings for f in (links if one.check == "broken_chain" else [one])]
    if findings or len(draft.hops) < target:
        return tuple(findings) or (_too_few_hops(draft, target),)
    if findings := await another_answer(draft, retriever, k):
        return tuple(findings)
    for check in shortcuts.CHECKS:
        findings += await check(draft, evidence, retriever, k)
    for name, other in (others or {}).items():
        for search in shortcuts.SEARCHES:
            findings += by(name, await search(draft, evidence, other, k))
    return tuple(f.model_copy(update={"fatal": too_easy(draft, target, findings, f)}) for f in findings)


def _too_few_hops(draft: Draft, target: int) -> Finding:
    detail = f"it has {len(draft.hops)} hops and is to take {target} steps"
    return Finding(check="too_few_hops", cause=Cause.SUPERFICIAL, fatal=True, detail=detail)
