"""Search by vectors with FAISS: the passages nearest to the query. The user chooses the encoder.

FAISS proposes candidates. They are scored again in double precision and rounded to six digits, by the same function
that scores texts outside the index. So a single search, a batch and an overlay agree to the last digit. Only texts that
score above zero are hits.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.config.retrieval import DenseConfig, RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.retrieval import vectors
from pipeline.retrieval.base import Engine, Retriever
from pipeline.retrieval.encoder import Matrix, open_encoder
from pipeline.retrieval.passage_texts import Passages, query_text
from pipeline.store.files import atomic_write
from pipeline.types import Hit

Rows: TypeAlias = npt.NDArray[np.int64]
_BLOCK = 1 << 16
"""Number of vectors compared in one call, so that only a block of the file is in memory at a time."""
_MARGIN = 16
"""Extra candidates beyond k that are scored again, since FAISS's single precision may swap neighbours."""
_REMEMBERED = 4096
_GRAPH, _LINKS, _BREADTH = "hnsw.faiss", 32, 256


def build_retriever(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    return DenseRetriever(corpus, out, settings.dense)


class DenseRetriever(Passages):
    """Retriever over the vectors of the passages.

    The constructor encodes the passages if they have no vectors yet, which may take long. It raises RetrievalError, and
    UsageError if there is no encoder.
    """

    def __init__(self, corpus: Corpus, out: Path, settings: DenseConfig) -> None:
        super().__init__(corpus)
        self.name = settings.identity
        self._settings, self._encoder = settings, open_encoder(settings)
        home = vectors.ensure(corpus, self._encoder, settings, out)
        self._vectors = vectors.map_vectors(home)
        self._graph = _ensure_graph(home, self._vectors) if settings.index == "hnsw" else None
        self._encode: Callable[[str], Matrix] = lru_cache(_REMEMBERED)(lambda text: self._encoder.encode([text])[0])
        self._lock = Lock()

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return await asyncio.to_thread(self._search, queries, k)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.to_thread(self._score, query, texts)

    def _search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        distinct = list(dict.fromkeys(query for query in map(query_text, queries) if query.strip()))
        hits_by_query: dict[str, list[Hit]] = {}
        if k > 0 and distinct:
            query_vectors = np.stack([self._encode_query(query) for query in distinct])
            with self._lock:  # one call of FAISS already uses all cores
                hits_by_query = dict(zip(distinct, self._search_nearest(query_vectors, k), strict=True))
        return [list(hits_by_query.get(query_text(query), ())) for query in queries]

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not (prepared_query := query_text(query)).strip() or not texts:
            return [0.0] * len(texts)
        rows = np.stack([self._encode(self._settings.passage_prefix + text) for text in texts])
        scores = exact_scores(rows, self._encode_query(prepared_query))
        return [score if text.strip() else 0.0 for score, text in zip(scores, texts, strict=True)]

    def _encode_query(self, query: str) -> Matrix:
        """Encode a query alone: a batch could change its last digits."""
        return self._encode(self._settings.query_prefix + query)

    def _search_nearest(self, queries: Matrix, k: int) -> list[list[Hit]]:
        """Return the hits of each query. Propose more rows while the last one ties with the k-th hit."""
        width, hit_lists = k + _MARGIN, [list[Hit]()] * len(queries)
        pending = np.arange(len(queries))
        while len(pending):
            width = min(width, len(self._vectors))
            tied = []
            for query_index, rows in zip(pending, self._propose_rows(queries[pending], width), strict=True):
                scores = exact_scores(self._vectors[rows], queries[query_index])
                if k <= len(scores) and width < len(self._vectors) and 0 < min(scores) >= sorted(scores)[-k]:
                    tied.append(query_index)
                else:
                    hit_lists[query_index] = self._build_hits(rows, scores)[:k]
            pending, width = np.array(tied, np.int64), 4 * width
        return hit_lists

    def _build_hits(self, rows: Rows, scores: list[float]) -> list[Hit]:
        best = [(score, int(row)) for score, row in zip(scores, rows, strict=True) if score > 0]
        hits = [Hit(passage=self.corpus.in_order_of_ids(row), score=score) for score, row in best]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def _propose_rows(self, queries: Matrix, width: int) -> list[Rows]:
        """Return the rows of the nearest vectors of each query, unordered."""
        import faiss

        if self._graph is not None:
            rows = self._graph.search(queries, max(width, min(_BREADTH, len(self._vectors))))[1]
            return [row[row >= 0] for row in rows]
        metric, parts = faiss.METRIC_INNER_PRODUCT, []
        for start in range(0, len(self._vectors), _BLOCK):
            block = np.ascontiguousarray(self._vectors[start : start + _BLOCK])
            scores, rows = faiss.knn(queries, block, min(width, len(block)), metric=metric)
            parts.append((scores, rows + start))
        scores, rows = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        best = np.argpartition(-scores, min(width, scores.shape[1]) - 1, axis=1)[:, :width]
        return list(np.take_along_axis(rows, best, axis=1))


def exact_scores(rows: Matrix, query: Matrix) -> list[float]:
    """Return the dot product of the query with each row, rounded to six digits, independent of the other rows."""
    exact = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return [float(f"{score:.6g}") for score in exact]


def _ensure_graph(home: Path, rows: Matrix) -> Any:
    """Return FAISS's graph over the vectors, built on first use. One thread builds it, so that it is reproducible."""
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
    index: Any = faiss.read_index(str(path))
    index.hnsw.efSearch = _BREADTH
    return index


ENGINE = Engine(build_retriever)
