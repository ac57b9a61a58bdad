"""Questions that compute an answer from several things: their wording, how it is read again, and the answer."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from pipeline.demo.question_wording import Phrase, RelationOf, read_phrase, read_question
from pipeline.demo.relations import COMPARED, TABLE, Relation
from pipeline.operations import Operand, OperationError, operation
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import read_interval

_EACH = "each of these"
_FILTERED = re.compile(r"(.+) (before|after) (\d{4})")
_BETWEEN = "How many years lie between the {} and the {}?"
# Titles in quotation marks may hold commas and "and".
_SEPARATOR = re.compile(r'(?:, (?:and |or )?| and | or )(?=(?:[^"]*"[^"]*")*[^"]*$)')
_CONSIDER = re.compile(r"Consider (.+)\. ([A-Z].+ that .+)")


class Comparison(NamedTuple):
    """A question whose answer an operation computes from what other questions ask for."""

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
        if self.operation == "difference":
            return _BETWEEN.format(*(COMPARED[part.relation.name].event.format(part.of.words()) for part in self.parts))
        relation, when = self.parts[0].relation, self.parts[0].when
        things = _enumerate([part.of.words() for part in self.parts], "or" if self.which else "and")
        if self.operation == "list":
            return f"{relation.ask.format(_EACH).removesuffix('?')}: {things}?".replace("@", when)
        compared = COMPARED[relation.name]
        verb = compared.passing if self.condition else compared.ends[self.which]
        limit = f" {self.condition} {self.bound}" if self.condition else ""
        return f"Which of these {verb.replace('@', when)}{limit}: {things}?"

    def answer(self, values: Sequence[tuple[str, str]]) -> str:
        """Return the answer, or nothing if the values do not settle it.

        Args:
            values: for each part, what it gives and the name of the thing that it is about.
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


Asked = RelationOf | Comparison


@cache
def read(question: str) -> Asked | None:
    """Return what a question asks for, or None if it is not worded by the table."""
    told = question.strip()
    if consider := _CONSIDER.fullmatch(told):
        return read(_join_sentences(consider[1], consider[2]))
    if (direct := read_question(told)) and _EACH not in told:
        return direct
    return _read_difference(told) or _read_enumeration(told)


def tell_in_order(asked: Asked) -> Iterator[str]:
    """Give wordings of two sentences: the first names a thing, and the second asks about it."""
    for part in asked.parts if isinstance(asked, Comparison) else [asked]:
        inner: Phrase | None = part.of
        while isinstance(inner, RelationOf):
            told = inner.words()
            yield f"Consider {told}. {asked.question().replace(told, f'that {inner.relation.kind}', 1)}"
            inner = inner.of


def _join_sentences(thing: str, question: str) -> str:
    phrase = read_phrase(thing)
    return question.replace(f"that {phrase.relation.kind}", thing, 1) if isinstance(phrase, RelationOf) else ""


def _enumerate(things: Sequence[str], last: str) -> str:
    return f"{', '.join(things[:-1])} {last} {things[-1]}"


def _read_difference(question: str) -> Comparison | None:
    start, middle, end = _BETWEEN.split("{}")
    if not question.startswith(start) or not question.endswith(end):
        return None
    told = question.removeprefix(start).removesuffix(end)
    for place in [match.start() for match in re.finditer(re.escape(middle), told)]:
        events = [_read_event(told[:place]), _read_event(told[place + len(middle) :])]
        parts = tuple(event for event in events if event)
        if len(parts) == 2:
            return Comparison("difference", parts, unit="years")
    return None


def _read_event(told: str) -> RelationOf | None:
    for relation in TABLE:
        compared = COMPARED.get(relation.name)
        prefix = compared.event.removesuffix("{}") if compared else ""
        if prefix and told.startswith(prefix):
            return RelationOf(relation, read_phrase(told.removeprefix(prefix)))
    return None


def _read_enumeration(question: str) -> Comparison | None:
    head, colon, told = question.removesuffix("?").partition(": ")
    things = [read_phrase(thing) for thing in _SEPARATOR.split(told)]
    if not colon or len(things) < 2:
        return None
    each = read_question(f"{head}?")
    if each and _EACH in head:
        return Comparison("list", tuple(each._replace(of=thing) for thing in things))
    verb = head.removeprefix("Which of these ")
    filtered = _FILTERED.fullmatch(verb)
    for relation in TABLE if verb != head else ():
        if settings := _read_verb(relation, verb, filtered):
            when = settings.pop("when", "")
            return Comparison(parts=tuple(RelationOf(relation, thing, when) for thing in things), **settings)
    return None


def _read_verb(relation: Relation, verb: str, filtered: re.Match[str] | None) -> dict[str, Any]:
    compared = COMPARED.get(relation.name)
    if compared is None:
        return {}
    if filtered and compared.passing == filtered[1]:
        return {"operation": "filter", "condition": filtered[2], "bound": filtered[3]}
    for which, template in compared.ends.items():
        if match := re.fullmatch(re.escape(template).replace("@", r"(\d{4})"), verb):
            return {"operation": "extreme", "which": which, "when": match[1] if match.groups() else ""}
    return {}
