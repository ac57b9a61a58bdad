"""The table of relations: how a text states each, how a question asks for it, and which query finds it.

Reading passages, wording questions and reading questions all use `relations.toml`.
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
    """The classes of its subject; none if that may be anything."""
    to: tuple[str, ...]
    """The classes of its value; none if it can only be the last relation of a question."""
    pattern: re.Pattern[str]
    """The pattern of a sentence that states it; one of the groups `x0`, `x1`, ... is the value."""
    noun: str
    """A phrase for the value, with `{}` for the subject."""
    back: str
    """A phrase for the subject after its class word, with `{}` for the value; empty if it fits too many subjects."""
    ask: str
    """A question for the value, with `@` for the year that the sentence states."""
    kind: str
    """The class word of the value."""
    query: str
    """The words to search for, beside the name of the subject."""
    type: str

    def values(self, sentence: str) -> list[tuple[str, int]]:
        """Return the values that a sentence states, one or a list, each with its end in the sentence."""
        match = self.pattern.search(sentence)
        group = next((name for name, text in match.groupdict().items() if text), "") if match else ""
        if not match or not group:
            return []
        values = [(match[group], match.end(group))]
        while self.type == "entity" and (next_value := _LISTED.match(sentence, values[-1][1])):
            values.append((next_value[1], next_value.end(1)))
        return values


class ComparedRelation(NamedTuple):
    """How questions compare things by a relation. `@` stands for the year of the values."""

    ends: dict[str, str]
    """The predicate of the thing at each end of the scale, by the operation's name of that end."""
    passing: str = ""
    """The predicate of several things before a year; empty for amounts."""


def _build_pattern(template: str) -> re.Pattern[str]:
    # The name of a group may occur only once in a pattern, so each occurrence gets its own.
    expanded = _PIECE.sub(lambda match: _PIECES[match[0]], template)
    pieces = expanded.split("?P<x>")
    numbered = "".join(f"{piece}?P<x{n}>" for n, piece in enumerate(pieces[:-1])) + pieces[-1]
    return re.compile(rf"(?<![\w-])(?:{numbered})")


def _read() -> tuple[tuple[Relation, ...], dict[str, ComparedRelation], dict[str, str]]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = tuple(
        Relation(name, tuple(of.split()), tuple(to.split()), _build_pattern(pattern), *texts)
        for name, (of, to, pattern, *texts) in tables["relations"].items()
    )
    compared = {name: ComparedRelation(ends, *texts) for name, (ends, *texts) in tables["compared"].items()}
    classes = {word.replace("_", " "): name for name, text in tables["classes"].items() for word in text.split()}
    return rows, compared, classes


TABLE, COMPARED, CLASSES = _read()
"""All relations, the relations by which things are compared, and the class of each class word."""
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
    """The kind of a passage's subject."""

    name: str
    """Its class; empty if the definition has no class word."""
    word: str
    """Its class word; empty for a person."""
    group: str
    """The noun phrase of its definition: "2008 Australian drama film"."""


@cache
def kind_of(text: str) -> SubjectKind:
    definition = _DEFINED.search(text[:400])
    group = _GROUP_ENDS.split(definition[1], maxsplit=1)[0].strip() if definition else ""
    class_words = [word.lower() for word in _CLASS_WORD.findall(group)]
    if class_words and group.lower().endswith(class_words[-1]):
        return SubjectKind(CLASSES[class_words[-1]], class_words[-1], group)
    return SubjectKind("person" if _PERSON.search(text) else "", "", group)
