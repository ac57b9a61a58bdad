"""Edges over a name that the facts of two titles share, and the clues that single out one thing among others like it.

"X was directed by a filmmaker who also directed a 1998 comedy film": the filmmaker needs no passage, the second film is
found by searching the filmmaker's name, and its year and sort tell it from the rest.
"""

import re

from pipeline.embedded import lexicon
from pipeline.embedded.compose import inverse
from pipeline.embedded.facts_name import title_at
from pipeline.embedded.generator_graph import Edge, Graph, Stated, readings
from pipeline.text import dates

_MOST_SHARING = 8
_FOUNDED = lexicon.listed("founding_verbs")
_BY_VERB: dict[str, str] = lexicon.WORDS["maker_of_verb"]
_BY_HEAD: dict[str, str] = lexicon.WORDS["maker_of_work"]
_BY_NAME: dict[str, str] = lexicon.WORDS["ends_of_names"]
_NAMED_ALIKE = frozenset("school church park station hospital cemetery street hotel library hall township".split())
"""Of these there are many of one name: two passages that name one need not mean the same."""


def bridges(graph: Graph) -> list[Edge]:
    sharing: dict[str, list[tuple[str, Stated]]] = {}
    for title, told_of in graph.stated.items():
        for stated in told_of:
            if stated.fact.kind == "link":
                for reading in readings(stated)[:1]:
                    if (" " in reading or reading in graph.nodes) and title_at(
                        stated.passage.text, stated.fact.object.start, reading
                    ):
                        sharing.setdefault(reading, []).append((title, stated))
    found = []
    for reading, users in sharing.items():
        if 2 <= len(users) <= _MOST_SHARING:
            pairs = [(one, other) for one in users for other in users if one[0] != other[0]]
            found += [edge for one, other in pairs if (edge := _bridge(graph, reading, one, other, users))]
    return found


def _bridge(
    graph: Graph, reading: str, one: tuple[str, Stated], other: tuple[str, Stated], users: list[tuple[str, Stated]]
) -> Edge | None:
    """The edge from one title to the other, if the second is the only one of its description."""
    (source, stated), (target, back) = one, other
    noun, told = _pivot(graph, reading, stated, back), clue(graph, target)
    if not noun or not told or any(title != target and _fits_too(graph, title, told) for title, _ in users):
        return None
    if noun.split()[-1] in _OF_MANY and not dated(told):
        return None
    if graph.nodes[target].noun.kind == lexicon.PERSON and (back.fact.shared or _has_many(noun)):
        return None  # one of the many who once played for a club, graduated from a university or were born in a city
    also = stated.fact.verb.main == back.fact.verb.main or (stated.fact.form == back.fact.form == "definition")
    turn = inverse(back.fact, graph.nodes[target].noun, lexicon.kind(noun.split()[-1]), also=also)
    return Edge(source, target, stated, reading, back, noun, turn) if turn else None


_OF_MANY = frozenset("league series competition division association conference championship tournament sport".split())
"""What always has several teams, people or editions."""


def _has_many(noun: str) -> bool:
    """Do so many people have to do with it that several are of one trade and year?"""
    return lexicon.kind(noun.split()[-1]) in (lexicon.GROUP, lexicon.PLACE)


def dated(told: str) -> bool:
    """Has the description a year or day in it, which two things of one sort seldom share?"""
    return any(letter.isdigit() for letter in told)


def _fits_too(graph: Graph, title: str, told: str) -> bool:
    """Does the description hold for that one as well? A professional women's team is a professional team too."""
    if dated(told):
        return clue(graph, title) == told
    noun, words = graph.nodes[title].noun, told.split()[1:]
    return lexicon.same_thing(noun.head, words[-1]) and set(words[:-1]) <= set(noun.full.split())


def _pivot(graph: Graph, reading: str, stated: Stated, back: Stated) -> str:
    """The noun of the name between: its own passage's, or what the sentences call it, or what the verb implies."""
    if reading in graph.nodes:
        return graph.nodes[reading].noun.phrase
    for one in (stated, back):
        if one.fact.hint and lexicon.kind(one.fact.hint) != lexicon.OTHER:
            return one.fact.hint
    last = reading.split(", ")[0].split()[-1].lower()
    if last in _NAMED_ALIKE:
        return ""
    if last in _BY_NAME or lexicon.kind(last) in (lexicon.PLACE, lexicon.GROUP):
        return _BY_NAME.get(last, last)
    for one in (back, stated):
        words = one.fact.middle.split()
        if one.fact.form == "definition" and words[-1] == "by" and words[-2] in _BY_HEAD:
            return _BY_HEAD[words[-2]]
        if one.fact.form != "definition" and one.fact.middle in ("by", "") and one.fact.verb.main in _BY_VERB:
            return _BY_VERB[one.fact.verb.main]
    return ""


def clue(graph: Graph, title: str) -> str:
    """A description by year, of a person by that of birth, that singles it out in a list; or nothing.

    A day of birth tells better, but one search finds who was born on it: no other hop is needed then.
    """
    noun = graph.nodes[title].noun
    if noun.kind == lexicon.WORK and re.match(r"(?:1[89]|20)\d\d ", noun.full):
        return f"{lexicon.article(noun.full)} {noun.full}"
    said = f"{lexicon.article(noun.phrase)} {noun.phrase}"
    for stated in graph.stated.get(title, ()):
        fact = stated.fact
        date = dates(stated.object)[0] if fact.kind == "date" else None
        if date is None or fact.of:
            continue
        if noun.kind == lexicon.PERSON:
            if fact.relation == "born date":
                return f"{said} born in {date.year}"
        elif noun.kind == lexicon.WORK and fact.verb.main == "release":
            return f"a {date.year} {noun.phrase}"
        elif fact.verb.main in _FOUNDED and fact.verb.passive and not fact.middle:
            return f"{said} {fact.verb.rest} in {date.year}"
    telling = (
        noun.kind in (lexicon.PLACE, lexicon.GROUP, lexicon.EVENT)
        and len(noun.full.split()) > 2
        and noun.article != "the"
    )
    return f"{lexicon.article(noun.full)} {noun.full}" if telling else ""


def clue_relation(graph: Graph, title: str) -> str:
    """The relation that the clue states, which must not be asked for again."""
    noun = graph.nodes[title].noun
    if noun.kind == lexicon.PERSON:
        return "born date"
    told = clue(graph, title)
    return next(
        (
            s.fact.relation
            for s in graph.stated.get(title, ())
            if s.fact.kind == "date" and told.endswith(f"{s.fact.verb.rest} in {s.object[-4:]}")
        ),
        "",
    )
