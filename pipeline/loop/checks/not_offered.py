"""A comparison does not name its answer, or gives no hops for the other thing that it compares."""

from pipeline.agents.cited import ends
from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.types import AnswerType, Cause

ADVICE = "Name in the question the things that are compared, and give each of them a chain of hops."


async def not_offered(case: Case) -> Found | None:
    draft = case.draft
    if draft.answer_type is not AnswerType.COMPARISON:
        return None
    if not any(mentions(draft.question, name) for name in (draft.answer, *draft.answer_aliases)):
        return Found("the question does not name its answer among what it compares")
    if len(ends(draft)) < 2:
        return Found("the hops are one chain, and each of the things compared needs its own")
    return None


CHECK = DraftCheck(Stage.SOUND, 3, Cause.GENERATOR_ERROR, advice=ADVICE, look=not_offered)
