"""From which passages a question may start."""

import re
from collections.abc import Mapping

from pipeline import text
from pipeline.types import Passage

_MIN_WORDS = 25
_DISAMBIGUATION = re.compile(r"^[^.\n]{0,80} (?:may|can|might|could) (?:also |either )?refer to\b", re.IGNORECASE)
_LIST_TITLE = re.compile(r"^(?:lists? of|index of|outline of|glossary of|timeline of)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’.-]+")


REFUSALS = {
    "too_short": f"fewer than {_MIN_WORDS} words; join what belongs together into longer texts",
    "disambiguation": "it only says what a name may refer to; leave such pages out",
    "list": "most of its lines are short and end without a full stop, as in lists, tables and verse, or its title says "
    "'List of'; write full sentences, one paragraph a line (wrapped lines look like a list too)",
    "no_fact": "no name inside a sentence, no date, no number: nothing that an answer could be",
}
"""What each reason of `quality` means, and what to do about it."""


def explained(refused: Mapping[str, int]) -> str:
    """Why so many passages can start no question, in words, the most frequent reason first."""
    ranked = sorted(refused.items(), key=lambda item: -item[1])
    return ". ".join(f"{reason} {count:,}: {REFUSALS.get(reason, reason)}" for reason, count in ranked)


def quality(passage: Passage) -> str | None:
    """Why no question should start here: `too_short`, `disambiguation`, `list` or `no_fact`; None if one may."""
    body = passage.text
    if len(body.split()) < _MIN_WORDS:
        return "too_short"
    if "(disambiguation)" in passage.title or _DISAMBIGUATION.match(body):
        return "disambiguation"
    if _LIST_TITLE.search(passage.title) or _is_list(body):
        return "list"
    return None if _has_fact(body) else "no_fact"


def _is_list(body: str) -> bool:
    """Mostly short lines without a full stop."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    short = [line for line in lines if len(line.split()) < 12 and not line.endswith((".", "!", "?", '"'))]
    return len(lines) >= 4 and len(short) > 0.7 * len(lines)


def _has_fact(body: str) -> bool:
    """A name inside a sentence, a date or a number: something that an answer could be."""
    return bool(_NAME.search(body) or text.dates(body) or text.numbers(body))
