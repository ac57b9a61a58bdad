"""Numbers that a passage states of its subject, each with the noun that says what it counts or measures."""

import re
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.facts_clause import Clause, Verb
from pipeline.embedded.facts_subject import Noun, Sentence, phrase
from pipeline.text import Span, Token, dates, numbers

_MEASURES = lexicon.listed("measures")
_HEDGES = lexicon.listed("hedges")
_HEDGED = re.compile(r"\s*\b(?:about|over|around|nearly|almost|approximately|under|roughly|more than|a total of)$")
_NO_UNIT = lexicon.listed("uncounted")
_SPELT = frozenset(
    """five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty""".split()
)
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_UNIT = re.compile(
    r"\s*(?:million|billion|thousand)?\s*(?:square (?:kilomet(?:re|er)s|miles|feet|met(?:re|er)s)|km²|km2|km|"
    r"kilomet(?:re|er)s|miles|"
    r"met(?:re|er)s|feet|ft|m\b|acres|hectares|ha\b|people|inhabitants|residents|seats|spectators|students|kg|tons|tonnes|copies)?"
)
_POPULATION = re.compile(
    r"\bpopulation (?:was|is|of|stood at)\b(?: about| approximately| around| over| nearly| estimated at)? "
    r"(\d{1,3}(?:,\d{3})+|\d{3,4})(?![\d.,]*\d|%)"
)
_CENSUS = re.compile(r"(?:the )?(\d{4}) (?:[A-Z][\w.]* ){0,3}[Cc]ensus(?! Bureau| estimate)")
_BEFORE = re.compile(
    r"\b(?:from|since|over|than|compared (?:to|with)) (?:that of )?(?:the )?(?:1[89]|20)\d\d\b(?: [Cc]ensus)?"
)
""""an increase of 3 percent from the 2000 census": the figure is of another year."""
_AS_OF = re.compile(r"\b(?:as of|in|by) (?:the )?(?:[A-Z][a-z]+ )?((?:1[89]|20)\d\d)\b", re.IGNORECASE)


class Measured(NamedTuple):
    """`sort`: `count` ("how many <what>") or `measure` ("what is the <what>")."""

    sort: str
    verb: Verb
    middle: str
    what: str
    after: str
    number: Span
    relation: str


_CUT = re.compile(r"(?:\b(?:St|Mt|Ft|Dr|No)|\d)\.?$")
"""The sentence was taken to end after an abbreviation, or another figure follows."""


def counted(sentence: Sentence, text: str, clause: Clause) -> list[Measured]:
    """Numbers among the elements of a clause."""
    if clause.form == "definition":
        return []
    found = []
    for index, element in enumerate(clause.elements[:3]):
        noun = sentence.tokens[element.noun : element.end]
        if any(e.deep for e in clause.elements[: index + 1]) or not any(t.tag == "CD" for t in noun):
            continue
        measure = _measure(sentence, text, clause, index) or _count(sentence, text, clause, index)
        if measure and not _CUT.search(measure.after):
            found.append(measure)
    return found


def _number(noun: tuple[Token, ...]) -> tuple[int, Token] | None:
    place = next((i for i, t in enumerate(noun) if t.tag == "CD"), None)
    if place is None or not (_DIGITS.fullmatch(noun[place].text) or noun[place].text.lower() in _SPELT):
        return None
    return place, noun[place]


