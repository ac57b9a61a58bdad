"""What a passage states of its own subject: links to other names, dates and numbers, each in the sentence's own words.

Relations are open: any verb or noun with its preposition may be one. A fact is kept only where the sentence without its
object is a piece of plain English into which a description of the object fits.
"""

import re
from collections import Counter
from functools import lru_cache

from pipeline.embedded import lexicon
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts_clause import Clause, Element, clauses
from pipeline.embedded.facts_person import life, one_of_a_career
from pipeline.embedded.facts_subject import Noun, Sentence, finite, is_name, phrase, split, subject
from pipeline.embedded.facts_value import Measured, counted, population
from pipeline.text import MONTHS, Date, Span, Token, dates, tagged

_DROPPABLE = frozenset("in on by at from for during since with under through between until".split())
_NAMING = frozenset("as like than and or called named titled entitled dubbed known nicknamed being".split())
_ALONE = lexicon.listed("alone_before_a_date")
_MOST_WORDS = 12


_EXAMPLES = re.compile(r"\b(in|on|for|with|by|of|like) (?:[a-z\-]+ ){1,6}(?:such as|including|like)$")
""""in comedy films such as" → "in": what follows is described anyway."""


@lru_cache(maxsize=32768)
def facts(title: str, text: str, noun: Noun) -> tuple[Fact, ...]:
    """All facts of one passage about the subject of its document."""
    found: list[Fact] = []
    another = False
    for place, sentence in enumerate(split(text)):
        another = another and _starts_with_pronoun(sentence)
        for part in _parts(sentence):
            whom = subject(part, text, title, noun, opening=place == 0 and part is sentence)
            another = another or (part is sentence and not whom.end and _introduces(sentence))
            if whom.end and not another:
                mended = part._replace(tokens=finite(part.tokens, whom.end))
                told_of = [fact for clause in clauses(mended, whom.end) for fact in _facts(mended, text, clause)]
                found += [fact._replace(of=whom.of) for fact in told_of if not _OUTSIDE.search(whom.of)]
        whole = population(text, sentence.span, noun)
        found += [_measured(measured, "clause", sentence) for measured in whole]
        if place == 0 and noun.kind == lexicon.PERSON:
            found += life(text, sentence.span)

    def saying(fact: Fact) -> tuple[str, ...]:
        return fact.kind, fact.of, fact.verb.main, fact.middle

    nearest: dict[int, Fact] = {}
    for fact in found:
        known = nearest.get(fact.object.start)
        if known is None or len(fact.middle) < len(known.middle):
            nearest[fact.object.start] = fact
    counts = Counter(saying(fact) for fact in nearest.values())
    single = [fact for fact in nearest.values() if counts[saying(fact)] == 1 or fact.kind == "link"]
    return tuple(
        fact._replace(shared=fact.shared or counts[saying(fact)] > 1 or one_of_a_career(fact, noun)) for fact in single
    )


def _starts_with_pronoun(sentence: Sentence) -> bool:
    return bool(sentence.tokens) and sentence.tokens[0].text.lower() in _STARTS[:4]


def _introduces(sentence: Sentence) -> bool:
    """Does it say what another thing is, or where? Then "it" in the next one is that: a road's post office."""
    run = next((i for i, token in enumerate(sentence.tokens) if not (is_name(token) or token.tag in _IN_NAMES)), 0)
    return run > 1 and sentence.tokens[run].text in ("is", "was", ",")


_IN_NAMES = ("DT", "NN")
_STARTS = ("he", "she", "it", "they", "its", "his", "her", "their")


def _parts(sentence: Sentence) -> list[Sentence]:
    """The sentence and what in it starts anew: after "In 2016, ", and "..., and he ..."."""
    tokens = sentence.tokens
    starts = [0]
    for i in range(1, len(tokens) - 2):
        before, word = tokens[i - 1], tokens[i].text
        joined = before.text in ("and", "but", ";") and word in _STARTS[:4]
        first = before.text == "," and starts == [0]
        led = first and tokens[0].tag in ("IN", "RB", "VBN", "VBG")
        described = first and tokens[0].tag == "DT" and word in _STARTS[:4]
        after_year = before.tag == "CD" and word in _STARTS[:4]
        if joined or after_year or described or (led and (word in (*_STARTS, "the", "this") or tokens[i].tag == "NNP")):
            starts.append(i)
    return [_part(sentence, a, b) for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]


