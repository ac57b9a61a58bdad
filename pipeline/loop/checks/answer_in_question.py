"""The question contains its answer."""

from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import ALL_STAY, Case, Check, Found, Stage, quoted
from pipeline.types import Cause


async def answer_in_question(case: Case) -> Found | None:
    """It names its answer or an item of it. Yes and no are words of many questions."""
    draft, last = case.draft, len(case.draft.hops) - 1
    if draft.answer_type.decided:
        return None
    items = [name for names in draft.wanted(last) for name in names] if draft.answer_items else []
    leaked = [name for name in (draft.answer, *draft.answer_aliases, *items) if mentions(draft.question, name)]
    return Found(f"the question holds its answer, {quoted(leaked)}", (last,)) if leaked else None


CHECK = Check(
    stage=Stage.SOUND,
    place=2,
    cause=Cause.GENERATOR_ERROR,
    advice=f"Take the answer out of the question. {ALL_STAY}",
    look=answer_in_question,
)
