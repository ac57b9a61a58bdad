"""The sentences of a seen passage, with what can be an answer in them: names, dates, numbers."""

import re
from functools import lru_cache
from typing import NamedTuple

from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_lexis import STOP, listed, nation, nationality, stem
from pipeline.text import Token, dates, normalise, numbers, sentences, tagged, words

_CAP = r"[A-ZÀ-ÞŁŚŠŞŽĐČĆİŌ][\w’'\-]*(?:\.[A-Z]\.?)*\.?"
_NAME = re.compile(
    rf"(?:\d{{4}}\s+(?=[A-Z]))?{_CAP}"
    r"(?:(?:\s+(?:of|the|de|la|le|von|van|der|den|di|da|del|du|al|el|bin|ibn|y|zu|à|&)){0,2}"
    rf"\s+(?:{_CAP}|[IVX]+\b|\d+(?=\s|$)(?! (?:k?m|ft|km2|sq|percent|million|billion|trillion)\b)))*"
)
_FUNCTION = listed("function_words")
_TITLED = re.compile(
    r"(?:[A-Z]\w+(?:an|ese|ish|ch) )?(?:(?:South |North )?[A-Z]\w+ )??(?:(?:Vice |Prime |Supreme )?"
    r"(?:President|Minister|Leader|Chancellor|Premier|Senator|Governor)) (?=[A-Z])"
)
_POSTS = listed("posts")
_MONTHS = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday".split()
)


class Found(NamedTuple):
    """What could be an answer: `sort` is name, date, number or noun; `place` counts words of the line."""

    text: str
    sort: str
    place: int
    size: int
    start: int


class Line(NamedTuple):
    """One sentence of a passage."""

    passage: Seen
    number: int
    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    """One per word; empty for stop words."""
    found: tuple[Found, ...]


def bare(title: str) -> str:
    """A title without its qualifier in brackets."""
    return re.sub(r"\s*\([^()]*\)\s*$", "", title).strip() or title


@lru_cache(maxsize=8192)
def lines(passage: Seen) -> tuple[Line, ...]:
    """The sentences of one passage, in order."""
    return tuple(
        _line(passage, index, passage.text[span.start : span.end]) for index, span in enumerate(sentences(passage.text))
    )


def _line(passage: Seen, index: int, text: str) -> Line:
    plain = tuple(words(text))
    stemmed = tuple("" if word in STOP else stem(word) for word in plain)
    return Line(passage, index, text, plain, stemmed, tuple(_found(text)))


def _found(text: str) -> list[Found]:
    found = []
    for match in _NAME.finditer(text):
        opens = match.start() == 0 and " " not in match.group()
        if not (opens and tagged(text)[0].tag[:3] != "NNP"):  # "Due to ..." names nothing
            found += _names(text, match.start(), match.end())
    for date in dates(text):
        found.append(_at(text, date.span.start, date.span.end, "date"))
    for number in numbers(text):
        found.append(_at(text, number.span.start, number.span.end, "number"))
    return found


def _names(text: str, start: int, end: int) -> list[Found]:
    """The name without function words at its front, marks at its end and possessive; none for months and the like."""
    while True:
        first = re.match(r"\S+\s*", text[start:end])
        rest = text[start + first.end() : end].split() if first else []
        year = bool(first and rest and first.group().strip().isdigit() and nation(rest[0]))
        if first and (year or first.group().strip().lower().strip("'’") in _FUNCTION):
            start += first.end()
        else:
            break
    piece = (
        re.sub(r"(?:['’]s?|[.,])$", "", text[start:end])
        if not re.search(r"\b(?:Jr|Sr|St|Inc|Co|Ltd|[A-Z])\.$", text[start:end])
        else text[start:end]
    )
    piece = piece.strip()
    if titled := _TITLED.match(piece):
        start += titled.end()
        piece = piece[titled.end() :]
    owner = re.match(r"(.+?)['’]s\s+\S", piece)
    out = []
    if owner:
        out.append(_at(text, start, start + len(owner.group(1)), "name"))
        out.append(_at(text, start + owner.end() - 1, start + len(piece), "name"))
    if dated := re.match(r"\d{4}\s+", piece):
        out.append(_at(text, start + dated.end(), start + len(piece), "name"))
    if (
        len(piece) > 1
        and not nationality(piece)
        and piece.split()[0].lower() not in _MONTHS
        and piece.lower() not in _FUNCTION | _POSTS
    ):
        out.append(_at(text, start, start + len(piece), "name"))
    return out


def _at(text: str, start: int, end: int, sort: str) -> Found:
    return Found(text[start:end], sort, len(words(text[:start])), len(words(text[start:end])), start)


@lru_cache(maxsize=4096)
def nouns(line: Line) -> tuple[Found, ...]:
    """Noun phrases without a name, for questions that ask for no name ("what kind of plane")."""
    out: list[Found] = []
    run: list[Token] = []
    for token in (*tagged(line.text), None):
        if token and (token.tag[:2] in ("NN", "JJ") or (token.tag in ("VBG", "CD") and run) or token.text == "-"):
            run.append(token)
            continue
        if run and run[-1].tag[:2] == "NN" and run[0].text.lower() not in _MONTHS:
            out.append(_at(line.text, run[0].start, run[-1].end, "noun"))
        run = []
    return tuple(out)


@lru_cache(maxsize=8192)
def lead(passage: Seen) -> str:
    """What the first sentence says the title is, after its first "is a"; empty for a later passage of an article."""
    first = passage.text[: sentences(passage.text)[0].end] if passage.text else ""
    head = words(bare(passage.title))
    if not head or not set(head[:2] + head[-1:]) & set(words(first)[:14]):
        return ""
    match = re.search(r"\b(?:is|was|are|were)\s+(?:one of )?(?:an?|the|[a-z]+ of)?\s*(.*)", first)
    return match.group(1)[:160] if match else ""


@lru_cache(maxsize=65536)
def same(name: str) -> str:
    """The form in which names are compared."""
    return normalise(name)
