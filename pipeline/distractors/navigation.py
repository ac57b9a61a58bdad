"""RAGShaper's constrained navigation (arXiv 2601.08699, §3.3, Eq. 8): distractors forced into a teacher's searches.

With k passages wanted and n = 2 distractors forced:

- the first search returns k - n passages of the index and the n best distractors;
- a search after one that returned a distractor returns k of the index, so that no distractor follows another;
- any other returns distractors again with p = 0.5, else k of the index.

A distractor that shares no word with the query is not returned, and the index fills its place.
Distractors and order are drawn from the searches made so far, not from the rollout, so that two rollouts that search
alike see the same and can be compared turn by turn.
"""

import random
from collections.abc import Sequence

from pipeline.config.ragshaper_settings import TeacherConfig
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.question_passages import IndexChanges, Overlay, sort_hits
from pipeline.text import words
from pipeline.types import Hit, Passage, sha256


class Navigation(Overlay):
    """An overlay for one rollout, which remembers its queries. `key` seeds its random draws."""

    def __init__(
        self,
        retriever: Retriever,
        distractors: Sequence[Passage],
        settings: TeacherConfig,
        key: str,
        changes: IndexChanges = IndexChanges(),  # noqa: B008
    ) -> None:
        super().__init__(retriever, distractors, changes)
        self._settings, self._key = settings, key
        self._asked: list[str] = []
        self._met = False
        """Did the last search bring a distractor?"""

    async def search(self, query: str, k: int) -> list[Hit]:
        self._asked.append(" ".join(words(query)))
        chance = random.Random(sha256(f"{self._key}:{self._asked}"))
        forced = len(self._asked) == 1 or (not self._met and chance.random() < self._settings.injected_again)
        # One of the index at least: a question nobody could answer would teach nothing.
        wanted = min(self._settings.injected, k - 1) if forced else 0
        distractors = sort_hits(await self.search_overlay(query))[:wanted] if wanted > 0 else []
        self._met = bool(distractors)
        hits = await self.index(query, k - len(distractors)) + distractors
        if distractors:
            chance.shuffle(hits)
        return hits

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [await self.search(query, k) for query in queries]
