"""All checks of a draft before its first rollout. They run once for each draft.

The reviews of graph and wording run first and report all their findings together. Only a draft without a finding is
shown to further readers: one with the evidence must be able to answer, or the draft is broken; one with its memory
alone must not, or the draft is too easy.
"""

from collections.abc import Awaitable

from pipeline.agents import cited
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks.base import CheckResult, load_checks
from pipeline.loop.graph_review import review_graph
from pipeline.loop.rival_answer import find_rival
from pipeline.loop.wording_review import review_wording
from pipeline.types import Draft


async def examine(
    draft: Draft,
    target: int,
    context: RunContext,
    *,
    author: bool = False,
    review: CheckResult | None = None,
) -> CheckResult:
    """Run all checks of a draft, or return the result from memory.

    Args:
        draft: the draft.
        target: the number of searches that it must need.
        context: the run, whose memory keeps the result.
        author: whether the generator asks. A check whose reader gives no readable answer is then skipped, and repeated
            in the round.
        review: the result of the graph and wording reviews while the draft was composed; None if they have not run.
    """
    if remembered := context.memory.audits.get(draft):
        return CheckResult(findings=remembered[0], probes=remembered[1], again=True)
    result = review or CheckResult()
    if context.config.loop.audit:
        result += CheckResult(findings=await find_rival(draft, context.retriever, context.config.retrieval.k))
    if context.config.loop.audit and review is None:
        result += await _run_check("graph", _review_graph(draft, target, context), author=author)
        result += await _run_check("wording", review_wording(draft, context), author=author)
    for name, check in load_checks().items():
        if check.ask and not result.findings and name in context.config.checks_enabled():
            result += await _run_check(name, check.ask(draft, context), author=author)
    if not result.unread:
        context.memory.audits[draft] = result.findings, result.probes
    return result


async def _review_graph(draft: Draft, target: int, context: RunContext) -> CheckResult:
    passages = {passage.id: passage for passage in await cited.load_passages(draft, context.retriever)}
    review = await review_graph(draft.graph, target, passages, context)
    return CheckResult(findings=review.findings, probes=review.probes)


async def _run_check(name: str, check: Awaitable[CheckResult], *, author: bool) -> CheckResult:
    try:
        return await check
    except FormatError:
        if not author:
            raise
        return CheckResult(unread=(name,))
