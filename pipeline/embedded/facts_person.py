"""What holds of people alone: the dates after a name, and what they do more than once."""

import re

from pipeline.embedded import lexicon
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts_clause import Verb
from pipeline.embedded.facts_subject import Noun
from pipeline.text import Span, dates

_LIFE = re.compile(r"^[^()]{2,120}?\(((?:[^()]|\([^()]*\))*)\)")


def life(text: str, span: Span) -> list[Fact]:
    """Birth and death of a person from the brackets after the name."""
    bracket = _LIFE.match(text[span.start : span.end])
    if not bracket:
        return []
    inside, offset = bracket.group(1), span.start + bracket.start(1)
    found = dates(inside)
    spans = re.search(r"\d{4}\s*[-–]\s*\D{0,12}\d", inside)
    facts = []
    names = ("born", "died") if spans and len(found) == 2 else ("born",) if "born" in inside and len(found) == 1 else ()
    for what, date in zip(names, found, strict=False):
        verb = Verb("was", "born", "bear", "past") if what == "born" else Verb("", "died", "die", "past")
        place = Span(date.span.start + offset, date.span.end + offset)
        facts.append(Fact("date", "clause", verb, "", place, "", "", span, f"{what} date", date.precision))
    where = re.search(r"born [^,;()]{4,30}?,? \d{4},? (?:in|at) (?=[A-Z])", inside)
    if where:
        verb = Verb("was", "born", "bear", "past")
        start = offset + where.end()
        end = offset + where.end() + len(re.match(r"[^,;()]*", inside[where.end() :]).group())  # type: ignore[union-attr]
        facts.append(Fact("link", "clause", verb, "in", Span(start, end), "", "", span, "bear in"))
    return facts


_IN_A_CAREER = lexicon.listed("in_a_career")
_POSTS = re.compile(
    r"\b(?:coach|member|player|manager|captain|professor|president|director|editor|teacher|assistant)\b"
)
_NEVER_ONE = ("win", "receive", "include", "award", "star", "feature", "co-star", "border", "host")
"""Of these one is named and others are meant, whatever has them: prizes, parts, stars, neighbours."""


def one_of_a_career(fact: Fact, noun: Noun) -> bool:
    """Does a person do such a thing more than once? Then the sentence names one of several, as with any prize won."""
    if fact.kind != "link" or fact.of:
        return False
    if fact.verb.main in _NEVER_ONE:
        return True
    if noun.kind != lexicon.PERSON or (fact.verb.tense != "past" and fact.verb.auxiliary != "has"):
        return False
    if fact.verb.main == "be":
        return bool(_POSTS.search(fact.middle))
    return fact.verb.main in _IN_A_CAREER and not fact.verb.passive
