"""RAGShaper's constrained navigation (arXiv 2601.08699, §3.3, Eq. 8): distractors forced into a teacher's searches.

With k passages wanted and n = 2 distractors forced:

- the first search brings k - n of the index and the n best distractors;
- a search after one that brought a distractor brings k of the index: no loop of one lie after another;
- any other brings distractors again with p = 0.5, else k of the index.

What counts is what was returned: a distractor that shares no word with the query is not, and the index fills its place.
Distractors and order are drawn from the searches made so far, not from the rollout, so that two rollouts that search
alike see the same and can be compared turn by turn.
"""

import random
from collections.abc import Sequence

from pipeline.config import TeacherConfig
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.overlay import Overlay, ranked
from pipeline.text import words
from pipeline.types import Hit, Passage, sha256


class Navigation(Overlay):
    """An overlay for one rollout: it remembers what it was asked. `key` sets its chance."""

    def __init__(self, retriever: Retriever, distractors: Sequence[Passage], rule: TeacherConfig, key: str) -> None:
        super().__init__(retriever, distractors)
        self._rule, self._key = rule, key
        self._asked: list[str] = []
        self._met = False
        """Did the last search bring a distractor?"""

    async def search(self, query: str, k: int) -> list[Hit]:
        first = not self._asked
        self._asked.append(" ".join(words(query)))
        chance = random.Random(sha256(f"{self._key}:{self._asked}"))
        forced = first or (not self._met and chance.random() < self._rule.injected_again)
        # One of the index at least: a question nobody could answer would teach nothing.
        wanted = min(self._rule.injected, k - 1) if forced else 0
        distractors = ranked(await self.found(query))[:wanted] if wanted > 0 else []
        self._met = bool(distractors)
        hits = await self._retriever.search(query, k - len(distractors)) + distractors
        if distractors:
            chance.shuffle(hits)
        return hits

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [await self.search(query, k) for query in queries]