def _count(sentence: Sentence, text: str, clause: Clause, index: int) -> Measured | None:
    """ "made 112 appearances in the league"; hedges before the number go, what follows the noun stays."""
    element = clause.elements[index]
    noun = sentence.tokens[element.noun : element.end]
    found = _number(noun)
    if not found or element.name >= 0 or clause.verb.main == "be":
        return None
    place, token = found
    what = phrase(noun[place + 1 :], text)
    hedged = all(t.text.lower() in _HEDGES for t in noun[:place])
    clean = (
        re.fullmatch(r"[a-z\-]+(?: [a-z\-]+){0,3}", what) and what.endswith("s") and not _NO_UNIT & set(what.split())
    )
    if not clean or not hedged or dates(token.text) or numbers(token.text)[0].value < 4:
        return None
    after = _after(sentence, text, clause, index)
    if index + 1 < len(clause.elements) and not after:
        return None  # "five awards from the British Academy" are not all that it won
    before = [sentence.tokens[clause.start : clause.elements[0].start]]
    before += [sentence.tokens[e.start : e.end] for e in clause.elements[:index]]
    before.append(sentence.tokens[element.start : element.noun])
    middle = _HEDGED.sub("", " ".join(phrase(piece, text) for piece in before if piece))
    if (
        any(c.isdigit() or c.isupper() for c in middle)
        or numbers(middle)
        or "record" in middle
        or (clause.verb.passive and not middle)
    ):
        return None
    relation = f"{clause.verb.main} {what.split()[-1]}"
    return Measured(
        "count",
        clause.verb,
        middle,
        what,
        after,
        Span(token.start, token.end),
        relation,
    )


def _after(sentence: Sentence, text: str, clause: Clause, index: int) -> str:
    """The phrase after the counted noun that says where or for whom."""
    if index + 1 >= len(clause.elements):
        return ""
    following = clause.elements[index + 1]
    tokens = sentence.tokens[following.start : following.end]
    good = (
        not following.deep
        and not following.listed
        and following.noun > following.start
        and tokens[0].text in ("in", "for", "at", "of", "with", "on", "from", "by", "to", "across")
    )
    return phrase(tokens, text) if good and len(tokens) <= 7 else ""


def _measure(sentence: Sentence, text: str, clause: Clause, index: int) -> Measured | None:
    """ "has a population of 4,205", "with a capacity of 20,000"."""
    if not index:
        return None
    element, before = clause.elements[index], clause.elements[index - 1]
    owner = sentence.tokens[before.noun : before.end]
    found = _number(sentence.tokens[element.noun : element.end])
    of = phrase(sentence.tokens[element.start : element.noun], text) == "of"
    if (
        not found
        or not of
        or not owner
        or owner[-1].text not in _MEASURES
        or clause.verb.main not in ("have", "cover", "reach")
    ):
        return None
    what = " ".join(
        t.text for t in owner if t.tag.startswith(("NN", "JJ", "VBG")) and t.text not in ("estimated", "current")
    )
    after = _when(text[sentence.span.start : sentence.span.end])
    verb = Verb("", "had", "have", "past") if after else clause.verb
    return Measured("measure", verb, "", what, after, _with_unit(text, found[1]), f"{owner[-1].text} of")


def _with_unit(text: str, token: Token) -> Span:
    unit = _UNIT.match(text, token.end)
    return Span(token.start, token.end + len(unit.group().rstrip()) if unit else token.end)


def population(text: str, span: Span, noun: Noun) -> list[Measured]:
    """Of a place, with the census where the sentence names one."""
    sentence = text[span.start : span.end]
    found = _POPULATION.search(sentence)
    if not found or noun.kind != lexicon.PLACE or noun.head in ("country", "region"):
        return []
    after = _when(sentence)
    tense = "past" if after or "was" in found.group() else "present"
    verb = Verb("was" if tense == "past" else "is", "", "be", tense)
    number = Span(span.start + found.start(1), span.start + found.end(1))
    return [Measured("measure", verb, "", "population", after, number, "population of")]


def _when(sentence: str) -> str:
    """ "at the 2010 census", "in 2018"; nothing where no year is told, or several."""
    sentence = _BEFORE.sub("", sentence)
    if census := _CENSUS.search(sentence):
        return f"at the {census.group(1)} census"
    years = set(re.findall(r"\b(?:1[89]|20)\d\d\b", sentence))
    told_in = _AS_OF.search(sentence)
    return f"in {told_in.group(1)}" if told_in and len(years) == 1 else ""
