"""What the generator has read so far, as a graph: a node for each title, an edge for each fact whose object is another.

It is rebuilt from the messages on every turn; reading a passage is cached, so that this costs little.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.compose import Thing, inverse
from pipeline.embedded.facts import Fact, facts, names, title_at
from pipeline.embedded.facts_subject import Noun, definition, plain
from pipeline.embedded.observed import Seen
from pipeline.text import contains

_LISTS = re.compile(r"^(?:List of|Lists of|Index of|Outline of)|\(disambiguation\)$|may refer to:?$", re.IGNORECASE)


class Stated(NamedTuple):
    """A fact and the passage that states it."""

    passage: Seen
    fact: Fact

    @property
    def quote(self) -> str:
        return self.passage.text[self.fact.quote.start : self.fact.quote.end]

    @property
    def object(self) -> str:
        return self.passage.text[self.fact.object.start : self.fact.object.end]


class Edge(NamedTuple):
    """From a title to another: forward, where a fact of the source names the target; or over a name that facts of both
    have as object (`back` is the target's), and that itself may have no passage."""

    source: str
    target: str
    stated: Stated
    mention: str
    """The object as the source's passage writes it."""
    back: Stated | None = None
    pivot: str = ""
    """The noun of the name between, where the edge goes over one."""
    turn: str = ""
    """What that one did to the target: "who also directed"."""


@dataclass
class Graph:
    """Nodes by title. `found_by` holds, per query, the ids of the passages it brought."""

    passages: dict[str, Seen] = field(default_factory=dict)
    nodes: dict[str, Thing] = field(default_factory=dict)
    stated: dict[str, list[Stated]] = field(default_factory=dict)
    found_by: dict[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    outward: dict[str, list[Edge]] = field(default_factory=dict)
    inward: dict[str, list[Edge]] = field(default_factory=dict)


def build(passages: Iterable[Seen], found_by: dict[str, list[str]]) -> Graph:
    graph = Graph(found_by=found_by)
    for passage in passages:
        if not _LISTS.search(passage.title):
            graph.passages.setdefault(passage.id, passage)
    for passage in graph.passages.values():
        noun = read_noun(passage)
        if noun and passage.title not in graph.nodes:
            the = passage.text.startswith("The ") and not passage.title.startswith("The ")
            graph.nodes[passage.title] = Thing(passage.title, noun, the)
    for passage in graph.passages.values():
        if passage.title in graph.nodes:
            told = facts(passage.title, passage.text, graph.nodes[passage.title].noun)
            graph.stated.setdefault(passage.title, []).extend(Stated(passage, fact) for fact in told)
    by_name: dict[str, list[str]] = {}
    for title in graph.nodes:
        for reading in {title, plain(title)}:
            by_name.setdefault(reading, []).append(title)
    for title, told_of in graph.stated.items():
        graph.edges += [edge for stated in told_of for edge in _edges(graph, by_name, title, stated)]
    graph.edges += _bridges(graph)
    for edge in graph.edges:
        graph.outward.setdefault(edge.source, []).append(edge)
        graph.inward.setdefault(edge.target, []).append(edge)
    return graph


_MOST_SHARING = 8
_BY_VERB = {
    "direct": "director", "co-direct": "director", "write": "writer", "co-write": "writer", "produce": "producer",
    "compose": "composer", "star": "actor", "feature": "actor", "design": "designer", "develop": "company",
    "publish": "company", "distribute": "company",
}  # fmt: skip
_BY_HEAD = {"album": "artist", "song": "artist", "single": "artist", "novel": "writer", "book": "writer", "play": "writer", "film": "filmmaker"}


def _bridges(graph: Graph) -> list[Edge]:
    """Edges over a name that the facts of two titles share."""
    sharing: dict[str, list[tuple[str, Stated]]] = {}
    for title, told_of in graph.stated.items():
        for stated in told_of:
            if stated.fact.kind == "link":
                for reading in readings(stated)[:1]:
                    if " " in reading and title_at(stated.passage.text, stated.fact.object.start, reading):
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
    noun, goal = _pivot(graph, reading, stated, back), graph.nodes[target].noun
    alike = [title for title, _ in users if graph.nodes[title].noun.full == goal.full]
    if not noun or goal.kind != lexicon.WORK or not re.match(r"(?:1[89]|20)\d\d ", goal.full) or len(set(alike)) > 1:
        return None
    also = stated.fact.verb.main == back.fact.verb.main or (stated.fact.form == back.fact.form == "definition")
    turn = inverse(back.fact, goal.head, lexicon.kind(noun.split()[-1]), also=also)
    return Edge(source, target, stated, reading, back, noun, turn) if turn else None


def _pivot(graph: Graph, reading: str, stated: Stated, back: Stated) -> str:
    if reading in graph.nodes:
        return graph.nodes[reading].noun.phrase
    for one in (stated, back):
        if one.fact.hint and lexicon.kind(one.fact.hint) != lexicon.OTHER:
            return one.fact.hint
    for one in (back, stated):
        if one.fact.form == "definition":
            head = one.fact.middle.split()[-2]
            if head in _BY_HEAD and one.fact.middle.endswith(" by"):
                return _BY_HEAD[head]
        elif one.fact.verb.main in _BY_VERB and one.fact.middle in ("by", ""):
            return _BY_VERB[one.fact.verb.main]
    return ""


def read_noun(passage: Seen) -> Noun | None:
    return definition(passage.title, passage.text)


def _edges(graph: Graph, by_name: dict[str, list[str]], source: str, stated: Stated) -> list[Edge]:
    if stated.fact.kind != "link":
        return []
    for reading in readings(stated):
        for target in by_name.get(reading, ()):
            end = title_at(stated.passage.text, stated.fact.object.start, reading)
            if target != source and end and fits(stated.fact, graph.nodes[target], target == reading):
                mention = stated.passage.text[stated.fact.object.start : end]
                return [Edge(source, target, stated, mention)]
    return []


@lru_cache(maxsize=65536)
def _readings(text: str, start: int) -> tuple[str, ...]:
    return tuple(names(text, start))


def readings(stated: Stated) -> list[str]:
    """Names that the object may have, the likeliest first, without those that everything leads to."""
    guess = stated.object
    found = dict.fromkeys([*_readings(stated.passage.text, stated.fact.object.start), guess])
    return [reading for reading in found if reading.lower().removeprefix("the ") not in lexicon.HUBS and len(reading) > 2]


def fits(fact: Fact, target: Thing, exact: bool) -> bool:
    """Can the thing of that title be what the sentence speaks of? A mention is not always the article of its name."""
    words = fact.middle.split()
    preposition = words[-1] if words else ""
    kind = target.noun.kind
    if kind == lexicon.OTHER and not fact.hint:
        return False
    if fact.hint and fact.hint not in (target.noun.head,):
        if lexicon.kind(fact.hint) not in (kind, lexicon.OTHER):
            return False
        exact = exact or lexicon.same_thing(fact.hint, target.noun.head)
    expected = _EXPECTED.get(fact.verb.main) if preposition in _WHERE else None
    if expected:
        return kind in expected
    if preposition == "by":
        return kind in (lexicon.PERSON, lexicon.GROUP) and exact
    if preposition in ("in", "near", "from", "within"):
        acting = any(word in _APPEARING for word in (fact.verb.main, *words))
        return exact and (kind != lexicon.PERSON) and (kind != lexicon.WORK or acting or preposition == "from")
    return exact


_WHERE = ("in", "at", "near", "on", "from", "within", "into")
_PLACES = (lexicon.PLACE,)
_SITES = (lexicon.PLACE, lexicon.GROUP)
_EXPECTED = {
    **dict.fromkeys("bear raise die bury locate situate base headquarter live reside lie grow settle move return".split(), _PLACES),
    **dict.fromkeys("study educate graduate teach enroll attend work train".split(), _SITES),
}
_APPEARING = frozenset(
    "star appear feature perform act debut portray play role roles character record include sing known contain part cast "
    "narrate guest voice co-star".split()
)


def tells(passage: Seen, name: str) -> bool:
    return contains(f"{passage.title} {passage.text}", name)
