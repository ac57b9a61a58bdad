"""The text does not end with a question mark, has too few words, or has no answer."""

from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage
from pipeline.text.names import normalise
from pipeline.text.scripts import asks, length
from pipeline.types import Cause

ADVICE = f"Word it as one question. {ALL_STAY}"


async def no_question(case: Case) -> Found | None:
    question = asks(case.draft.question) and length(case.draft.question) >= 4
    return None if question and normalise(case.draft.answer) else Found("it asks nothing or answers nothing")


CHECK = DraftCheck(Stage.SOUND, 1, Cause.GENERATOR_ERROR, advice=ADVICE, wording=True, look=no_question)
