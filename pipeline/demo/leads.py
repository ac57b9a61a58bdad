"""Plans an author's next searches: for the things that its chains lead to, and for similar things."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.demo.chains import Chain, Paths, start
from pipeline.demo.relations import kind_of
from pipeline.text import strip_tag, words

_NAME = re.compile(r"[A-ZÀ-Þ][\w'’.-]{1,60}+(?: (?:(?:of|the|de|van|von) )*+[A-ZÀ-Þ][\w'’.-]{0,60}\w)+")


class PlannedSearch(NamedTuple):
    text: str
    intent: str


def drop_tried(searches: Iterator[PlannedSearch], made_queries: Sequence[str]) -> Iterator[PlannedSearch]:
    tried = {" ".join(words(query)) for query in made_queries}
    for search in searches:
        text = " ".join(words(search.text))
        if text and text not in tried:
            tried.add(text)
            yield search


def plan_leads(paths: Paths, length: int, seed_id: str = "") -> Iterator[PlannedSearch]:
    """Plan searches for the ends and starts of the longest chains, then for names in the first passages."""
    for hops in range(length - 1, 0, -1):
        useful = [chain for chain in paths.of(hops) if not seed_id or any(hop.passage.id == seed_id for hop in chain)]
        for chain in useful:
            fact, first = chain[-1].exit, start(chain).name
            if fact.relation.to:
                yield PlannedSearch(f"{fact.value} {fact.relation.query}", f"{first} leads to {fact.value}.")
        for chain in useful:
            yield PlannedSearch(start(chain).name, f"Find what leads to {start(chain).name}.")
    for passage in [passage for passage in paths.passages if passage.id == seed_id] or paths.passages[:4]:
        for name in (strip_tag(passage.title), *_NAME.findall(passage.text)):
            yield PlannedSearch(name, f"Find what is told of {name}.")


def plan_peers(chains: Sequence[Chain]) -> Iterator[PlannedSearch]:
    """Plan searches for things like the first chain's, then for things that lead to each of them."""
    for chain in chains[:1]:
        group, relation = kind_of(chain[-1].passage.text).group, chain[-1].exit.relation
        yield PlannedSearch(f"{group} {relation.query}", f"Find more of the kind of {chain[-1].passage.title}.")
    for chain in chains:
        if len(chain) == 1:
            yield PlannedSearch(chain[0].passage.title, f"Find what leads to {chain[0].passage.title}.")
