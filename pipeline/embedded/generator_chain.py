"""Chains of passages through what was read: which of them make a sound question, and which is the best."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.compose import plays_in, sited
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts_clause import Verb
from pipeline.embedded.facts_name import title_at
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_bridge import clue, clue_relation, dated
from pipeline.embedded.generator_graph import Edge, Graph, Stated, readings, tells
from pipeline.text import Span, contains, dates, normalise, sentences, words


class Final(NamedTuple):
    """The fact that a chain ends in."""

    stated: Stated
    kind: str
    answer: str
    sort: str = ""
    """The noun of an entity, where its passage was read."""
    sort_kind: str = ""


class Chain(NamedTuple):
    start: str
    edges: tuple[Edge, ...]
    final: Final

    @property
    def titles(self) -> tuple[str, ...]:
        return (self.start, *(edge.target for edge in self.edges))

    @property
    def evidence(self) -> tuple[Stated, ...]:
        return (*(edge.stated for edge in self.edges), self.final.stated)

    @property
    def answers(self) -> tuple[str, ...]:
        return (*(edge.mention for edge in self.edges), self.final.answer)


def paths(graph: Graph, length: int) -> Iterator[tuple[Edge, ...]]:
    """All runs of `length - 1` edges, each from the target of the one before, without a title twice."""
    runs: list[tuple[Edge, ...]] = (
        [(edge,) for edge in graph.edges if usable(graph, edge, first=True)] if length > 1 else []
    )
    for _ in range(length - 2):
        runs = [
            (*run, edge) for run in runs for edge in graph.outward.get(run[-1].target, ()) if _follows(graph, run, edge)
        ]
        runs = runs[:_MOST_RUNS]
    yield from runs


_MOST_RUNS = 4000


def _follows(graph: Graph, run: tuple[Edge, ...], edge: Edge) -> bool:
    back, home = run[-1].back, run[-1].stated.passage
    if tells(home, edge.mention) or home.title == edge.stated.passage.title:
        return False
    passed = {run[0].source, *(before.target for before in run)}
    return (
        edge.target not in passed
        and usable(graph, edge, first=False)
        and (not back or back.passage.id == edge.stated.passage.id)
    )


def usable(graph: Graph, edge: Edge, *, first: bool) -> bool:
    """Only the first hop may name other things, and an edge that is one of several needs a clue to which one."""
    fact = edge.stated.fact
    if not first and (fact.named or len(fact.middle.split()) > 9 or _RELATIVE.search(fact.middle)):
        return False
    if (
        fact.verb.main in ("locate", "situate")
        and graph.nodes[edge.target].noun.kind == lexicon.GROUP
        and not edge.back
    ):
        return False  # a team that is "located in a league"
    return not fact.shared or bool(edge.back) or dated(clue(graph, edge.target))


_RELATIVE = re.compile(r"\b(?:who|that|which)\b")
""""that club is a club who play in": what was told already would be told again."""


def clued(edge: Edge) -> bool:
    """Does the question describe the target by its clue?"""
    return edge.back is not None or edge.stated.fact.shared


def chains(graph: Graph, length: int, answer_type: str) -> list[Chain]:
    """All sound chains of that length and type."""
    ends: dict[str, list[Final]] = {}
    found = []
    for run in paths(graph, length):
        end = run[-1].target
        if end not in ends:
            ends[end] = finals(graph, end, answer_type)
        for final in ends[end]:
            chain = Chain(run[0].source, run, final)
            if sound(graph, chain):
                found.append(chain)
    return found[:_MOST_CHAINS]


_MOST_CHAINS = 300


def finals(graph: Graph, title: str, answer_type: str) -> list[Final]:
    """What can be asked of a thing."""
    found = _dated(graph, title) if answer_type == "date" else []
    for stated in graph.stated.get(title, ()):
        fact = stated.fact
        if fact.kind != ("link" if answer_type == "entity" else answer_type) or fact.named or fact.shared:
            continue
        if answer_type != "entity" and _one_of_many(stated):
            continue
        if answer_type == "entity":
            found += _entity(graph, title, stated)
        elif len(fact.middle.split()) <= 7:
            found.append(Final(stated, fact.kind, stated.object))
    return found


_MORE = {
    "date": re.compile(r"(?:,|,? and|,? or|–|-) ?\d{4}\b"),
    "number": re.compile(r"(?: [\w-]+){1,3},? (?:and|or) "),
}


_OF_ANOTHER = re.compile(r"\b(?:since|when|while|until|before|after)\b")


def _one_of_many(stated: Stated) -> bool:
    """Is it only the first of what the sentence counts or dates ("in 2006, 2018 and 2019", "14 schools and colleges"),
    or the year of a figure, or of what else happened ("the first one built since that one opened in 1960")?"""
    fact, text = stated.fact, stated.passage.text
    if _OF_ANOTHER.search(fact.middle):
        return True
    return bool(_MORE[fact.kind].match(text, fact.object.end)) or (fact.kind == "date" and fact.verb.main == "have")


def _dated(graph: Graph, title: str) -> list[Final]:
    """The year of a work from its definition, "a 2004 comedy film"."""
    if title not in graph.nodes:
        return []
    noun = graph.nodes[title].noun
    year = re.match(r"((?:1[89]|20)\d\d) ", noun.full)
    first = next(iter(graph.stated.get(title, ())), None)
    if noun.kind != lexicon.WORK or not year or first is None:
        return []
    passage = first.passage
    opening = sentences(passage.text)[0]
    place = passage.text.find(year.group(1), opening.start, opening.end)
    if place < 0 or dates(passage.text[place : place + 4]) == []:
        return []
    verb = Verb("was", "released", "release", "past")
    span = Span(place, place + 4)
    fact = Fact("date", "clause", verb, "", span, "", "", opening, "release date", "year")
    return [Final(Stated(passage, fact), "date", year.group(1))]


def _entity(graph: Graph, title: str, stated: Stated) -> list[Final]:
    fact = stated.fact
    indefinite = fact.form == "definition" and fact.middle.startswith(("a ", "an "))
    if indefinite and not sited(fact) and not fact.middle.endswith(" by"):
        return []  # "the university that ... is a university with campuses in which city?"
    if fact.verb.main in ("know", "include"):
        return []  # "in which episode is this actor known for his work?", "his films include which film?"
    edge = next((e for e in graph.outward.get(title, ()) if e.stated is stated and not e.back), None)
    if edge:
        noun = graph.nodes[edge.target].noun
        return [Final(stated, "entity", edge.mention, noun.phrase, noun.kind)]
    name = next((reading for reading in readings(stated) if "," not in reading), "")
    if not name or not title_at(stated.passage.text, fact.object.start, name):
        return []
    kind = lexicon.PLACE if fact.form == "definition" else _object_kind(fact)
    if "'s " in name and kind == lexicon.PLACE:
        return []  # "Northern California's Santa Clara County" is told, not named
    if fact.form == "definition":
        person = graph.nodes[title].noun.kind == lexicon.PERSON
        placed = indefinite and sited(fact) and not plays_in(fact)
        return [Final(stated, "entity", name, _sort_in(name), lexicon.PLACE)] if placed and not person else []
    sort = fact.hint if fact.hint and lexicon.kind(fact.hint) != lexicon.OTHER else ""
    sort = sort or (_sort_in(name) if kind == lexicon.PLACE else "")
    return [Final(stated, "entity", name, sort, kind)] if (sort or kind) and len(fact.middle.split()) <= 4 else []


def _sort_in(name: str) -> str:
    """ "county" of Westchester County: else a city is located in its state as well."""
    *named, last = name.lower().split()
    return last if named and last in _DIVISIONS else ""


_DIVISIONS = frozenset("county parish borough township district province prefecture region".split())


def _object_kind(fact: Fact) -> str:
    """What an unread name must be, where the verb implies it."""
    preposition = fact.middle.split()[-1] if fact.middle else ""
    if preposition == "by" and fact.verb.main in ("direct", "write", "compose", "design", "invent", "paint"):
        return lexicon.PERSON
    if preposition in ("in", "at") and fact.verb.main in (
        "bear",
        "locate",
        "base",
        "situate",
        "headquarter",
        "die",
        "bury",
    ):
        return lexicon.PLACE
    return ""


def sound(graph: Graph, chain: Chain) -> bool:
    """Each hop has a page of its own, by its title. No passage contains a later answer, the start does not give one
    away, and the clues are not the answer."""
    answers = chain.answers
    homes = [stated.passage for stated in chain.evidence]
    back = chain.edges[-1].back if chain.edges else None
    if back and back.passage.id != homes[-1].id:
        return False
    if len({home.title for home in homes}) < len(homes) or len(set(map(normalise, answers))) < len(answers):
        return False
    last = len(homes) - 1
    if any(tells(homes[i], answers[j]) for i in range(last) for j in {i + 1, last}):
        return False
    if any(_told_by(chain.start, answer) or contains(answer, plain(chain.start)) for answer in answers):
        return False
    if any(clued(edge) for edge in chain.edges[-1:]):
        told = clue_relation(graph, chain.titles[-1])
        year = dates(chain.answers[-1])[:1] if chain.final.kind == "date" else []
        if chain.final.stated.fact.relation == told or (year and str(year[0].year) in clue(graph, chain.titles[-1])):
            return False
    return not any(contains(edge.stated.fact.middle, answer) for edge in chain.edges for answer in answers)


def _told_by(start: str, answer: str) -> bool:
    """Kingston upon Thames gives the River Thames away, the Iowa State Cyclones their university."""
    names = {word for word in words(answer.split(", ")[0]) if lexicon.kind(word) == lexicon.OTHER and len(word) > 3}
    return contains(start, answer) or (bool(names) and names <= set(words(start)))


_VAGUE = frozenset("area region group hall place location site body official community capital head coast".split())
"""Nouns that say next to nothing about what lies between."""
_OFTEN_ASKED = {"direct by": 4.0} | dict.fromkeys(
    ("born date", "population of", "write by", "found date", "establish date"), 2.5
)
"""What would be asked most of the time: no relation may be in more than a fifth of the pairs."""


def quality(graph: Graph, chain: Chain) -> float:
    """Lower is better: what is long, shared, stated in both passages or asked all the time costs."""
    cost, told = 0.0, [tells(stated.passage, answer) for stated in chain.evidence for answer in chain.answers]
    cost += 0.7 * (sum(told) - len(chain.answers))
    for place, edge in enumerate(chain.edges):
        fact = edge.stated.fact
        inner = place < len(chain.edges) - 1
        cost += 2.0 * (inner and edge.turn is not None and edge.turn.after != "") + 0.5 * (
            inner and edge.back is not None
        )
        cost += (
            (fact.shared and not edge.back)
            + 0.5 * bool(edge.back)
            + fact.named
            + max(0, len(fact.middle.split()) - 5) / 4
        )
        cost += tells(_home(graph, chain, edge.target), plain(edge.source))
        # A film has many stars: "an actor of the film who was also in another" may be several.
        cost += {"star": 2.5, "direct": 4.0, "write": 0.8}.get(edge.stated.fact.verb.main, 0.0)
        cost += 2.0 * (graph.nodes[edge.target].noun.head in _VAGUE)
        # "a footballer born on 3 May 1989 who played for": no person would tell another so.
        cost += 4.0 * (edge.back is not None and graph.nodes[edge.target].noun.kind == lexicon.PERSON)
        cost += 0.5 * (graph.nodes[edge.target].noun.kind == lexicon.OTHER)
    if chain.final.stated.fact.relation == "died date" and any(clued(edge) for edge in chain.edges[-1:]):
        cost += 2.5  # of a bracket with two dates the question tells one, and who guesses is right
    if chain.final.kind == "date" and len(_untold(graph, chain)) < 2:
        cost += 1.5  # who has the passage need not read it
    return cost + _OFTEN_ASKED.get(chain.final.stated.fact.relation, 0.0)


def _untold(graph: Graph, chain: Chain) -> set[int]:
    """The years of the last passage that the question does not contain."""
    told = clue(graph, chain.titles[-1]) if any(clued(edge) for edge in chain.edges[-1:]) else ""
    return {date.year for date in dates(chain.final.stated.passage.text) if str(date.year) not in told}


def _home(graph: Graph, chain: Chain, title: str) -> object:
    return chain.evidence[chain.titles.index(title)].passage
