"""How English Wikipedia states the commonest relations; a bonus for a candidate that stands where the fact is stated.

Dates of life in brackets after the name, "directed by X", "son of X and Y", "born in X": no clue says it so.
"""

import re
from typing import Any

from pipeline.embedded.solver_lexis import WORDS, stem
from pipeline.embedded.solver_lines import Found, Line

_AGENT = {stem(name): re.compile(text, re.IGNORECASE) for name, text in WORDS["stated"].items()}
_OTHER = re.compile(r"\b(?:written|composed|penned|produced|designed)(?: and \w+)? by\s*$", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:directed|performed|recorded|sung|released)(?:,? and \w+| \w+)? by\s*$"
    r"|and (?:directed|performed|recorded) by\s*$"
)
_BORN = re.compile(r"\b(?:born|birth|native)\b[^.;]*$", re.IGNORECASE)
_DIED = re.compile(r"\b(?:died|death|dying|killed|dead|d\.)\b[^.;]*$", re.IGNORECASE)
_BRACKET = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")


def pattern(query: Any, found: Found, line: Line, about: float) -> float:
    """0 to 0.5, and less than 0 where the sentence states the opposite end."""
    before = line.text[max(0, found.start - 140) : found.start]
    relations = set(query.content)
    if "birth" in relations or "death" in relations:
        return _life(query, relations, found, line, before, about)
    for relation in dict.fromkeys(query.content):
        expression = _AGENT.get(relation)
        if relation == "perform" and found.text.lower() in line.passage.title.partition("(")[2].lower():
            return 0.5
        if relation in ("perform", "direct") and _OTHER.search(before) and not _OWN.search(before):
            return -0.15
        if expression and found.sort == "name" and (match := expression.search(before)):
            return _agent(relation, match.group(), before[match.start() :]) * max(about, 0.3)
    return 0.0


def _agent(relation: str, stated: str, between: str) -> float:
    """Less for every further name between the relation's words and the candidate."""
    others = between.count(",")
    others += between.count(" and ") if relation != stem("mother") else 0
    others += len(re.findall(r"\b(?:wife|mother)\b", between)) if relation == stem("father") else 0
    strength = 0.4 if re.search(r"\b(?:by|of|to|married)\b", stated) else 0.25
    return max(0.08, strength - 0.1 * others - 0.0008 * len(between))


def _life(query: Any, relations: set[str], found: Found, line: Line, before: str, about: float) -> float:
    """Dates and places of birth and death, in brackets after the name or in words."""
    wants_birth = "birth" in relations
    weight = max(about, 0.2)
    bracket = (
        next((m for m in _BRACKET.finditer(line.text) if re.search(r"\d{4}", m.group(1))), None)
        if line.number == 0
        else None
    )
    if bracket and bracket.start() < found.start < bracket.end():
        inside = line.text[bracket.start() : found.start]
        dashed = bool(re.search(r"\s[–—-]\s*|[–—]|died|\bd\.", inside))
        if query.kind in ("date", "year") or (found.sort == "name"):
            return (0.5 if dashed != wants_birth else -0.3) * weight
    if query.kind == "place" and not re.search(r"(?:\b(?:in|at|near|from|of)(?: the)?|[A-Z]\w+,)\s*$", before):
        return 0.0
    mark = (_BORN if wants_birth else _DIED).search(before)
    other = (_DIED if wants_birth else _BORN).search(before)
    if mark and (not other or mark.start() > other.start()):
        gap = len(before) - mark.start()
        return max(0.05, 0.38 - gap * 0.004) * weight
    return -0.15 * weight if other else 0.0