def _part(sentence: Sentence, start: int, end: int) -> Sentence:
    if not start and end == len(sentence.tokens):
        return sentence
    tokens = sentence.tokens[start:end]
    return Sentence(
        sentence.span, (tokens[0]._replace(text=tokens[0].text[:1].upper() + tokens[0].text[1:]), *tokens[1:])
    )


def _facts(sentence: Sentence, text: str, clause: Clause) -> list[Fact]:
    found = [_fact(sentence, text, clause, index, element) for index, element in enumerate(clause.elements)]
    numbers = [_measured(measured, clause.form, sentence) for measured in counted(sentence, text, clause)]
    return [fact for fact in found if fact] + numbers


def _measured(it: Measured, form: str, sentence: Sentence) -> Fact:
    return Fact(
        "number", form, it.verb, it.middle, it.number, it.what, it.sort, sentence.span, it.relation, "", it.after
    )


def _fact(sentence: Sentence, text: str, clause: Clause, index: int, element: Element) -> Fact | None:
    tokens = sentence.tokens
    noun = tokens[element.noun : element.end]
    date = _date(noun, text)
    if date and (date.span.start > noun[0].start or noun[0].text == "The"):
        date = None
    middle = _middle(tokens, text, clause, index, upto=element.noun)
    if middle is None or noun[-1].text == "The" or _broken(clause, middle[0]):
        return None
    if date:
        return _date_fact(sentence, clause, middle[0], date, noun)
    if element.name >= 0 and tokens[element.name].text not in MONTHS:
        hint = _hint(tokens[element.noun : element.name])
        if hint == tokens[element.noun].text and tokens[element.noun - 1].text == "to":
            return None  # "set to host"
        span = Span(tokens[element.name].start, noun[-1].end)
        fact = None if hint is None else _link(sentence, clause, middle[0], span, hint)
        return fact._replace(named=middle[1], shared=element.listed) if fact else None
    return None


def _middle(tokens: tuple[Token, ...], text: str, clause: Clause, index: int, *, upto: int) -> tuple[str, bool] | None:
    """The words between verb and object, and whether they name something else, where they cannot be left out."""
    element, named = clause.elements[index], False
    deep = any(e.deep for e in clause.elements[: index + 1])
    pieces = [tokens[clause.start : clause.elements[0].start]]
    for before in clause.elements[:index]:
        piece = tokens[before.start : before.end]
        names_it = before.name >= 0 or any(t.tag == "CD" or t.text[0].isupper() for t in piece)
        droppable = (
            not deep
            and clause.verb.main != "base"
            and tokens[before.end].text != "of"
            and before.noun > before.start
            and piece[0].text in _DROPPABLE
            and clause.form != "definition"
        )
        if before.start == element.start or (names_it and droppable):
            continue
        pieces.append(piece)
        named = named or names_it
        if before.listed:
            return None
    own = upto if not element.listed else next(e.noun for e in clause.elements if e.start == element.start)
    pieces.append(tokens[element.start : own])
    middle = _EXAMPLES.sub(r"\1", " ".join(phrase(piece, text) for piece in pieces if piece))
    return (middle, named) if len(middle.split()) <= _MOST_WORDS else None


def _date(noun: tuple[Token, ...], text: str) -> Date | None:
    if not noun:
        return None
    found = dates(text[noun[0].start : noun[-1].end + 6])
    if not found:
        return None
    first = found[0]
    start = noun[0].start
    return first._replace(span=Span(first.span.start + start, first.span.end + start))


def _broken(clause: Clause, middle: str) -> bool:
    """Signs that the tagger misread the sentence, or that its words stand for something outside it."""
    first, *_ = clause.elements
    if not clause.verb.auxiliary and clause.form == "clause" and middle.startswith("by"):
        return True
    bare = clause.verb.passive and first.noun == first.start and clause.verb.main not in _NAMES_IT
    last = middle.split()[-1] if middle else ""
    if clause.verb.main == "be" and middle and tagged(middle)[0].tag == "NNS":
        return True  # "They are members of", which would be asked of one
    if clause.verb.main == "be" and clause.form == "clause" and "with" in middle.split():
        return True  # "is mainly in the borough of Haringey with a small part in"
    if bare or clause.verb.main == "go" or (not middle and clause.verb.main in _WITH_NO_OBJECT):
        return True
    return (last != "" and last not in _PREPOSITIONS) or bool(_OUTSIDE.search(middle))


