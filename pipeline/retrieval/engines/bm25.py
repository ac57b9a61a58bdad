"""BM25 without a JVM: rank-bm25 behind the same contract, for small corpora.

It ranks much as Lucene does: the Porter stemmer, Lucene's stop words, its idf and its parameters. Lengths are exact
here and Unicode's finer rules of word breaks are not followed, so scores differ a little. Other languages than English
have their own stemmers, and the commonest words that they are known by as stop words.
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

from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.corpus.language import common_words
from pipeline.retrieval import analysers
from pipeline.retrieval.analysers import ENGLISH
from pipeline.retrieval.base import TEXTS_REMEMBERED, Retriever
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


def opened(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    return Bm25Retriever(corpus)


class Bm25Retriever(Passages):
    """Indexes the corpus in memory when it is made, and holds all of it: for small ones, where no Java is."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        if len(corpus.passages) > MANY:
            logger.warning("%d passages are many for --retriever bm25: a search may take seconds", len(corpus.passages))
        self._passages = tuple(corpus.passages)
        self.analyser = analysers.analyser(corpus.language)
        tokens = [analyse(contents(passage), self.analyser) for passage in self._passages]
        self._engine = _Okapi(tokens, k1=0.9, b=0.4)
        # The same texts come with one query after the other.
        self._counted = lru_cache(TEXTS_REMEMBERED)(self._count)
        self._holders: dict[str, list[int]] = {}
        for number, words in enumerate(tokens):
            for word in set(words):
                self._holders.setdefault(word, []).append(number)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return await asyncio.to_thread(lambda: [self._search(query, k) for query in queries])

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.to_thread(self._score, query, texts)

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = Counter(analyse(query_text(query), self.analyser))
        return [self._engine.score(words, counts) for counts in self._counted(tuple(texts))]

    def _count(self, texts: tuple[str, ...]) -> list[Counter[str]]:
        return [Counter(analyse(text, self.analyser)) for text in texts]

    async def held(self, words: Sequence[str]) -> list[bool]:
        """For each word: does any passage hold all of its parts?"""
        return [all(term in self._holders for term in analyse(word, self.analyser)) for word in words]

    def _search(self, query: str, k: int) -> list[Hit]:
        words = analyse(query_text(query), self.analyser)
        found = sorted({number for word in set(words) for number in self._holders.get(word, ())})
        if k < 1 or not found:
            return []
        # rank-bm25 would score every passage, but one that shares no word with the query scores 0.
        scores = np.asarray(self._engine.get_batch_scores(words, found))
        least = np.partition(scores, -k)[-k] if k < len(found) else -np.inf
        hits = [Hit(passage=self._passages[found[i]], score=float(scores[i])) for i in np.flatnonzero(scores >= least)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[:k]


class _Okapi(BM25Okapi):  # type: ignore[misc]
    """rank-bm25 with Lucene's idf, which is never negative, so that frequent words do not lower a passage."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {word: log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for word, df in nd.items()}

    def score(self, query: Counter[str], counts: Counter[str]) -> float:
        """The score of a text that need not be in the corpus, by the same formula as `get_batch_scores`."""
        if not any(counts[word] and word in self.idf for word in query):
            return 0.0
        norm: Any = self.k1 * (1 - self.b + self.b * counts.total() / self.avgdl)
        weight = {word: times * self.idf.get(word, 0.0) for word, times in query.items()}
        return float(sum(w * counts[word] * (self.k1 + 1) / (counts[word] + norm) for word, w in weight.items()))


def analyse(text: str, analyser: str = ENGLISH) -> list[str]:
    """The words of a text as they are indexed: stems of the analyser's language, where it has any, and pairs of
    characters where nothing stands between words."""
    if analyser == ENGLISH:
        words = (_POSSESSIVE.sub("", word) for word in _WORD.findall(space_out(text.lower())))
        return [_stem(word) for word in words if word not in _STOP]
    if stemmer := _stemmer(analyser):
        common = common_words(analysers.code(analyser))
        said = [word for word in _WORD.findall(text.lower()) if fold(word) not in common]
        return [fold(word) for word in stemmer.stemWords(said)]
    return terms(text)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


@cache
def _stemmer(analyser: str) -> Any:
    return Stemmer.Stemmer(analyser) if analyser in _STEMMED else None


_STEMMER = Stemmer.Stemmer("porter")
_STEMMED = frozenset(Stemmer.algorithms()) - {"hindi", "nepali", "tamil"}
"""Of the others a word is not what `_WORD` takes for one."""
