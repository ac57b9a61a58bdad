"""RAGShaper's constrained navigation (arXiv 2601.08699, §3.3, Eq. 8): distractors forced into a teacher's searches.

With k passages in a search and n = 2 forced distractors:

- the first search returns k - n passages of the index and the n best distractors;
- a search after one that returned a distractor returns k passages of the index, so that distractors never follow each
  other;
- any other search returns distractors again with p = 0.5, otherwise k passages of the index.

A distractor that shares no word with the query is not returned, and the index fills the gap.
Distractors and order are drawn from the searches so far, not from the rollout, so that two rollouts with the same
searches see the same passages and can be compared turn by turn.
"""

import random
from collections.abc import Sequence

from pipeline.config.loop import TeacherConfig
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
        self._queries: list[str] = []
        self._showed_distractor = False
        """Whether the last search returned a distractor."""

    async def search(self, query: str, k: int) -> list[Hit]:
        self._queries.append(" ".join(words(query)))
        rng = random.Random(sha256(f"{self._key}:{self._queries}"))
        is_forced = len(self._queries) == 1 or (
            not self._showed_distractor and rng.random() < self._settings.injected_again
        )
        # Keep at least one passage of the index: a question that nobody can answer teaches nothing.
        distractor_count = min(self._settings.injected, k - 1) if is_forced else 0
        distractors = sort_hits(await self.search_overlay(query))[:distractor_count] if distractor_count > 0 else []
        self._showed_distractor = bool(distractors)
        hits = await self.index(query, k - len(distractors)) + distractors
        if distractors:
            rng.shuffle(hits)
        return hits

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [await self.search(query, k) for query in queries]
