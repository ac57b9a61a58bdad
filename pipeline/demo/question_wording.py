"""Questions over the table of relations: how a chain of them is worded, and how such a question is read again."""

import re
from functools import cache
from typing import NamedTuple

from pipeline.demo.relations import TABLE, Relation

_TITLED = re.compile(r'the ((?:(?!of |the |by |that |which )[\w-]+ )*?[\w-]+) "([^"]+)"')


class Named(NamedTuple):
    """A thing by its name."""

    name: str
    word: str = ""
    """What stands before the title of a work: its class word, or its year too."""

    def words(self) -> str:
        return f'the {self.word} "{self.name}"' if self.word else self.name


class Described(NamedTuple):
    """A thing by what it is and by a relation of it: "the 2008 film directed by ..."."""

    description: str
    relation: Relation
    by: "Phrase"

    def words(self) -> str:
        return f"the {self.description} {self.relation.back.format(self.by.words())}"


class RelationOf(NamedTuple):
    """What a relation of a thing gives: "the director of ..."."""

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
    """What a question asks for; nothing where it is not worded by the table."""
    for relation in TABLE:
        if relation.ask and (found := _shape(relation.ask).fullmatch(question.strip())):
            return RelationOf(relation, read_phrase(found[1]), *found.groups()[1:])
    return None


def read_phrase(phrase: str) -> Phrase:
    """Return the thing that a phrase of a question names or describes."""
    if titled := _TITLED.fullmatch(phrase):
        return Named(titled[2], titled[1])
    for relation in TABLE:
        if relation.noun and (found := _shape(relation.noun).fullmatch(phrase)):
            return RelationOf(relation, read_phrase(found[1]))
    described = [
        (len(found[1]), relation, found)
        for relation in TABLE
        if relation.back and (found := _shape(f"the [] {relation.back}").fullmatch(phrase))
    ]
    if described:
        _, relation, found = min(described, key=lambda one: one[0])
        return Described(found[1], relation, read_phrase(found[2]))
    return Named(phrase)


@cache
def _shape(template: str) -> re.Pattern[str]:
    """The pattern of a template's words: `[]` stands for a description, `{}` for a thing."""
    pattern = re.escape(template).replace("@", r"(\d{4})").replace(r"\{\}", r"((?!\d{4} ).+)")
    return re.compile(pattern.replace(r"\[\]", r"([^\"]+?(?: (?:born|opened|founded) in \d{4})?)"))
