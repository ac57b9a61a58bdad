"""Where a generator or refiner is in its walk: what it has read, the best chain, and what to search next."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.facts_name import names_in
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_bridge import bridges
from pipeline.embedded.generator_chain import Chain, chains, finals, paths, quality
from pipeline.embedded.generator_graph import Graph, build, join, readings
from pipeline.embedded.generator_wording import hops, question
from pipeline.embedded.observed import Seen
from pipeline.text import contains, words

_FIRST_CALLS, _MOST_TURNS = 16, 7
"""Every turn sends all that was read again: a prompt that starts long leaves fewer of them."""
_OWN = 1.2
"""What it is worth to stay with the seed, in edges."""
_KEPT = 5
"""One search in so many is kept for trying out chains."""
_TOP = 3
"""How far down a result a passage counts as found."""
_LOOKED_AT = 40
_TRIED = 3
"""Chains that are tried out before the best is proposed as it is."""


class Goal(NamedTuple):
    """What is wanted: a chain of so many hops with an answer of one of these types, the first of them if it can be,
    within a budget of searches."""

    steps: int
    types: Sequence[str]
    budget: int

    @property
    def type(self) -> str:
        return self.types[0]


class Walk:
    """One generator's view of where it is."""

    def __init__(
        self,
        goal: Goal,
        read: Iterable[Seen],
        found: Mapping[str, list[Seen]],
        rng: random.Random,
        *,
        turns: int = 0,
        extra_cost: Callable[[Chain], float] = lambda chain: 0.0,
    ) -> None:
        """`read` are the passages known from the start, the seed first; `found` what each query has brought."""
        first = list(read)
        self.extra_cost, self.turns = extra_cost, turns
        self.goal, self.found, self.rng, self.seed = goal, found, rng, first[0]
        shown = [*first, *(passage for hits in found.values() for passage in hits)]
        self.graph: Graph = build(shown, {query: [hit.id for hit in hits] for query, hits in self.found.items()})
        join(self.graph, bridges(self.graph))
        self.jitter = {title: rng.random() for title in sorted(self.graph.nodes)}
        self.wording = rng.random()
        self._known: dict[tuple[int, str], list[Chain]] = {}

    def next_queries(self, at_once: int = 0) -> list[str]:
        """What to search for now, so much at a time; nothing when the best chain is ready."""
        if self.goal.steps == 1 or self.turns >= _MOST_TURNS:
            return []
        at_once = at_once or max(3, self.goal.budget // (_MOST_TURNS - 2))
        left, kept = self.goal.budget - len(self.found), self.goal.budget // _KEPT
        good = [chain for chain in self.ranked(self.goal.steps, self.goal.type)[:_TRIED] if not self.failed(chain)]
        if not good and left <= kept:
            good = [best for best in (self.best(),) if best]
        if good:
            # The best one still open decides whether to go on; others are tried out with it where a turn has room.
            rest = [query for chain in good[1:] for query in self.untried(chain)]
            own = self.untried(good[0])
            return list(dict.fromkeys([*own, *rest]))[: max(len(own), at_once)][:left] if own else []
        return self.frontier()[: min(left - kept, at_once if self.found else max(at_once, _FIRST_CALLS))]

    def ranked(self, length: int, answer_type: str) -> list[Chain]:
        found = self._known.get((length, answer_type))
        if found is None:
            found = sorted(self._chains(length, answer_type), key=self._cost)
            self._known[length, answer_type] = found
        return found

    def _chains(self, length: int, answer_type: str) -> list[Chain]:
        if length > 1:
            return chains(self.graph, length, answer_type)
        return [Chain(self.seed.title, (), final) for final in finals(self.graph, self.seed.title, answer_type)]

    def _cost(self, chain: Chain) -> float:
        return (
            quality(self.graph, chain)
            + 1.5 * (self.jitter[chain.start] + self.jitter[chain.titles[-1]])
            + self._pick(chain)
            + self.extra_cost(chain)
            + 3 * (self.seed.title not in chain.titles)
        )

    def _pick(self, chain: Chain) -> float:
        """Chance by the final fact, so that one thing is not always asked for the same."""
        return random.Random(f"{self.wording}{chain.final.stated.fact.relation}").random() * 2

    def trials(self, chain: Chain) -> list[str]:
        return [hop["sub_question"] for hop in hops(self.graph, chain)] + [self.ask(chain)]

    def untried(self, chain: Chain) -> list[str]:
        return [query for query in self.trials(chain) if query not in self.found and words(query)]

    def failed(self, chain: Chain) -> bool:
        """Does a search that was made for it show that fewer would do, or that a hop's own would not?"""
        if self._leaks(chain):
            return True
        homes = [stated.passage.id for stated in chain.evidence]
        *single, whole = self.trials(chain)
        for place, query in enumerate(single):
            shown = [hit.id for hit in self.found.get(query, ())]
            if set(shown[:_TOP]) & set(homes[place + 1 :]) or (shown and homes[place] not in shown):
                return True
        return len(homes) > 1 and set(homes) <= {hit.id for hit in self.found.get(whole, ())[:_TOP]}

    def _leaks(self, chain: Chain) -> bool:
        """Does the question name what it asks for, or what lies between, or the passage of either?"""
        question = self.ask(chain)
        short = [answer.split(", ")[0] for answer in chain.answers]
        return any(contains(question, name) for name in (*short, *map(plain, chain.titles[1:])))

    def ask(self, chain: Chain, *, full: bool = False) -> str:
        return question(self.graph, chain, random.Random(f"{self.wording}"), full=full)

    def frontier(self) -> list[str]:
        """Names to look up: those whose passage would make the longest chain, then those that the seed mentions."""
        asked = {query.lower() for query in self.found}
        known = {plain(title).lower() for title in self.graph.nodes}
        into, out = self._reach()
        worth: dict[str, float] = {}
        heard = Counter(
            names[0]
            for told in self.graph.stated.values()
            for stated in told
            if stated.fact.kind == "link" and (names := readings(stated))
        )

        def offer(name: str, value: float) -> None:
            if name.lower() not in asked and len(name) > 3:
                worth[name] = max(worth.get(name, 0), value + 0.3 * self.rng.random())

        for title, told in self.graph.stated.items():
            offer(plain(title), out.get(title, 0) - 0.3)
            for stated in told:
                if stated.fact.kind == "link" and (names := readings(stated)):
                    seen_before = any(name.lower() in known for name in names)
                    costs = 0.4 * stated.fact.shared + 0.4 * stated.fact.named + 0.8 * seen_before
                    value = into.get(title, 0) - costs
                    offer(names[0], value + 0.3 * min(2, heard[names[0]] - 1))
        offer(plain(self.seed.title), -0.1)
        for name in names_in(self.seed.text):
            if name.lower() not in lexicon.HUBS:
                offer(name, -0.2)
        return sorted((name for name in worth), key=lambda name: -worth[name])

    def _reach(self) -> tuple[dict[str, float], dict[str, float]]:
        """How many edges lead to each title at most, and from it; a run through the seed counts for more."""
        into = {self.seed.title: _OWN}
        out = {self.seed.title: _OWN}
        for length in range(2, self.goal.steps + 1):
            for run in paths(self.graph, length):
                own = _OWN * any(self.seed.title in (edge.source, edge.target) for edge in run)
                last, first = run[-1].target, run[0].source
                into[last] = max(into.get(last, 0), length - 1 + own)
                out[first] = max(out.get(first, 0), length - 1 + own)
        return into, out

    def best(self) -> Chain | None:
        """The best there is: of the length and type asked for, else of another type, else shorter."""
        for length in range(self.goal.steps, 0, -1):
            for kind in self.goal.types:
                ranked = self.ranked(length, kind)
                tight = [chain for chain in ranked[:_LOOKED_AT] if not self._leaks(chain)]
                good = next((chain for chain in tight if not self.failed(chain)), None) or next(iter(tight), None)
                if good:
                    return good
        return None

    def arguments(self, chain: Chain, *, full: bool = False) -> dict[str, object]:
        """The arguments of `propose` or `revise`."""
        final, asked = chain.final, self.ask(chain, full=full)
        short = final.answer.split(", ")[0]
        return {
            "question": asked,
            "answer": final.answer,
            "answer_aliases": [short]
            if short != final.answer and final.kind == "entity" and not contains(asked, short)
            else [],
            "answer_type": final.kind,
            "answer_precision": final.stated.fact.precision if final.kind == "date" else "",
            "hops": hops(self.graph, chain),
            "family": "chain" if chain.edges else "control",
        }
