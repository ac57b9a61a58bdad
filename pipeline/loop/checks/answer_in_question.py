"""The question contains its answer."""

from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage, quoted
from pipeline.reward.equality import quantity
from pipeline.types import Cause, Draft

SMALL = 12
"""Numbers up to this one stand in many questions to count something: "two films"."""
ADVICE = f"Take the answer out of the question. {ALL_STAY}"


async def answer_in_question(case: Case) -> Found | None:
    """It names its answer or an item of it. Yes and no are words of many questions, and so is a small number, which
    tells nothing of an answer that is computed."""
    draft, last = case.draft, len(case.draft.hops) - 1
    if draft.answer_type.decided:
        return None
    items = [name for item in draft.answer_items for name in item.spellings]
    leaked = [name for name in (draft.answer, *draft.answer_aliases, *items) if mentions(draft.question, name)]
    leaked = [name for name in leaked if not counts(draft, name)]
    return Found(f"the question holds its answer, {quoted(leaked)}", (last,)) if leaked else None


def counts(draft: Draft, name: str) -> bool:
    """Is it a small number, in figures or in words, of a draft whose answer is computed?"""
    amount = quantity(name) if draft.program else None
    return amount is not None and amount.unit is None and abs(amount.number) <= SMALL


CHECK = DraftCheck(Stage.SOUND, 2, Cause.GENERATOR_ERROR, advice=ADVICE, look=answer_in_question)
