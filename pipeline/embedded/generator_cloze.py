"""The last resort where no sentence can be read as a fact: a statement with a gap, so that any English text
yields something.
"""

import random
import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.observed import Seen
from pipeline.text import MONTHS, Span, contains, dates, normalise, numbers, sentences

_GAP = "____"
_LINE = re.compile(r"[^\n]+")
_NAME = re.compile(r"(?<=[a-z,:] )(?:[A-Z][\w’'\-]+)(?: (?:of (?:the )?)?[A-Z][\w’'\-]+)*")
_WHAT = {"number": "number", "date": "date", "entity": "name"}


class Statement(NamedTuple):
    passage: Seen
    text: str
    """A verbatim slice of the passage."""


class Gap(NamedTuple):
    statement: Statement
    span: Span
    kind: str

    @property
    def answer(self) -> str:
        return self.statement.text[self.span.start : self.span.end]

    @property
    def masked(self) -> str:
        text = self.statement.text
        return f"{text[: self.span.start]}{_GAP}{text[self.span.end :]}".rstrip(".;, ")


def cloze(seed: Seen, read: Iterable[Seen], kind: str, rng: random.Random) -> dict[str, object] | None:
    """The arguments of a proposal."""
    own = _statements(seed)
    title = plain(seed.title)
    others = [p for p in read if plain(p.title) == title and p.id != seed.id]
    same = [statement for p in others for statement in _statements(p) if _prose(statement)]
    gaps = [gap for gap in _gaps(own, kind, rng) + _gaps(same, kind, rng) if not contains(title, gap.answer)]
    return _one_step(gaps[0], title) if gaps else None


def _statements(passage: Seen) -> list[Statement]:
    """Lines of tables, and sentences, of 4 to 40 words."""
    found = []
    for line in _LINE.finditer(passage.text):
        piece = line.group()
        table = len(piece.split()) <= 30 and re.match(r"[A-Z][^.]{1,70}: ", piece)
        spans = [Span(0, len(piece))] if table else sentences(piece)
        found += [piece[span.start : span.end].strip() for span in spans]
    return [Statement(passage, said) for said in found if 4 <= len(said.split()) <= 40 and '"' not in said]


def _prose(statement: Statement) -> bool:
    return statement.text.endswith(".") and statement.text[0].isupper() and ":" not in statement.text


def _gaps(statements: list[Statement], kind: str, rng: random.Random) -> list[Gap]:
    """What can be left out, of the kind asked for first."""
    found = [gap for statement in statements for gap in _in(statement)]
    rng.shuffle(found)
    return sorted(found, key=lambda gap: gap.kind != kind)


def _in(statement: Statement) -> list[Gap]:
    text = statement.text
    dated = dates(text)
    found = [Gap(statement, date.span, "date") for date in dated if date.precision != "year"]
    for number in numbers(text):
        years = any(d.span.start <= number.span.start < d.span.end for d in dated)
        if not years and number.value > 12 and text[number.span.start].isdigit():
            found.append(Gap(statement, number.span, "number"))
    for name in _NAME.finditer(text):
        if (
            not set(name.group().split()) & set(MONTHS)
            and name.group().lower() not in lexicon.HUBS
            and len(name.group()) > 4
            and normalise(name.group())
        ):
            found.append(Gap(statement, Span(*name.span()), "entity"))
    return [gap for gap in found if not contains(gap.masked, gap.answer) and _clean(text, gap.span)]


def _clean(text: str, span: Span) -> bool:
    """Of "label: value" the value's start, of a sentence a whole word that is no part of a fraction, rate or name."""
    before, after = text[: span.start], text[span.end :]
    if re.match(r"[A-Z][^.]{1,60}: ", text):
        return re.search(r": [-$]{0,2}$", before) is not None
    return not before.endswith(("/", "-", "$")) and not re.match(r"[-/’']|,\d| [A-Z]", after)


def _ask(gap: Gap, about: str) -> str:
    return f"What {_WHAT[gap.kind]} fills the gap in “{gap.masked}”, said of {about}?"


def _one_step(gap: Gap, title: str) -> dict[str, object]:
    return _arguments(_ask(gap, title), gap, [_hop(_ask(gap, title), gap.answer, gap.statement)])


def _hop(sub_question: str, answer: str, statement: Statement) -> dict[str, str]:
    return {
        "sub_question": sub_question,
        "answer": answer,
        "passage_id": statement.passage.id,
        "quote": statement.text,
        "relation": "gap",
    }


def _arguments(question: str, gap: Gap, hops: list[dict[str, str]]) -> dict[str, object]:
    found = dates(gap.answer)
    return {
        "question": question,
        "answer": gap.answer,
        "answer_type": gap.kind,
        "answer_precision": found[0].precision if gap.kind == "date" and found else "",
        "hops": hops,
        "family": "cloze",
    }
