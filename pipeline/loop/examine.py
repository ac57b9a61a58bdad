"""Every check of a draft before its first rollout, made once for each draft.

Graph and wording are reviewed first, and all that is wrong with them is told at once. Only a draft without a fault is
shown to further readers: one who holds the evidence must be able to answer, or the draft is broken; one who has only
its memory must not, or the draft is too easy.
"""

from collections.abc import Awaitable

from pipeline.agents import cited
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks.base import CheckResult, known
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
    """Run every check of a draft, or return what was found when it was examined before.

    Args:
        draft: the draft.
        target: the number of searches that it must take.
        context: the run, whose memory keeps the result.
        author: whether the generator asks. A reader who gives nothing readable is then left out, and asked again in the
            round.
        review: what the reviews of graph and wording gave while the draft was composed; None if they were not made.
    """
    if known_result := context.memory.audits.get(draft):
        return CheckResult(findings=known_result[0], probes=known_result[1], again=True)
    result = review or CheckResult()
    if context.config.loop.audit:
        result += CheckResult(findings=await find_rival(draft, context.retriever, context.config.retrieval.k))
    if context.config.loop.audit and review is None:
        result += await _read("graph", _review_graph(draft, target, context), author=author)
        result += await _read("wording", review_wording(draft, context), author=author)
    for name, check in known().items():
        if check.ask and not result.findings and name in context.config.checks_enabled():
            result += await _read(name, check.ask(draft, context), author=author)
    if not result.unread:
        context.memory.audits[draft] = result.findings, result.probes
    return result


async def _review_graph(draft: Draft, target: int, context: RunContext) -> CheckResult:
    passages = {passage.id: passage for passage in await cited.load_passages(draft, context.retriever)}
    review = await review_graph(draft.graph, target, passages, context)
    return CheckResult(findings=review.findings, probes=review.probes)


async def _read(name: str, answer: Awaitable[CheckResult], *, author: bool) -> CheckResult:
    try:
        return await answer
    except FormatError:
        if not author:
            raise
        return CheckResult(unread=(name,))
