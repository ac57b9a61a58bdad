"""Questions that the named policy knows from memory in more of at least three tries than `gates.known_to`.

Correct guesses are subtracted if an answer can be guessed, such as yes or no (`beyond_chance`).
"""

from pipeline.agents.answers import guess_chance
from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.types import KNOWN_TRIES, Draft, Record, beyond_chance


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    assessment = record.find_assessment(settings.policy) if settings.policy else None
    if assessment is None or assessment.known is None or assessment.known_tries < KNOWN_TRIES:
        return ""
    right = round(assessment.known * assessment.known_tries)
    if beyond_chance(right, assessment.known_tries, guess_chance(draft)) <= settings.known_to:
        return ""
    return f"{settings.policy} knew it in {right} of {assessment.known_tries} tries"


GATE = Gate(check)
