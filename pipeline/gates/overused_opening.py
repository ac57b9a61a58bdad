"""Questions that begin with the same four words as too many others."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate, GateResult, limit
from pipeline.text import words
from pipeline.text.scripts import is_spaceless, runs
from pipeline.types import Draft, Record


def opening(question: str) -> str:
    """Return the first four words of a question, or as many characters as four words have: eight of Chinese."""
    if is_spaceless(question):
        characters = words(question)
        return "".join(next(runs(characters, 4), characters))
    return " ".join(question.lower().split(maxsplit=4)[:4])


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    first_words = opening(draft.question)
    return limit([first_words], f"enough pairs begin with '{first_words}'", settings.least, settings.openings)


GATE = Gate(check)
