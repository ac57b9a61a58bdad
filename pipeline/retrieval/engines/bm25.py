"""BM25 without a JVM, by rank-bm25, for small corpora.

It ranks almost like Lucene: it uses the Porter stemmer and Lucene's stop words, idf and parameters. Scores differ a
little, since lengths are exact and Unicode's finer rules of word breaks are ignored. Other languages have their own
stemmers, and their most common words (see `common_words`) are the stop words.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer
from rank_bm25 import BM25Okapi

from pipeline.config.retrieval import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.corpus.language import common_words
from pipeline.retrieval import analysers
from pipeline.retrieval.analysers import ENGLISH
from pipeline.retrieval.base import TEXTS_REMEMBERED, Engine, Retriever
from pipeline.retrieval.passage_texts import Passages, contents, query_text
from pipeline.text import fold, terms
from pipeline.text.scripts import space_out
from pipeline.types import Hit

logger = logging.getLogger(__name__)
MANY = 50_000
_STOP = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)
_WORD = re.compile(r"\d+(?:[.,]\d+)*(?:\w+)?|\w+(?:['’.]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def build_retriever(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    return Bm25Retriever(corpus)


class Bm25Retriever(Passages):
    """Retriever for small corpora where Java is missing. It builds its index in memory when it is created."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        if len(corpus.passages) > MANY:
            logger.warning("%d passages are many for --retriever bm25: a search may take seconds", len(corpus.passages))
        self._passages = tuple(corpus.passages)
        self.analyser = analysers.analyser_for(corpus.language)
        tokens = [analyse(contents(passage), self.analyser) for passage in self._passages]
        self._engine = _Okapi(tokens, k1=0.9, b=0.4)
        # Consecutive queries usually score the same texts.
        self._cached_counts = lru_cache(TEXTS_REMEMBERED)(self._count)
        self._rows_by_term: dict[str, list[int]] = {}
        for row, words in enumerate(tokens):
            for word in set(words):
                self._rows_by_term.setdefault(word, []).append(row)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return await asyncio.to_thread(lambda: [self._search(query, k) for query in queries])

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.to_thread(self._score, query, texts)

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = Counter(analyse(query_text(query), self.analyser))
        return [self._engine.score(words, counts) for counts in self._cached_counts(tuple(texts))]

    def _count(self, texts: tuple[str, ...]) -> list[Counter[str]]:
        return [Counter(analyse(text, self.analyser)) for text in texts]

    async def contain_words(self, words: Sequence[str]) -> list[bool]:
        """Report for each word whether some passage contains each of its tokens."""
        return [all(term in self._rows_by_term for term in analyse(word, self.analyser)) for word in words]

    def _search(self, query: str, k: int) -> list[Hit]:
        words = analyse(query_text(query), self.analyser)
        rows = sorted({row for word in set(words) for row in self._rows_by_term.get(word, ())})
        if k < 1 or not rows:
            return []
        # Score only passages that share a word with the query: rank-bm25 gives all others 0.
        scores = np.asarray(self._engine.get_batch_scores(words, rows))
        threshold = np.partition(scores, -k)[-k] if k < len(rows) else -np.inf
        hits = [
            Hit(passage=self._passages[rows[index]], score=float(scores[index]))
            for index in np.flatnonzero(scores >= threshold)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[:k]


class _Okapi(BM25Okapi):  # type: ignore[misc]
    """rank-bm25 with Lucene's idf, which is never negative, so that frequent words do not lower a passage."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {word: log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for word, df in nd.items()}

    def score(self, query: Counter[str], counts: Counter[str]) -> float:
        """Score a text that need not be in the corpus, by the same formula as `get_batch_scores`."""
        if not any(counts[word] and word in self.idf for word in query):
            return 0.0
        norm: Any = self.k1 * (1 - self.b + self.b * counts.total() / self.avgdl)
        weight = {word: times * self.idf.get(word, 0.0) for word, times in query.items()}
        return float(sum(w * counts[word] * (self.k1 + 1) / (counts[word] + norm) for word, w in weight.items()))


def analyse(text: str, analyser: str = ENGLISH) -> list[str]:
    """Return the words of a text as they are indexed.

    Words are stemmed if the analyser's language has a stemmer. Scripts without spaces are cut into pairs of characters.
    """
    if analyser == ENGLISH:
        words = (_POSSESSIVE.sub("", word) for word in _WORD.findall(space_out(text.lower())))
        return [_stem(word) for word in words if word not in _STOP]
    if stemmer := _stemmer(analyser):
        common = common_words(analysers.language_of(analyser))
        content_words = [word for word in _WORD.findall(text.lower()) if fold(word) not in common]
        return [fold(word) for word in stemmer.stemWords(content_words)]
    return terms(text)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


@cache
def _stemmer(analyser: str) -> Any:
    return Stemmer.Stemmer(analyser) if analyser in _STEMMED else None


_STEMMER = Stemmer.Stemmer("porter")
_STEMMED = frozenset(Stemmer.algorithms()) - {"hindi", "nepali", "tamil"}
"""Languages with a stemmer. The excluded ones have words that `_WORD` does not match."""


ENGINE = Engine(build_retriever)
