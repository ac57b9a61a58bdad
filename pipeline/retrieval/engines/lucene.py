"""BM25 by Lucene, through Anserini's classes in Pyserini's jar. `jvm` says why one thread makes all calls."""

import asyncio
import logging
import resource
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from math import log
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import orjson

from pipeline.config.retrieval import RetrievalConfig
from pipeline.corpus import Corpus, jvm
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.errors import RetrievalError
from pipeline.retrieval import analysers, index
from pipeline.retrieval.base import TEXTS_REMEMBERED, Engine, Retriever
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.retrieval.passage_texts import Passages, contents, query_text, readable
from pipeline.types import Hit, Passage

logger = logging.getLogger(__name__)
K1, B = 0.9, 0.4
_DESCRIPTORS = 256
"""Most files that the JVM has open while it writes an index."""
_BATCH = 4000
_AT_ONCE = 256
"""Most searches per call of Lucene. A whole training batch would delay other searches and the shutdown of a server."""
_THREADS = 2
_READER = "io.anserini.index.IndexReaderUtils"


def build_retriever(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    try:
        jvm.call(jvm.start)
    except RetrievalError as error:
        logger.warning("%s. Continuing with the slower --retriever bm25, whose ranks differ a little", error)
        return Bm25Retriever(corpus)
    return LuceneRetriever(corpus, out)


class _Search(NamedTuple):
    query: str
    k: int
    answer: "Future[list[Hit]]"


class LuceneRetriever(Passages):
    """Retriever over Lucene's index of a corpus, which it builds if there is none. Raises RetrievalError."""

    name = "lucene"

    def __init__(self, corpus: Corpus, out: Path) -> None:
        super().__init__(corpus)
        self.analyser = analysers.analyser_for(corpus.language)
        home = index.ensure(corpus, self.analyser, out, lambda path: _build(corpus, path, self.analyser))
        self._searcher: Any = jvm.call(_open_searcher, home, len(corpus.passages), self.analyser)
        self._reader: Any = jvm.call(lambda: jvm.java(_READER).getReader(jvm.java_path(home)))
        self._waiting = deque[list[_Search]]()
        """The pending searches of each request."""
        self._lock = Lock()
        self._statistics: tuple[int, np.float32] | None = None
        self._frequencies: dict[str, int] = {}
        self._cached_counts = lru_cache(TEXTS_REMEMBERED)(self._count)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        searches = [_Search(query_text(query), k, Future()) for query in queries]
        self._enqueue(searches)
        return list(await asyncio.gather(*[asyncio.wrap_future(search.answer) for search in searches]))

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await jvm.acall(self._score, query_text(query), texts)

    async def contain_words(self, words: Sequence[str]) -> list[bool]:
        """Report for each word whether some passage contains each of its tokens."""
        return await jvm.acall(self._contain_words, words)

    def _enqueue(self, searches: list[_Search]) -> None:
        """Queue a request. All requests that are queued when the JVM's thread is free run together."""
        if not searches:
            return
        with self._lock:
            self._waiting.append(searches)
            if len(self._waiting) == 1:
                jvm.submit(self._drain)

    def _drain(self) -> None:
        with self._lock:
            batch = self._next_batch()
            if self._waiting:
                jvm.submit(self._drain)
        self._settle([search for search in batch if search.answer.set_running_or_notify_cancel()])

    def _next_batch(self) -> list[_Search]:
        """Take the same number of searches from each request, so that a large one does not delay small ones."""
        batch: list[_Search] = []
        share = max(1, _AT_ONCE // len(self._waiting))
        for _ in range(min(_AT_ONCE, len(self._waiting))):
            request = self._waiting.popleft()
            batch += request[:share]
            if len(request) > share:
                self._waiting.append(request[share:])
        return batch

    def _settle(self, batch: list[_Search]) -> None:
        try:
            hit_lists = self._search(batch)
        except BaseException as error:  # noqa: BLE001 - it is raised to every waiting caller
            if len(batch) == 1:
                batch[0].answer.set_exception(jvm.translate_error(error))
            else:  # one bad query must not fail the others
                for search in batch:
                    self._settle([search])
        else:
            for search, hits in zip(batch, hit_lists, strict=True):
                search.answer.set_result(hits)

    def _search(self, batch: list[_Search]) -> list[list[Hit]]:
        """Run each distinct query once per `k`.

        Fetching a passage from Java costs more than the search, so one large `k` must not widen the other searches.
        """
        hits_by_k: dict[int, dict[str, list[Hit]]] = {}
        for search in batch:
            hits_by_k.setdefault(search.k, {})[search.query] = []
        for k, hits_by_query in hits_by_k.items():
            hits_by_query.update(
                zip(hits_by_query, self._top(list(hits_by_query), min(k, len(self.corpus.passages))), strict=True)
            )
        return [list(hits_by_k[search.k][search.query]) for search in batch]

    def _top(self, queries: list[str], k: int) -> list[list[Hit]]:
        if k < 1:
            return [[] for _ in queries]
        if len(queries) == 1:
            return [self._build_hits(self._searcher.search(queries[0], k))]
        # Each query is also its id, which works since queries are distinct.
        java_queries = _to_java_list(queries)
        java_hits = self._searcher.batch_search(java_queries, java_queries, k, _THREADS)
        return [self._build_hits(java_hits.get(query)) for query in queries]

    def _build_hits(self, java_hits: Any) -> list[Hit]:
        hits = []
        for hit in java_hits:
            key, score = hit.docid, hit.score
            if (passage := self.corpus.passage(key)) is None:
                raise RetrievalError(f"Lucene returned {key!r}, which is not in the corpus; delete outputs/indexes")
            hits.append(Hit(passage=passage, score=score))
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts as Lucene's BM25Similarity does.

        Uses its single precision, its length norm of one byte and Anserini's rounding to four places. Equal texts tie.
        """
        if self._statistics is None:
            statistics = jvm.java(_READER).getIndexStats(self._reader)
            documents = statistics.get("non_empty_documents")
            self._statistics = documents, np.float32(statistics.get("total_terms") / max(1, documents))
        documents, average = self._statistics
        terms = Counter(analyse(query, self.analyser))
        weight = {}
        for term, times in terms.items():
            if df := self._document_frequency(term):
                weight[term] = np.float32(times) * np.float32(log(1 + (documents - df + 0.5) / (df + 0.5)))
        return [_bm25(weight, counts, average) for counts in self._cached_counts(tuple(texts))]

    def _count(self, texts: tuple[str, ...]) -> list[Counter[str]]:
        return [Counter(analyse(readable(text), self.analyser)) for text in texts]

    def _contain_words(self, words: Sequence[str]) -> list[bool]:
        return [all(map(self._document_frequency, analyse(readable(word), self.analyser))) for word in words]

    def _document_frequency(self, term: str) -> int:
        if term not in self._frequencies:
            key = jvm.java("org.apache.lucene.index.Term")("contents", term)
            self._frequencies[term] = self._reader.docFreq(key)
        return self._frequencies[term]


def analyse(text: str, analyser: str = analysers.ENGLISH) -> list[str]:
    """Return the words of a text as they are indexed. Call it only on the JVM's thread."""
    java_analyser = analysers.java_analyser(analyser)
    arguments = (text,) if java_analyser is None else (java_analyser, text)
    return list(jvm.java("io.anserini.analysis.AnalyzerUtils").analyze(*arguments).toArray())


def _bm25(weight: dict[str, np.float32], counts: Counter[str], average: np.float32) -> float:
    if not any(counts[term] for term in weight):
        return 0.0
    unit, k1, b = np.float32(1), np.float32(K1), np.float32(B)
    norm = unit / (k1 * (unit - b + b * np.float32(_stored_length(counts.total())) / average))
    parts = (w - w / (unit + np.float32(counts[term]) * norm) for term, w in weight.items() if counts[term])
    return float(np.float32(round(float(np.float32(sum(map(float, parts)))), 4)))


def _stored_length(length: int) -> int:
    """Return a length as Lucene stores it (SmallFloat.intToByte4): exact up to 39, then with four leading bits."""
    excess = max(0, length - 24)
    shift = max(0, excess.bit_length() - 4)
    return min(length, 24) + (excess >> shift << shift)


def _build(corpus: Corpus, path: Path, analyser: str) -> None:
    """Index the corpus with one JVM call per batch, so that Ctrl-C takes effect between batches.

    The next batch is read while Java adds the current one on both cores.
    """
    indexer, passages, total = jvm.call(_create_indexer, path, analyser), iter(corpus.passages), len(corpus.passages)
    done, progress = 0, LoggedProgress(f"{corpus.manifest.name}: passages indexed")
    with ThreadPoolExecutor(1) as reader:
        next_batch = reader.submit(_take_batch, passages)
        while batch := next_batch.result():
            next_batch = reader.submit(_take_batch, passages)
            jvm.call(indexer.addRawDocuments, batch)
            done += len(batch)
            progress.at(done, total)
    jvm.call(indexer.close)
    try:
        jvm.call(_open_searcher, path, len(corpus.passages), analyser)  # the indexer only logs errors
    except RetrievalError as error:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        advice = f"raise the limit of open files, which is {limit} (ulimit -n)" if limit < _DESCRIPTORS else ""
        problem = f"Lucene could not write its index under {path.parent.parent}; {advice or 'is the disk full?'}"
        raise RetrievalError(problem) from error


def _take_batch(passages: Iterator[Passage]) -> list[str]:
    """Return the next passages as JSON.

    Java parses JSON on its own threads, but building Java objects would keep the JVM's one thread busy.
    """
    batch = islice(passages, _BATCH)
    return [orjson.dumps({"id": passage.id, "contents": contents(passage)}).decode() for passage in batch]


def _create_indexer(path: Path, analyser: str) -> Any:
    jvm.start()
    options = ["-index", jvm.java_path(path), "-input", "", "-collection", "JsonCollection", "-threads", str(_THREADS)]
    options += analysers.indexer_options(analyser)
    # The default buffer does not fit into the heap.
    return jvm.java("io.anserini.index.SimpleIndexer")([*options, "-memoryBuffer", "128", "-optimize"])


def _open_searcher(path: Path, passages: int, analyser: str) -> Any:
    jvm.start()
    searcher = jvm.java("io.anserini.search.SimpleSearcher")(jvm.java_path(path))
    searcher.set_bm25(K1, B)
    if java_analyser := analysers.java_analyser(analyser):
        searcher.set_analyzer(java_analyser)
    if (count := searcher.get_total_num_docs()) != passages:
        raise RetrievalError(f"the index {path} has {count} of {passages} passages: delete its folder")
    return searcher


def _to_java_list(texts: Sequence[str]) -> Any:
    java_list = jvm.java("java.util.ArrayList")()
    for text in texts:
        java_list.add(text)
    return java_list


ENGINE = Engine(build_retriever)
