"""What the solver has seen in this rollout, what it may still do, and its random numbers."""

import math
import random
from collections.abc import Sequence

from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_reader import Candidate
from pipeline.text import words

MOST_SEARCHES = 10
"""The solver's own bound; a loop may set a tighter one."""
SPREAD = 0.04
"""Candidates this much below the best are taken e times less often at temperature 1."""


class Unasked(Exception):
    """The reasoning needs a search that was not made yet."""

    def __init__(self, query: str) -> None:
        super().__init__(query)
        self.query = query


class Mind:
    """`memory` maps the words of a query to what it returned. `forced`: no more searches, answer from what was seen."""

    def __init__(
        self, memory: dict[str, tuple[Seen, ...]], chance: random.Random, temperature: float, *, forced: bool
    ) -> None:
        self._memory, self._chance, self._temperature, self._forced = memory, chance, temperature, forced
        self.passages: dict[str, Seen] = {}
        self.searches = 0

    def search(self, query: str) -> tuple[Seen, ...]:
        """What the query returns; raises Unasked where that is not known yet. Nothing, once the bound is reached."""
        key = " ".join(words(query))
        if not key:
            return ()
        if key not in self._memory:
            if self._forced or self.searches >= MOST_SEARCHES:
                return ()
            raise Unasked(query)
        self.searches += 1
        found = self._memory[key]
        for passage in found:
            self.passages.setdefault(passage.id, passage)
        return found

    @property
    def seen(self) -> tuple[Seen, ...]:
        return tuple(self.passages.values())

    def pick(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate, or by chance one that is close to it."""
        if self._temperature <= 0 or len(candidates) == 1:
            return candidates[0]
        top = candidates[0].score
        close = [c for c in candidates[:6] if top - c.score < 5 * SPREAD]
        weights = [math.exp((c.score - top) / (SPREAD * self._temperature)) for c in close]
        return self._chance.choices(close, weights)[0]
