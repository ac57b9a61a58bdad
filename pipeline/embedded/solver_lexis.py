"""The solver's own words: what kind of thing a noun asks for, which words state a relation, and the nations."""

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

from pipeline.text import words

WORDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("solver_lexis.toml").read_text(encoding="utf-8")
)


def listed(name: str) -> frozenset[str]:
    """One of the lists of words in `solver_lexis.toml`."""
    return frozenset(WORDS[name].split())


STOP, TIED, _BARE, _NOT_PERSON = listed("stop"), listed("tied"), listed("bare"), listed("not_person")
_KINDS: dict[str, frozenset[str]] = {kind: frozenset(text.split()) for kind, text in WORDS["kinds"].items()}
_COUNTRIES, _NATIONALITIES, _STATES = (
    frozenset(" ".join(words(name)) for name in WORDS[key]) for key in ("countries", "nationalities", "us_states")
)
_MORE = re.compile(r"(?:er|or|ist|ian|man|woman|eer)$")


def kind(head: str) -> str:
    """Which kind of answer a head noun asks for; `thing` where the word does not say."""
    word = singular(head.casefold().split()[-1]) if head.split() else ""
    for name, members in _KINDS.items():
        if word in members:
            return name
    if word in ("date", "birthday", "birthdate", "when", "day", "month"):
        return "date"
    if word in ("year", "decade"):
        return "year"
    if word in ("population", "percentage", "number", "amount", "count", "percent", "total", "length", "height"):
        return "number"
    return "person" if _MORE.search(word) and word not in _NOT_PERSON and len(word) > 4 else "thing"


def plain(head: str) -> bool:
    """Does the noun only say what kind of thing is meant ("a town that ..."), no relation ("the mother of ...")?"""
    return head not in TIED and any(head in of for of in (_KINDS["place"], _KINDS["org"], _KINDS["work"], _BARE))


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4 and word not in ("series", "species"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "series")) and len(word) > 3:
        return word[:-1]
    return word


_IRREGULAR: dict[str, str] = {word: root for root, of in WORDS["stems"].items() for word in of.split()}
_SUFFIX = re.compile(r"(?:ations?|ings?|ers?|ors?|edly|ed|es|s|ly|e|y|ies|ied)$")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A rough stem, the same for verb and agent noun ("directed", "director")."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 5 or word.isdigit():
        return singular(word) if len(word) > 3 else word
    cut = _SUFFIX.sub("", word, count=1)
    if len(cut) < 3:
        cut = word
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut


def stems(text: str) -> tuple[str, ...]:
    """Stems of the content words, in order."""
    return tuple(stem(word) for word in words(text) if word not in STOP)


_MEANINGS: dict[str, frozenset[str]] = {}
for _key, _values in WORDS["related"].items():
    _meant = frozenset(_values.split()) | {stem(value) for value in _values.split()}
    _MEANINGS[stem(_key)] = _MEANINGS.get(stem(_key), frozenset()) | _meant


@lru_cache(maxsize=65536)
def meanings(question_stem: str) -> frozenset[str]:
    """The stem itself and those that may stand for it in an article."""
    return _MEANINGS.get(question_stem, frozenset()) | {question_stem}


@lru_cache(maxsize=65536)
def nation(name: str) -> bool:
    """Is it a country, by name or adjective?"""
    plain_name = " ".join(words(name.removeprefix("the ").removeprefix("The ")))
    return plain_name in _COUNTRIES or plain_name in _NATIONALITIES


def nationality(name: str) -> bool:
    """Is it the adjective of a country ("French")?"""
    return " ".join(words(name)) in _NATIONALITIES


def us_state(name: str) -> bool:
    return " ".join(words(name)) in _STATES
