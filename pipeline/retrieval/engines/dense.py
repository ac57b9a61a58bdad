"""Passages whose vectors lie nearest to the query's, by FAISS. The encoder is the user's own.

FAISS proposes; what it proposes is scored again in double precision and to six digits, by the same function that
scores a text which is not in the index. So a search, a search among many and an overlay agree to the last digit. A
text counts as found where its score is above zero.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.config.dense_settings import DenseConfig
from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.retrieval import vectors
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.encoder import Matrix, open_encoder
from pipeline.retrieval.passage_texts import Passages, query_text
from pipeline.store.files import atomic_write
from pipeline.types import Hit

Rows: TypeAlias = npt.NDArray[np.int64]
_BLOCK = 1 << 16
"""Vectors that are compared in one call: the file is read through memory a block at a time."""
_MARGIN = 16
"""Passages beyond the k best that are scored again, since FAISS's single precision may swap neighbours."""
_REMEMBERED = 4096
_GRAPH, _LINKS, _BREADTH = "hnsw.faiss", 32, 256


def opened(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    return DenseRetriever(corpus, out, settings.dense)


class DenseRetriever(Passages):
    """Encodes the passages of a corpus that has no vectors yet, which takes the encoder's time. Raises RetrievalError,
    and UsageError if there is no encoder."""

    def __init__(self, corpus: Corpus, out: Path, settings: DenseConfig) -> None:
        super().__init__(corpus)
        self.name = settings.identity
        self._settings, self._encoder = settings, open_encoder(settings)
        home = vectors.ensure(corpus, self._encoder, settings, out)
        self._vectors = vectors.mapped(home)
        self._graph = _graph(home, self._vectors) if settings.index == "hnsw" else None
        self._encoded: Callable[[str], Matrix] = lru_cache(_REMEMBERED)(lambda text: self._encoder.encode([text])[0])
        self._lock = Lock()

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return await asyncio.to_thread(self._search, queries, k)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.to_thread(self._score, query, texts)

    def _search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        asked = list(dict.fromkeys(query for query in map(query_text, queries) if query.strip()))
        found: dict[str, list[Hit]] = {}
        if k > 0 and asked:
            wanted = np.stack([self._query(query) for query in asked])
            with self._lock:  # FAISS takes all cores for one call
                found = dict(zip(asked, self._nearest(wanted, k), strict=True))
        return [list(found.get(query_text(query), ())) for query in queries]

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not (asked := query_text(query)).strip() or not texts:
            return [0.0] * len(texts)
        rows = np.stack([self._encoded(self._settings.passage_prefix + text) for text in texts])
        scores = scored(rows, self._query(asked))
        return [score if text.strip() else 0.0 for score, text in zip(scores, texts, strict=True)]

    def _query(self, query: str) -> Matrix:
        """Each alone, never in a batch, which could change its last digits."""
        return self._encoded(self._settings.query_prefix + query)

    def _nearest(self, queries: Matrix, k: int) -> list[list[Hit]]:
        """The hits of each query; more are proposed where the last of them is as good as the k-th."""
        width, found = k + _MARGIN, [list[Hit]()] * len(queries)
        left = np.arange(len(queries))
        while len(left):
            width = min(width, len(self._vectors))
            tied = []
            for place, rows in zip(left, self._proposed(queries[left], width), strict=True):
                scores = scored(self._vectors[rows], queries[place])
                if k <= len(scores) and width < len(self._vectors) and 0 < min(scores) >= sorted(scores)[-k]:
                    tied.append(place)
                else:
                    found[place] = self._hits(rows, scores)[:k]
            left, width = np.array(tied, np.int64), 4 * width
        return found

    def _hits(self, rows: Rows, scores: list[float]) -> list[Hit]:
        best = [(score, int(row)) for score, row in zip(scores, rows, strict=True) if score > 0]
        hits = [Hit(passage=self.corpus.in_order_of_ids(row), score=score) for score, row in best]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def _proposed(self, queries: Matrix, width: int) -> list[Rows]:
        """The rows of the nearest vectors of each query, in no order."""
        import faiss

        if self._graph is not None:
            rows = self._graph.search(queries, max(width, min(_BREADTH, len(self._vectors))))[1]
            return [one[one >= 0] for one in rows]
        metric, parts = faiss.METRIC_INNER_PRODUCT, []
        for start in range(0, len(self._vectors), _BLOCK):
            block = np.ascontiguousarray(self._vectors[start : start + _BLOCK])
            scores, rows = faiss.knn(queries, block, min(width, len(block)), metric=metric)
            parts.append((scores, rows + start))
        scores, rows = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        best = np.argpartition(-scores, min(width, scores.shape[1]) - 1, axis=1)[:, :width]
        return list(np.take_along_axis(rows, best, axis=1))


def scored(rows: Matrix, query: Matrix) -> list[float]:
    """The dot product of the query with each row, to six digits, whatever rows stand beside it."""
    exact = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return [float(f"{score:.6g}") for score in exact]


def _graph(home: Path, rows: Matrix) -> Any:
    """FAISS's graph over the vectors, kept beside them. One thread makes it, so that it is the same each time."""
    import faiss

    path = home / _GRAPH
    if not path.exists():
        graph, progress = (
            faiss.IndexHNSWFlat(rows.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT),
            LoggedProgress("graph"),
        )
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            for start in range(0, len(rows), _BLOCK):
                graph.add(np.ascontiguousarray(rows[start : start + _BLOCK]))
                progress.at(graph.ntotal, len(rows))
        finally:
            faiss.omp_set_num_threads(threads)
        atomic_write(path, faiss.serialize_index(graph).tobytes())
    read: Any = faiss.read_index(str(path))
    read.hnsw.efSearch = _BREADTH
    return read
