"""Questions that the named policy knows from memory in more of at least three tries than `gates.known_to`.

Where a guess is as often right as wrong, what guessing gives is taken off (`beyond_chance`).
"""

from pipeline.agents.answers import guess_chance
from pipeline.config.gates import GateConfig
from pipeline.types import KNOWN_TRIES, Draft, Record, beyond_chance


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    found = record.assessed(settings.policy) if settings.policy else None
    if found is None or found.known is None or found.known_tries < KNOWN_TRIES:
        return ""
    right = round(found.known * found.known_tries)
    if beyond_chance(right, found.known_tries, guess_chance(draft)) <= settings.known_to:
        return ""
    return f"{settings.policy} knew it in {right} of {found.known_tries} tries"
