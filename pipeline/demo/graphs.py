"""Builds evidence graphs over the passages that the generator has seen: chains, and computations over chains."""

from collections.abc import Iterator, Sequence
from itertools import chain as chain_up
from itertools import pairwise, zip_longest
from math import ceil
from typing import Any

from pipeline.demo.chains import Chain, Paths, build_steps, is_led_back, is_told_apart, meaning
from pipeline.demo.comparisons import ComputedQuestion, read
from pipeline.demo.leads import PlannedSearch, plan_leads, plan_peers
from pipeline.demo.passage_facts import Seen, key
from pipeline.demo.relations import COMPARED, kind_of
from pipeline.text import contains, strip_tag
from pipeline.types import sha256

CHAIN = "chain"
_BRANCHES = {"extreme": 3, "filter": 3, "list": 2, "difference": 2}
"""Shapes that compute their answer, and the least number of things that they compare."""
_LONGEST_BRANCH = 2
_MOST_LEADERS = 40
"""The most branches for which matching branches are searched."""
_DECADE = 10
_LITTLE = ("0 ", "1 ")
"""The beginnings of differences that are too small to ask for."""


class GraphPlan:
    """The possible graphs for one seed. The seed determines the shape that is tried first."""

    def __init__(self, seed_passage: Seen, target: int, paths: Paths) -> None:
        self._seed_passage, self._target, self._paths = seed_passage, target, paths
        shapes = [shape for shape in (CHAIN, *_BRANCHES) if shape != "difference" or target <= 2 * _LONGEST_BRANCH]
        first, *later = sorted(shapes, key=self._draw) if target > 1 else [CHAIN]
        self.shapes = list(dict.fromkeys((first, CHAIN, *later)))

    def graphs(self, shapes: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the arguments of `propose` for each graph of these shapes whose question has only one reading."""
        for shape in shapes:
            if shape == CHAIN:
                chains = self._paths.find_askable(self._target, frozenset([self._seed_passage.id]))
                yield from ({"steps": build_steps(chain)} for chain in chains if not is_led_back(chain))
            else:
                yield from filter(None, (self._build(shape, branches) for branches in self._combine_branches(shape)))

    def searches(self) -> Iterator[PlannedSearch]:
        """Plan searches for the drawn shape: things that the seed's passage leads to, and things to compare with."""
        shape = self.shapes[0]
        if shape == CHAIN:
            return plan_leads(self._paths, self._target, self._seed_passage.id)
        chains = sorted((chain for branches in self._group(shape).values() for chain in branches), key=self._order)
        leads = plan_leads(self._paths, _LONGEST_BRANCH, self._seed_passage.id)
        return filter(None, chain_up.from_iterable(zip_longest(leads, plan_peers(chains))))

    def _draw(self, text: str) -> str:
        return sha256(f"{self._seed_passage.id} {text}")

    def _order(self, chain: Chain) -> tuple[bool, str, str]:
        """Return a key that puts chains over the seed's passage first, and draws the relation before the chain."""
        has_seed = any(hop.passage.id == self._seed_passage.id for hop in chain)
        quotes = "|".join(hop.exit.quote for hop in chain)
        return not has_seed, self._draw(chain[-1].exit.relation.name), self._draw(quotes)

    def _chains(self, length: int) -> list[Chain]:
        return [chain for chain in self._paths.of(length) if not is_led_back(chain)]

    def _group(self, shape: str) -> dict[str, list[Chain]]:
        groups: dict[str, list[Chain]] = {}
        for length in range(1, _LONGEST_BRANCH + 1):
            for chain in self._chains(length):
                if name := _name_group(shape, chain):
                    groups.setdefault(name, []).append(chain)
        return groups

    def _combine_branches(self, shape: str) -> Iterator[list[Chain]]:
        """Yield sets of comparable branches. The steps of a set add up to the target, or to a few more."""
        count = max(_BRANCHES[shape], ceil(self._target / _LONGEST_BRANCH))
        hidden = max(1, self._target - count)
        for branches in self._group(shape).values():
            ordered = sorted(branches, key=self._order)
            for leader in ordered[:_MOST_LEADERS]:
                trade = _name_trade(leader)
                alike = [chain for chain in ordered if _name_trade(chain) == trade]
                if joined := self._add_branches(leader, alike, {2: hidden, 1: count - hidden}):
                    yield sorted(joined, key=lambda chain: (len(chain), self._draw(_subject(chain))))

    def _add_branches(self, leader: Chain, candidates: Sequence[Chain], needed: dict[int, int]) -> list[Chain]:
        joined = list[Chain]()
        for length in (len(leader), *needed):
            for chain in [leader] if not joined else candidates:
                fits = (
                    len(chain) == length and needed[length] > 0 and all(_are_apart(chain, branch) for branch in joined)
                )
                if fits and is_told_apart(chain, self._paths.passages):
                    joined.append(chain)
                    needed[length] -= 1
        return joined if not any(needed.values()) else []

    def _build(self, shape: str, branches: Sequence[Chain]) -> dict[str, Any] | None:
        """Return the graph of these branches, or None if its question would be misread or gives an answer away."""
        settings = self._settle(shape, branches)
        if settings is None:
            return None
        comparison = ComputedQuestion(shape, tuple(map(meaning, branches)), **settings)
        question = comparison.question()
        values = [chain[-1].exit.value for chain in branches]
        answer = comparison.answer([(value, _subject(chain)) for chain, value in zip(branches, values, strict=True)])
        hidden = [hop.exit.value for chain in branches for hop in chain]
        is_certain = bool(answer) and not answer.startswith(_LITTLE)
        if not is_certain or read(question) != comparison or any(contains(question, value) for value in hidden):
            return None
        chains = [build_steps(chain, chr(ord("a") + number)) for number, chain in enumerate(branches)]
        last = {"id": "answer", "sub_question": question, "needs": [steps[-1]["id"] for steps in chains]}
        return {"steps": [*(step for steps in chains for step in steps), last | comparison.settings]}

    def _settle(self, shape: str, branches: Sequence[Chain]) -> dict[str, str] | None:
        """Return the end of the scale or the dividing year of the question; None if the values are too close."""
        if shape == "difference":
            return {"unit": "years"}
        if shape == "list":
            return {}
        drawn = self._draw("|".join(chain[-1].exit.quote for chain in branches))
        if shape == "extreme":
            return {
                "which": min(COMPARED[branches[0][-1].exit.relation.name].ends, key=lambda end: sha256(drawn + end))
            }
        years = sorted(int(chain[-1].exit.value) for chain in branches)
        gap, low, high = max((high - low, low, high) for low, high in pairwise(years))
        bound = high - high % _DECADE
        condition = min("before", "after", key=lambda word: sha256(drawn + word))
        return {"condition": condition, "bound": str(bound)} if gap > 1 and low < bound < high else None


def _name_group(shape: str, chain: Chain) -> str:
    """Return the name of the group of branches that a branch can be compared with; empty if it does not fit."""
    hop, relation, subject = chain[-1], chain[-1].exit.relation, _subject(chain)
    compared = COMPARED.get(relation.name)
    fits = {
        "list": relation.type == "entity",
        "difference": bool(compared and compared.passing),
        "filter": bool(compared and compared.passing),
        "extreme": bool(compared),
    }
    # The compared thing is the subject of the last step, by its plain name.
    is_named = subject == strip_tag(subject) if len(chain) == 1 else hop.entry is None
    return f"{relation.name} {hop.exit.when} {kind_of(hop.passage.text).name}" if fits[shape] and is_named else ""


def _name_trade(chain: Chain) -> str:
    """Return a person's profession, such as "singer": dates of people are compared within one profession."""
    kind = kind_of(chain[-1].passage.text)
    is_dated = kind.name == "person" and chain[-1].exit.relation.type == "date"
    return kind.group.lower().split()[-1] if is_dated and kind.group else ""


def _subject(chain: Chain) -> str:
    return chain[-2].exit.value if len(chain) > 1 else chain[0].passage.title


def _are_apart(chain: Chain, branch: Chain) -> bool:
    names = [{hop.passage.title for hop in each} | {key(hop.exit.value) for hop in each} for each in (chain, branch)]
    return names[0].isdisjoint(names[1]) and key(_subject(chain)) != key(_subject(branch))
