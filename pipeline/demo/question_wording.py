"""Words chains of relations of the table as questions, and reads such questions."""

import re
from functools import cache
from typing import NamedTuple

from pipeline.demo.relations import TABLE, Relation

_TITLED = re.compile(r'the ((?:(?!of |the |by |that |which )[\w-]+ )*?[\w-]+) "([^"]+)"')


class Named(NamedTuple):
    """A thing with its name."""

    name: str
    word: str = ""
    """The words before the title of a work: its class word, perhaps with its year."""

    def words(self) -> str:
        return f'the {self.word} "{self.name}"' if self.word else self.name


class Described(NamedTuple):
    """A thing with a description and a relation: "the 2008 film directed by ..."."""

    description: str
    relation: Relation
    by: "Phrase"

    def words(self) -> str:
        return f"the {self.description} {self.relation.back.format(self.by.words())}"


class RelationOf(NamedTuple):
    """The value of a relation of a thing: "the director of ..."."""

    relation: Relation
    of: "Phrase"
    when: str = ""

    def words(self) -> str:
        return self.relation.noun.format(self.of.words())

    def question(self) -> str:
        return self.relation.ask.format(self.of.words()).replace("@", self.when)


Phrase = Named | Described | RelationOf


@cache
def read_question(question: str) -> RelationOf | None:
    """Return the meaning of a question, or None if it is not worded by the table."""
    for relation in TABLE:
        if relation.ask and (match := _shape(relation.ask).fullmatch(question.strip())):
            return RelationOf(relation, read_phrase(match[1]), *match.groups()[1:])
    return None


def read_phrase(phrase: str) -> Phrase:
    if title := _TITLED.fullmatch(phrase):
        return Named(title[2], title[1])
    for relation in TABLE:
        if relation.noun and (match := _shape(relation.noun).fullmatch(phrase)):
            return RelationOf(relation, read_phrase(match[1]))
    readings = [
        (len(match[1]), relation, match)
        for relation in TABLE
        if relation.back and (match := _shape(f"the [] {relation.back}").fullmatch(phrase))
    ]
    if readings:
        _, relation, match = min(readings, key=lambda reading: reading[0])
        return Described(match[1], relation, read_phrase(match[2]))
    return Named(phrase)


@cache
def _shape(template: str) -> re.Pattern[str]:
    """Build the pattern of a template, in which `[]` stands for a description and `{}` for a thing."""
    pattern = re.escape(template).replace("@", r"(\d{4})").replace(r"\{\}", r"((?!\d{4} ).+)")
    return re.compile(pattern.replace(r"\[\]", r"([^\"]+?(?: (?:born|opened|founded) in \d{4})?)"))
