"""Names in a text: where one starts, how far it may go, and whether a title stands there as a whole noun phrase."""

import re

from pipeline.embedded import lexicon
from pipeline.embedded.facts_subject import plain
from pipeline.text import Token

_WORD = r"(?:[A-Z]\.)+|(?:St|Jr|Sr|Mt|Dr|Ft)\.|[A-Z0-9][^\W_]*(?:['’\-][^\W_]+)*"
_NAME = re.compile(
    rf"(?:The |the )?(?:{_WORD})(?:(?: (?:of|the|de|la|le|du|di|da|von|van|der|and|&|for|in|on|to))*"
    rf" ?[:–-]? ?(?:{_WORD}))*"
)
_REGION = re.compile(r", [A-Z][\w\-]+(?: [A-Z][\w\-]+)?")


def names_in(text: str) -> list[str]:
    """All names of two words or more."""
    found: dict[str, None] = {}
    for run in _NAME.finditer(text):
        name = re.split(r" (?:and|in|for|on|to) ", run.group())[0].removeprefix("the ")
        if " " in name.removeprefix("The "):
            found[name] = None
    return list(found)


def names(text: str, start: int) -> list[str]:
    """Readings of the name that starts there, the likeliest first: whole, with its region, without "of ..."."""
    run = _NAME.match(text, start)
    if not run:
        return []
    whole = run.group()
    parts = [re.split(r" (?:and|in|for|on|to) ", whole)[0], whole, whole.split(" of ")[0]]
    region = _REGION.match(text, start + len(parts[0]))
    readings = [parts[0] + region.group()] if region else []
    return list(dict.fromkeys([*readings, *parts]))


_WHERE = ("in", "at", "near", "from", "of", "to", "outside")


def one_place(before: tuple[Token, ...], after: list[tuple[Token, ...]]) -> bool:
    """Do the names after another say only where that lies: one alone ("Frisco, Texas"), or several that end in a
    region ("in Walton, Liverpool, England"), as no list of films does? `before` holds the preposition."""
    if len(after) < 2:
        return True
    if len(after) > 3 or not any(token.text in _WHERE for token in before):
        return False
    last = after[-1]
    return " ".join(t.text for t in last).lower() in _REGIONS or lexicon.kind(last[-1].text) == lexicon.PLACE


_REGIONS = lexicon.HUBS | {"usa", "u.s.", "uk"}


def title_at(text: str, start: int, title: str) -> int:
    """Where the title ends if it stands there as a whole noun phrase of its own, not coordinated; otherwise 0."""
    name = plain(title)
    for reading in (title, name):
        if text.startswith(reading, start) and _closes(text[start + len(reading) :]):
            return start + len(reading)
    return 0


_CLOSES = re.compile(
    r"$|[;:),]|\.(?!['’])| (?:in|on|at|by|for|with|from|to|as|and|or|but|when|where|which|who|that|while|during|since|"
    r"until|after|before|between|under|alongside|featuring|starring|through|via|against|near|of the|of [A-Z])\b| \("
)


_OWNED_TOO = re.compile(r" (?:and|or)(?: [A-Z][\w.-]*){1,4}['’]s? ")
""""based on Mel Brooks and Buck Henry's series" is not based on him."""


def _closes(rest: str) -> bool:
    return bool(_CLOSES.match(rest)) and not _OWNED_TOO.match(rest)