_WITH_NO_OBJECT = frozenset("appear perform work live serve act compete collaborate arrive belong".split())
_NAMES_IT = frozenset("name award appoint elect crown declare".split())
_OUTSIDE = re.compile(
    r"\b(?:both|either|neither|respectively|former|latter|others?|these|those|such|between|have|same|respective)\b|[\"“”]"
)
_PREPOSITIONS = lexicon.listed("prepositions")


_SAYS_MORE = re.compile(r"\d|\b(?:that|which|who|again)\b")
_AGAIN = frozenset("again there once twice early late".split())
_NO_EVENT = frozenset("occur happen take appear be lose beat defeat meet face visit tie".split())
"""What happens often, or is no event: no day or year of it is the only one."""
_SAYS_LITTLE = lexicon.listed("says_little")


def _date_fact(sentence: Sentence, clause: Clause, middle: str, date: Date, noun: tuple[Token, ...]) -> Fact | None:
    words = middle.split()
    elsewhere = clause.form == "definition" or clause.verb.tense != "past" or date.span.start != noun[0].start
    if elsewhere or not words or words[-1] not in ("in", "on") or clause.verb.main in _NO_EVENT:
        return None
    if _SAYS_MORE.search(middle):
        return None  # "founded by Thomas Tull in 2000 and", "created by Diane English that premiered"
    whole = [t for e in clause.elements for t in sentence.tokens[e.start : e.end] if t.start < date.span.start]
    cut = len(words) < len(whole)
    if cut and (len(words) > 1 or not (clause.verb.passive or clause.verb.main in _ALONE)):
        return None
    if clause.verb.main in _SAYS_LITTLE and (cut or _AGAIN.issuperset(words[:-1])):
        return None
    return Fact(
        "date", clause.form, clause.verb, " ".join(words[:-1]), date.span, "", "", sentence.span,
        f"{clause.verb.main} date", date.precision,
    )  # fmt: skip


def _hint(before: tuple[Token, ...]) -> str | None:
    """The last common noun before the name; none (no fact) where the phrase is someone's."""
    if any(t.tag == "POS" or t.text.lower() in ("his", "her", "its", "their") or t.text.endswith("'s") for t in before):
        return None
    return next((t.text for t in reversed(before) if t.tag.startswith("NN") and t.text.islower()), "")


_THE_TOWN_OF = re.compile(r"\b(in|at|near|to|from|by|on|for|of|with) the (?:[a-z]+ ){0,2}([a-z]+) of$")
""""near the town of Oxford": the noun tells what Oxford is."""
_PARTS = frozenset("center centre capital seat coast site campus location port beach market square".split())
""""in the center of Silicon Valley": it tells what is there."""


_TWO_TIES = re.compile(
    r"^an? [\w ,-]+ (?:in|of),? and (?=the )|^(?:an?|the) [\w ,-]+ and (?=the (?:\w+ ){0,2}(?:seat|capital) of$)"
)
""""a city in and the county seat of", "a city and the county seat of": one of both will do."""
_TWO_THINGS = re.compile(r" and (?:the|an?) ")
""""a statutory officer and the head of"."""
_NO_TIE = re.compile(
    r"\bknown (?:by|to|from)$|\bcredited\b|\bacross(?: .* from)?$"
    r"|\b(?:collaboration|duet|marriage|merger) (?:of|between)$"
)
""""best known by", "credited to": no person would tell one thing from another so. What is across is so from a third,
and what is the fifth collaboration of one is so of another."""


def _link(sentence: Sentence, clause: Clause, middle: str, span: Span, hint: str) -> Fact | None:
    preposition = middle.split()[-1] if middle.split() else ""
    town = _THE_TOWN_OF.search(middle)
    if town and town.group(2) not in _PARTS and lexicon.kind(town.group(2)) in (lexicon.PLACE, lexicon.GROUP):
        middle, hint, preposition = middle[: town.end(1)], town.group(2), town.group(1)
    elif town and clause.form == "definition" and town.group(1) == "of":
        return None  # "a parish of the hundred of"
    if (clause.verb.main == "be" and middle in ("", "at")) or preposition in _NAMING:
        return None
    if _NO_TIE.search(f"{clause.verb.rest} {middle}"):
        return None
    if clause.form == "definition":
        middle = _TWO_TIES.sub("", middle)
        if _TWO_THINGS.search(middle):
            return None
        if preposition not in ("by", "in", "of", "from", "on", "for", "at", "near", "between", "to", "along", "over"):
            return None
        relation = f"{middle.split()[-2]} {preposition}"
    else:
        relation = f"{clause.verb.main} {preposition}".strip()
    return Fact("link", clause.form, clause.verb, middle, span, "", hint, sentence.span, relation)
