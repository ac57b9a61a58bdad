"""Could this be what the question asks for? A fit from the candidate's form, its neighbours and its article's lead."""

import re
from typing import Any

from pipeline.embedded.solver_lexis import kind as kind_of
from pipeline.embedded.solver_lexis import listed, nation, singular, stem, us_state
from pipeline.embedded.solver_lines import Found, Line
from pipeline.text import words

_ORG_WORDS = listed("of_organisations")
_BEFORE_PLACE = {"in": 0.85, "at": 0.85, "near": 0.85, "from": 0.85, "to": 0.85, "as": 0.2, "by": 0.2, "with": 0.2}
_BODIES = listed("bodies")
_PLACE_WORDS = listed("of_places")
_LEVELS = listed("levels")
_TITLES = listed("titles")


def fit(kind: str, head: str, found: Found, line: Line | None, lead: str, query: Any) -> float:
    """0 = cannot be; 1 = surely of the kind. `lead`: what the candidate's own article calls it, where seen."""
    if kind in ("date", "year"):
        return _date(kind, found)
    if kind == "number":
        return _number(head, found, line, query)
    if found.sort in ("date", "number"):
        return (
            0.15
            if kind == "thing" and found.sort == "number" and line and query.head in ("what", "percentage")
            else 0.0
        )
    if found.sort == "noun":
        return 0.35 if head in ("what", "why", "") else 0.45
    if found.sort != "title" and not _clean(found.text):
        return 0.0
    if line and found.place and head and found.sort == "name" and line.stems[found.place - 1] == stem(head):
        return 1.0
    score = _by_lead(kind, head, lead) if lead else 0.0
    return (
        max(score, _by_form(kind, head, found, line))
        if not lead or score > 0.4
        else 0.25 * _by_form(kind, head, found, line)
    )


def _clean(text: str) -> bool:
    return not text.isdigit() and len(text) > 1


def _by_lead(kind: str, head: str, lead: str) -> float:
    """The first nouns that an article's lead uses of its subject."""
    first = [singular(w) for w in words(lead)[:10]]
    if head and (head in first or stem(head) in {stem(w) for w in first}):
        return 1.0
    kinds = [kind_of(w) for w in first[:9]]
    return 0.95 if kind in kinds else 0.5 if kind == "thing" else 0.1


def _by_form(kind: str, head: str, found: Found, line: Line | None) -> float:
    tokens = words(found.text)
    before = line.words[found.place - 1] if line and found.place else ""
    last = tokens[-1] if tokens else ""
    if kind == "person":
        return max(
            _person(tokens, before, found, line),
            0.6 if head == "who" and set(tokens) & _ORG_WORDS and not nation(found.text) else 0.0,
        )
    if kind == "place":
        return _place(head, tokens, last, before, found, line)
    if kind == "org":
        return 0.9 if head in tokens else 0.8 if set(tokens) & _ORG_WORDS else 0.4 if nation(found.text) else 0.5
    if kind == "work":
        return 0.4 if nation(found.text) or us_state(found.text) else 0.6
    return 0.8 if head and head in [singular(t) for t in tokens] else 0.5


def _person(tokens: list[str], before: str, found: Found, line: Line | None) -> float:
    if (
        found.text[:1].isdigit()
        or nation(found.text)
        or us_state(found.text)
        or set(tokens[-1:]) & (_PLACE_WORDS | _ORG_WORDS)
    ):
        return 0.05
    if set(tokens) & _BODIES:
        return 0.05
    if tokens[:1] in (["first"], ["second"], ["best"]) or found.text.isupper():
        return 0.2
    regnal = bool(re.search(r"\b[IVX]+\b", found.text)) or " of " in found.text
    score = 0.8 if 2 <= len(tokens) <= (7 if regnal else 4) else 0.5
    if before in ("in", "at", "near", "from"):
        score -= 0.35
    if line and found.start and line.text[found.start - 1] in '"“':
        score -= 0.5
    if before in ("by", "with") or set(tokens[:1]) & _TITLES:
        score += 0.1
    return max(0.05, score)


def _place(head: str, tokens: list[str], last: str, before: str, found: Found, line: Line | None) -> float:
    country, state = nation(found.text), us_state(found.text)
    after = line.words[found.place + found.size : found.place + found.size + 1] if line else ()
    if head in after:
        return 1.0
    if head in _LEVELS and (set(after) | set(tokens[-1:])) & (_LEVELS - {head}):
        return 0.15
    if head in ("country", "nation"):
        return 1.0 if country else 0.15
    if head == "state":
        return 1.0 if state else 0.1 if country else 0.5 if before in ("in", "of", "") else 0.3
    if head in tokens:
        return 1.0
    if head in ("river", "lake", "mountain", "island", "sea", "ocean", "bay", "desert"):
        return 0.35 if not country and not state else 0.05
    if head in ("county", "province", "district", "township", "municipality"):
        return 0.05 if country else 0.5 if not state and (before in ("in", "of", "the") or not line) else 0.25
    listed = bool(
        line and re.search(r"\b(?:in|at|near|from|of) (?:the )?(?:[A-Z][\w'-]*,? )+$", line.text[: found.start])
    )
    score = 0.65 if listed else _BEFORE_PLACE.get(before, 0.5)
    if line and re.match(r",\s[A-Z]", line.text[found.start + len(found.text) :][:3]):
        score += 0.1
    if head in ("city", "town", "village", "birthplace", "hometown", "place") and (country or state):
        score -= 0.25
    return min(1.0, score)


def _date(kind: str, found: Found) -> float:
    if found.sort != "date":
        return 0.0
    if kind == "year":
        return 1.0
    return 1.0 if not found.text.isdigit() else 0.5


def _number(head: str, found: Found, line: Line | None, query: Any) -> float:
    if found.sort != "number" or line is None:
        return 0.0
    yearly = re.compile(r"1[89]\d\d|20[0-2]\d")
    if yearly.fullmatch(found.text) and any(f.sort == "number" and not yearly.fullmatch(f.text) for f in line.found):
        return 0.05
    after = line.words[found.place + found.size : found.place + found.size + 4]
    wanted = [stem(w) for w in words(query.phrase) if w not in ("how", "many", "much")]
    if wanted and {stem(w) for w in after} & set(wanted):
        return 1.0
    if yearly.fullmatch(found.text):
        return 0.15
    if wanted and {stem(w) for w in line.words[max(0, found.place - 3) : found.place]} & set(wanted):
        return 0.9
    return 0.5 if len(found.text) > 1 else 0.35
