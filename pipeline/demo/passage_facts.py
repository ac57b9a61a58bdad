"""Reads the facts that a passage states about its subject, in the relations of the table."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pipeline.demo.relations import CLASSES, TABLE, Relation, kind_of
from pipeline.text import MONTHS, normalise, sentences, strip_tag

_PASSAGE = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})(?: of [^\]\n]*)?\] ([^\n]*)\n(.*)", re.DOTALL)
_SUBJECT = re.compile(rf"(?:It|He|She|They|The (?:\w+ ){{0,2}}?(?:{'|'.join(CLASSES)})|Its|His|Her|Their)\b")
_OWNED = ("Its", "His", "Her", "Their")
_DEFINED_AS = re.compile(r",? (?:is|was|are|were) [^,]*?\b(?:who|which|that)\b")
"""A clause in the definition of the subject: "Ada Holm was a film director who was born in Vessby"."""
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_ANOTHER = re.compile(r"\b(?:who|which|whose|where|when|that|while|but|whom|after|before|including|such as)\b")
_GOES_ON = re.compile(r"['’]s\b|['’] |/| of \w|, (?:but|then)\b")
_DATED = {"person": "born", "building": "opened"}
_BY_YEAR = frozenset(("film", "record", "book", "game"))
_WHICH_ONE = re.compile(
    r"1\d{3}\b|20\d\d\b|(?:debut|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?: studio| live)?\b"
)
_PLAIN = re.compile(r"[\w -]+")
_NUMBERED = re.compile(r"^\[\d+\] ", re.MULTILINE)


class Seen(NamedTuple):
    """A passage as an agent sees it."""

    id: str
    title: str
    text: str
    sentences: tuple[str, ...]


class Fact(NamedTuple):
    relation: Relation
    value: str
    quote: str
    named: str
    """The value as a question may name it, with the article of the text."""
    sole: bool
    """Whether it is the only value that the passage states in this relation."""
    when: str = ""
    """The year of a value that changes with time."""
    sentence: int = 0
    """The number of the sentence that states it, from 1."""


@lru_cache(maxsize=4096)
def parse_observation(observation: str) -> list[Seen]:
    """Return the passages of an observation, in order: the inverse of `agents.tools.render`."""
    blocks = [_PASSAGE.fullmatch(block) for block in observation.split("\n\n")]
    return [build_passage(*match.groups()) for match in blocks if match]


def build_passage(passage_id: str, title: str, text: str) -> Seen:
    if text.startswith("[1] "):
        numbered = tuple(line.strip() for line in _NUMBERED.split(text)[1:])
        return Seen(passage_id, title, " ".join(numbered), numbered)
    return Seen(passage_id, title, text, tuple(text[span.start : span.end] for span in sentences(text)))


@lru_cache(maxsize=65536)
def key(name: str) -> str:
    """Return a key that is equal for two names of one thing."""
    return normalise(strip_tag(name))


@lru_cache(maxsize=16384)
def facts(passage: Seen) -> tuple[Fact, ...]:
    facts_by_value: dict[tuple[str, str], Fact] = {}
    kind = kind_of(passage.text).name
    for number, quote in enumerate(passage.sentences):
        start = _find_subject_end(passage.title, quote, number)
        for relation in TABLE if start else ():
            if not relation.of or kind in relation.of:
                for fact in _read_facts(relation, quote, start):
                    facts_by_value.setdefault((relation.name, key(fact.value)), fact._replace(sentence=number + 1))
    names = [name for name, _ in facts_by_value]
    return tuple(
        fact._replace(sole=fact.sole and names.count(fact.relation.name) == 1)
        for fact in facts_by_value.values()
        if key(fact.value) != key(passage.title)
    )


def _read_facts(relation: Relation, quote: str, subject_end: int) -> Iterable[Fact]:
    values = relation.values(quote)
    if not values or (quote.startswith(_OWNED) and not relation.pattern.match(quote)):
        return
    definition = _DEFINED_AS.match(quote, subject_end)
    start = definition.end() if definition else subject_end
    if _ANOTHER.search(quote[start : values[0][1] - len(values[0][0])]):
        return
    for value, end in values:
        if relation.type == "entity" and _GOES_ON.match(quote, end):
            return
        if relation.type == "entity" and _is_no_name(value):
            return
        start = end - len(value)
        name = value if value.endswith(("Jr.", "Sr.")) else value.rstrip(".'’,!-")
        article = "the " if quote[:start].endswith(("the ", "The ")) and "person" not in relation.to else ""
        year = _YEAR.search(quote) if "@" in relation.ask else None
        sole = len(values) == 1 and bool(relation.ask) and ("@" not in relation.ask or year is not None)
        yield Fact(relation, name, quote, article + name, sole, year[0] if year else "")


def _is_no_name(value: str) -> bool:
    """Return whether a value is cut off, or a date: "May 1941", or the month of "in Vessby, April 1941"."""
    parts = value.split()
    return len(parts[-1]) < 2 or parts[0] in MONTHS or value.partition(", ")[2] in MONTHS


def _find_subject_end(title: str, quote: str, number: int) -> int:
    """Return the end of a sentence's subject if that is the passage's subject, else 0."""
    if subject := _SUBJECT.match(quote):
        return subject.end()
    name = strip_tag(title).split(",")[0]
    for spelling in (name, name.split()[-1]) if name else ():
        start = quote.find(spelling, 0, 60 + len(spelling) if number == 0 else len(spelling) + 5)
        if start >= 0:
            return start + len(spelling)
    return 0


@lru_cache(maxsize=16384)
def description(passage: Seen) -> str:
    """Return a description without the name, as "2008 film" or "Finnish athlete born in 1949"; empty if there is none.

    It is short, since a search for a long description alone would find the thing.
    """
    kind = kind_of(passage.text)
    if kind.name in _BY_YEAR:
        which = _WHICH_ONE.match(kind.group)
        return f"{which[0]} {kind.word}" if which else ""
    how = _DATED.get(kind.name, "founded")
    year = next((fact.value for fact in facts(passage) if fact.relation.name == how and fact.sole), "")
    noun = kind.word or " ".join(kind.group.split()[-2:])
    return f"{noun} {how} in {year}" if kind.name and year and _PLAIN.fullmatch(noun) else ""
