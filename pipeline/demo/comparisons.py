"""Words, reads and answers questions that compute their answer from several things."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from pipeline.demo.question_wording import Phrase, RelationOf, read_phrase, read_question
from pipeline.demo.relations import COMPARED, TABLE
from pipeline.operations import Operand, OperationError, operation
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import read_interval

_EACH = "each of these"
_COMPARED = re.compile(r"Which of (.+)\?")
_LIMIT = r" (before|after) (\d{4})"
_APART = " how many years apart?"
# Titles in quotation marks may hold commas and "and".
_SEPARATORS = (", ", " and ")
_PIECE = re.compile(r'"[^"]*"|, | and |(?:(?!, | and )[^"])+|"')
_CONSIDER = "Consider "


class ComputedQuestion(NamedTuple):
    """A question whose answer an operation computes from the answers of other questions."""

    operation: str
    parts: tuple[RelationOf, ...]
    which: str = ""
    condition: str = ""
    bound: str = ""
    unit: str = ""

    @property
    def settings(self) -> dict[str, str]:
        fields = {name: value for name, value in self._asdict().items() if name != "parts"}
        return {name: value for name, value in fields.items() if value}

    def question(self) -> str:
        relation, when = self.parts[0].relation, self.parts[0].when
        phrases = [part.of.words() for part in self.parts]
        things = f"{', '.join(phrases[:-1])} and {phrases[-1]}"
        if self.operation == "list":
            return f"{relation.ask.format(_EACH).removesuffix('?')}: {things}?".replace("@", when)
        compared = COMPARED[relation.name]
        if self.operation == "difference":
            return f"{things[:1].upper()}{things[1:]} {compared.passing}{_APART}"
        if self.condition:
            return f"Which of {things} {compared.passing} {self.condition} {self.bound}?"
        return f"Which of {things} {compared.ends[self.which]}?".replace("@", when)

    def answer(self, values: Sequence[tuple[str, str]]) -> str:
        """Return the answer, or nothing if the values do not settle it.

        Args:
            values: for each part, its value and the name of its subject.
        """
        operands = [
            Operand(str(number), value, subject, read_interval(value)) for number, (value, subject) in enumerate(values)
        ]
        needs = tuple(operand.step_id for operand in operands)
        step = ComputedStep.model_validate(
            {"id": "answer", "sub_question": "", "answer": "", "needs": needs} | self.settings
        )
        try:
            return operation(self.operation).compute(step, operands).answer
        except OperationError:
            return ""


Asked = RelationOf | ComputedQuestion


@cache
def read(question: str) -> Asked | None:
    """Return the meaning of a question, or None if it is not worded by the table."""
    text = question.strip()
    if text.startswith(_CONSIDER) and (end := text.rfind(". ", 0, text.rfind(" that ") + 1)) > 0:
        return read(_join_sentences(text[len(_CONSIDER) : end], text[end + 2 :]))
    about_each, colon, things = text.removesuffix("?").partition(": ")
    if colon and _EACH in about_each:
        inner = read_question(f"{about_each}?")
        return _compare("list", inner.relation.name, things, inner.when) if inner else None
    if text.endswith(_APART):
        return _read_apart(text.removesuffix(_APART))
    if which := _COMPARED.fullmatch(text):
        return _read_compared(which[1])
    return read_question(text)


def tell_in_order(meaning: Asked) -> Iterator[str]:
    """Yield wordings of two sentences: the first names a thing, and the second asks about it."""
    for part in meaning.parts if isinstance(meaning, ComputedQuestion) else [meaning]:
        inner: Phrase | None = part.of
        while isinstance(inner, RelationOf):
            thing = inner.words()
            yield f"Consider {thing}. {meaning.question().replace(thing, f'that {inner.relation.kind}', 1)}"
            inner = inner.of


def _join_sentences(thing: str, question: str) -> str:
    phrase = read_phrase(thing)
    return question.replace(f"that {phrase.relation.kind}", thing, 1) if isinstance(phrase, RelationOf) else ""


def _read_apart(text: str) -> ComputedQuestion | None:
    for name, compared in COMPARED.items():
        if compared.passing and text.endswith(f" {compared.passing}"):
            things = text.removesuffix(f" {compared.passing}")
            return _compare("difference", name, re.sub("^The ", "the ", things), unit="years")
    return None


def _read_compared(text: str) -> ComputedQuestion | None:
    for name, compared in COMPARED.items():
        if compared.passing and (limit := re.fullmatch(rf"(.+) {compared.passing}{_LIMIT}", text)):
            return _compare("filter", name, limit[1], condition=limit[2], bound=limit[3])
        for which, verb in compared.ends.items():
            if end := re.fullmatch("(.+) " + verb.replace("@", r"(\d{4})"), text):
                return _compare("extreme", name, end[1], *end.groups()[1:], which=which)
    return None


def _compare(operation: str, name: str, things: str, when: str = "", **settings: str) -> ComputedQuestion | None:
    relation = next(relation for relation in TABLE if relation.name == name)
    parts = tuple(RelationOf(relation, read_phrase(thing), when) for thing in _split_things(things))
    return ComputedQuestion(operation, parts, **settings) if len(parts) > 1 else None


def _split_things(text: str) -> list[str]:
    """Split an enumeration. A title in quotation marks may contain a comma."""
    parts: list[list[str]] = [[]]
    for piece in _PIECE.findall(text):
        if piece in _SEPARATORS:
            parts.append([])
        else:
            parts[-1].append(piece)
    return ["".join(part) for part in parts]
