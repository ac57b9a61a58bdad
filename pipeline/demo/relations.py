"""The table of relations: how a text says each, how a question asks for it, and what finds it.

What is read in passages, how a question is worded, and how it is understood again all rest on `relations.toml`.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

_WORD = r"[A-ZÀ-Þ][\w'’.&!-]*"
_PIECES = {
    "DESCRIBED": r"(?:the |an? |its )?"
    r"(?:(?!and |with |or )(?:[a-z][\w-]*|[A-Z][\w-]*(?:an|ese|ish|ch|i|k|sh)|New|South|North) ){0,6}?",
    "WHO": rf"(?P<x>{_WORD}(?: (?:(?:de|la|di|da|van|von|der|bin|al|of|the) )*{_WORD}){{1,4}})",
    "WHERE": rf"(?:the (?:city|town|village) of )?(?P<x>{_WORD}(?: (?:of |upon |on )?{_WORD}){{0,3}}"
    rf"(?:, (?!U\.S){_WORD}(?: {_WORD}){{0,2}})?)",
    "COUNTY": rf"(?P<x>(?:{_WORD} ){{1,3}}(?:County|Parish|District)(?:, {_WORD}(?: {_WORD})?)?)",
    "WHAT": rf"(?P<x>{_WORD}(?: (?:(?:of|the|and|de) ){{0,2}}(?:{_WORD}|\d+))*)",
    "TEAM": rf"(?P<x>{_WORD}(?: (?:{_WORD}|\d+))*)",
    "RECORDS": r"(?P<x>(?:[A-Z]\w+ ){1,3}Records)",
    "JUSTYEAR": r"(?P<x>1\d{3}|20[0-2]\d)",
    "YEAR": r"(?:(?:[A-Z][a-z]+|\d{1,2}),? ){0,2}(?P<x>1\d{3}|20[0-2]\d)\b",
    "NUMBER": r"(?P<x>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?! (?:million|billion))",
}
_LISTED = re.compile(rf"(?:,? (?:and|or|&)|,) (?:the )?({_WORD}(?: (?:(?:of|the|de|van|von) )*{_WORD})*)")
_PIECE = re.compile("|".join(_PIECES))


class Relation(NamedTuple):
    name: str
    of: tuple[str, ...]
    """Classes of what it is told of; none where it may be anything."""
    to: tuple[str, ...]
    """Classes of what it leads to; none where it is only asked for last."""
    said: re.Pattern[str]
    """What says it; the groups `x0`, `x1`, ... are the places of what it gives."""
    noun: str
    """How a question names what it gives, with `{}` for what it is told of."""
    back: str
    """How a question names what it is told of, after its class word; empty where that names too many."""
    ask: str
    """`@` stands for the year that the sentence gives."""
    kind: str
    """The class word of what it gives."""
    query: str
    """What to search for, beside the name that it is told of."""
    type: str

    def values(self, sentence: str) -> list[tuple[str, int]]:
        """What a sentence gives, if it says this, and where each name ends: one, or as many as are listed."""
        found = self.said.search(sentence)
        group = next((name for name, text in found.groupdict().items() if text), "") if found else ""
        if not found or not group:
            return []
        several = [(found[group], found.end(group))]
        while self.type == "entity" and (more := _LISTED.match(sentence, several[-1][1])):
            several.append((more[1], more.end(1)))
        return several


class ComparedRelation(NamedTuple):
    """How questions compare things by a relation. `@` stands for the year of the values."""

    ends: dict[str, str]
    """What is said of the thing at each end of the scale, by the name that an operation gives that end."""
    passing: str = ""
    """What is said of several things, before a year that all of them have or one that parts them; empty for amounts."""


def _pattern(said: str) -> re.Pattern[str]:
    """Python lets a name stand for one group alone, so each place has its own."""
    spelt = _PIECE.sub(lambda found: _PIECES[found[0]], said)
    pieces = spelt.split("?P<x>")
    numbered = "".join(f"{piece}?P<x{n}>" for n, piece in enumerate(pieces[:-1])) + pieces[-1]
    return re.compile(rf"(?<![\w-])(?:{numbered})")


def _read() -> tuple[tuple[Relation, ...], dict[str, ComparedRelation], dict[str, str]]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = tuple(
        Relation(name, tuple(of.split()), tuple(to.split()), _pattern(said), *rest)
        for name, (of, to, said, *rest) in tables["relations"].items()
    )
    compared = {name: ComparedRelation(ends, *rest) for name, (ends, *rest) in tables["compared"].items()}
    classes = {
        word.replace("_", " "): name for name, its_words in tables["classes"].items() for word in its_words.split()
    }
    return rows, compared, classes


TABLE, COMPARED, CLASSES = _read()
"""The relations, those by which things are compared, and the class that each class word stands for."""
_CLASS_WORD = re.compile(rf"\b({'|'.join(CLASSES)})\b", re.IGNORECASE)
_DEFINED = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) (.*)")
_GROUP_ENDS = re.compile(
    r"[,;(]|\.(?: |$)|\b(?:by|in|of|from|for|that|which|who|whose|with|on|at|and|or|to|as|about|directed|written"
    r"|located|based|produced|created|released|founded|published|developed|starring|situated|set|owned)\b"
)
_PERSON = re.compile(
    r"\(.{0,80}?\b(?:born|b\.)|\(.{0,60}?\d{4}\)? ?[–-] ?.{0,30}\d{4}\)|(?:^|\. )(?:He|She) |who was born"
)


class SubjectKind(NamedTuple):
    """What the subject of a passage is."""

    name: str
    """Its class; empty where the definition has no class word."""
    word: str
    """Its class word; of a person empty."""
    group: str
    """How its definition goes on: "2008 Australian drama film"."""


@cache
def kind_of(text: str) -> SubjectKind:
    defined = _DEFINED.search(text[:400])
    group = _GROUP_ENDS.split(defined[1], maxsplit=1)[0].strip() if defined else ""
    named = [word.lower() for word in _CLASS_WORD.findall(group)]
    if named and group.lower().endswith(named[-1]):
        return SubjectKind(CLASSES[named[-1]], named[-1], group)
    return SubjectKind("person" if _PERSON.search(text) else "", "", group)
