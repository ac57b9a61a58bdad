"""Check an accepted pair again after the corpus has changed, as far as that depends on the whole corpus.

What a reader said about the evidence stays valid while the evidence is the same.
"""

from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded, FormatError, RequestRefused
from pipeline.loop import draft_rollouts
from pipeline.loop.graph_review import check_searches
from pipeline.loop.question_writing import find_shortcut
from pipeline.loop.rival_answer import find_rival
from pipeline.loop.solve_rates import find_threshold
from pipeline.types import ReasonCode, Record

RIVAL, ONE_SEARCH, UNSOLVED, SHORTER = "rival_answer", "one_search", "unsolved", "below_range"


async def find_fault(record: Record, context: RunContext) -> str:
    """Return what is wrong with a pair on this index, or an empty text. No model is called."""
    draft = record.draft
    if draft is None or not context.config.loop.audit:
        return ""
    if await find_rival(draft, context.retriever, context.config.retrieval.k):
        return RIVAL
    found_at_once = await check_searches(draft.graph, context) or await find_shortcut(
        draft.question, draft.graph, context
    )
    return ONE_SEARCH if found_at_once else ""


async def solve_again(record: Record, context: RunContext) -> str | None:
    """Try a pair on this index with as many rollouts as measured it.

    Return what is wrong with it, or an empty text if it holds, or None if a rollout could not be graded.
    """
    assert record.draft  # noqa: S101 - accepted pairs have one
    try:
        rollouts = await draft_rollouts.run_fresh(record.draft, context)
    except (DeadlineExceeded, FormatError, RequestRefused):
        return None
    correct = [rollout.verdict for rollout in rollouts if rollout.verdict.correct]
    if not correct:
        return UNSOLVED
    is_missed = find_threshold(record.seed, context.config).is_missed
    is_relaxed = record.parsed_reason.code == ReasonCode.RELAXED
    return SHORTER if not is_relaxed and any(map(is_missed, correct)) else ""
