"""What the generator has read so far, as a graph: a node for each title, an edge for each fact whose object is another.

It is rebuilt from the messages on every turn; reading a passage is cached, so that this costs little.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.compose import Inversion, Thing
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts import facts
from pipeline.embedded.facts_name import names, title_at
from pipeline.embedded.facts_noun import definition
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.observed import Seen
from pipeline.text import Span, normalise, words

_OPENS = 40
"""Characters that hold the first word."""
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
    turn: Inversion | None = None
    """What that one has to do with the target: "who also directed ..."."""


@dataclass
class Graph:
    """Nodes by title. `found_by` holds, per query, the ids of the passages it brought."""

    passages: dict[str, Seen] = field(default_factory=dict)
    nodes: dict[str, Thing] = field(default_factory=dict)
    stated: dict[str, list[Stated]] = field(default_factory=dict)
    found_by: dict[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    outward: dict[str, list[Edge]] = field(default_factory=dict)


def build(passages: Iterable[Seen], found_by: dict[str, list[str]]) -> Graph:
    graph = Graph(found_by=found_by)
    for passage in passages:
        if not _LISTS.search(passage.title):
            graph.passages.setdefault(passage.id, passage)
    for passage in sorted(graph.passages.values(), key=lambda passage: not _opening(passage)):
        noun = definition(passage.title, passage.text)
        if noun and passage.title not in graph.nodes:
            the = noun.kind != lexicon.PERSON and passage.text.startswith("The ") and _opening(passage)
            graph.nodes[passage.title] = Thing(passage.title, noun, the and not passage.title.startswith("The "))
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
    return graph


@lru_cache(maxsize=32768)
def _opening(passage: Seen) -> bool:
    """Does it begin with the title's name? A later passage says less of what that is ("The Sooners were the first")."""
    said, name = (words(text.removeprefix("The ")[:_OPENS])[:1] for text in (passage.text, passage.title))
    return said == name


def join(graph: Graph, edges: Iterable[Edge]) -> None:
    graph.edges += edges
    for edge in graph.edges:
        graph.outward.setdefault(edge.source, []).append(edge)


def _edges(graph: Graph, by_name: dict[str, list[str]], source: str, stated: Stated) -> list[Edge]:
    if stated.fact.kind != "link":
        return []
    for reading in readings(stated):
        for target in by_name.get(reading, ()):
            end = title_at(stated.passage.text, stated.fact.object.start, reading)
            known = target != source and end and fits(stated.fact, graph.nodes[target], target == reading)
            if known and not _elsewhere(graph, target, stated.passage.text[end:]):
                mention = stated.passage.text[stated.fact.object.start : end]
                return [Edge(source, target, stated, mention)]
    return []


_REGION = re.compile(r"(?:,| in)(?: [a-z]+){0,2} ((?:[A-Z][\w.'’-]+ ?)+)")


def _elsewhere(graph: Graph, target: str, after: str) -> bool:
    """Is it another place of that name? "Oxford in southern Chester County" is none that is silent on that county."""
    region = _REGION.match(after)
    if not region or graph.nodes[target].noun.kind != lexicon.PLACE:
        return False
    own = [p for p in graph.passages.values() if p.title == target]
    opens = any(p.text.startswith((plain(target), f"The {plain(target)}")) for p in own)
    return opens and not any(tells(p, region.group(1).strip()) for p in own)


def readings(stated: Stated) -> tuple[str, ...]:
    """Names that the object may have, the likeliest first, without those that everything leads to."""
    return _readings(stated.passage.text, stated.fact.object)


@lru_cache(maxsize=65536)
def _readings(text: str, place: Span) -> tuple[str, ...]:
    found = dict.fromkeys([*names(text, place.start), text[place.start : place.end]])
    return tuple(
        reading for reading in found if reading.lower().removeprefix("the ") not in lexicon.HUBS and len(reading) > 2
    )


def fits(fact: Fact, target: Thing, exact: bool) -> bool:
    """Can the thing of that title be what the sentence speaks of? A mention is not always the article of its name."""
    words = fact.middle.split()
    preposition = words[-1] if words else ""
    kind = target.noun.kind
    if (
        kind == lexicon.OTHER
        and not (exact and " " in target.title and preposition not in ("by", "in", "at"))
        and not fact.hint
    ):
        return False
    if fact.hint and fact.hint not in (target.noun.head,):
        if lexicon.kind(fact.hint) not in (kind, lexicon.OTHER):
            return False
        exact = exact or lexicon.same_thing(fact.hint, target.noun.head)
    if words[-2:] == [target.noun.head, "of"]:
        return False  # "in the English county of a county"
    if fact.verb.main == "nominate" and kind == lexicon.WORK:
        return False  # for her part in it, not for it
    if not words and kind == lexicon.PERSON and fact.verb.main not in _TO_PEOPLE:
        return False
    if fact.verb.main in _MADE and target.noun.head in _ATHLETES and not fact.hint:
        return False  # a song by a snooker player is by another of his name
    if (preposition == "on" and kind == lexicon.GROUP) or (
        preposition == "for" and kind == lexicon.PLACE and fact.verb.main != "name"
    ):
        return False
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
    **dict.fromkeys(
        "bear raise die bury locate situate base headquarter live reside lie grow settle move return".split(), _PLACES
    ),
    **dict.fromkeys("study educate graduate teach enroll attend work train".split(), _SITES),
}
_TO_PEOPLE = lexicon.listed("to_people")
_MADE = frozenset("write compose produce direct record sing perform arrange design paint co-write".split())
_ATHLETES = lexicon.listed("athletes")
_APPEARING = lexicon.listed("appearing")


@lru_cache(maxsize=65536)
def tells(passage: Seen, name: str) -> bool:
    """Does the passage name it, in its title or text?"""
    return f" {normalise(name)} " in _plain(passage)


@lru_cache(maxsize=8192)
def _plain(passage: Seen) -> str:
    return f" {normalise(f'{passage.title} {passage.text}')} "
