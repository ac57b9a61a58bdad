"""BM25 by Lucene, through Anserini's classes in Pyserini's jar. See `jvm` for why one thread makes all the calls."""

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

from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.corpus import Corpus, jvm
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.errors import RetrievalError
from pipeline.retrieval import analysers, index
from pipeline.retrieval.base import TEXTS_REMEMBERED, Retriever
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.retrieval.passage_texts import Passages, contents, query_text, readable
from pipeline.types import Hit, Passage

logger = logging.getLogger(__name__)
K1, B = 0.9, 0.4
_DESCRIPTORS = 256
"""That the JVM and an index that is written have open, at most."""
_BATCH = 4000
_AT_ONCE = 256
"""The most searches in one call of Lucene: a whole training batch would delay all others, and the end of a server."""
_THREADS = 2
_READER = "io.anserini.index.IndexReaderUtils"


def opened(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
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
    """Opens the index of a corpus, and builds it first if there is none. Raises RetrievalError."""

    name = "lucene"

    def __init__(self, corpus: Corpus, out: Path) -> None:
        super().__init__(corpus)
        self.analyser = analysers.analyser(corpus.language)
        home = index.ensure(corpus, self.analyser, out, lambda path: _build(corpus, path, self.analyser))
        self._searcher: Any = jvm.call(_open, home, len(corpus.passages), self.analyser)
        self._reader: Any = jvm.call(lambda: jvm.java(_READER).getReader(jvm.java_path(home)))
        self._waiting = deque[list[_Search]]()
        """The searches of each request that are not done yet."""
        self._lock = Lock()
        self._statistics: tuple[int, np.float32] | None = None
        self._frequency: dict[str, int] = {}
        self._counted = lru_cache(TEXTS_REMEMBERED)(self._count)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        searches = [_Search(query_text(query), k, Future()) for query in queries]
        self._enqueue(searches)
        return list(await asyncio.gather(*[asyncio.wrap_future(search.answer) for search in searches]))

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await jvm.acall(self._score, query_text(query), texts)

    async def held(self, words: Sequence[str]) -> list[bool]:
        """For each word: does any passage hold all of its parts?"""
        return await jvm.acall(self._held, words)

    def _enqueue(self, searches: list[_Search]) -> None:
        """Queue a request. All that are queued when the JVM's thread is free run together."""
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
        """Take as many searches of each request as of the others, so that a large one keeps no small one waiting."""
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
            found = self._search(batch)
        except BaseException as error:  # noqa: BLE001 - every waiting caller gets it
            if len(batch) == 1:
                batch[0].answer.set_exception(jvm.translated(error))
            else:  # one bad query must not fail the others
                for search in batch:
                    self._settle([search])
        else:
            for search, hits in zip(batch, found, strict=True):
                search.answer.set_result(hits)

    def _search(self, batch: list[_Search]) -> list[list[Hit]]:
        """The hits of each search. Each query runs once, by its own `k`: fetching a passage from Java costs more than
        finding it, so one wide search must not widen the others."""
        wanted: dict[int, dict[str, list[Hit]]] = {}
        for search in batch:
            wanted.setdefault(search.k, {})[search.query] = []
        for k, found in wanted.items():
            found.update(zip(found, self._top(list(found), min(k, len(self.corpus.passages))), strict=True))
        return [list(wanted[search.k][search.query]) for search in batch]

    def _top(self, queries: list[str], k: int) -> list[list[Hit]]:
        if k < 1:
            return [[] for _ in queries]
        if len(queries) == 1:
            return [self._hits(self._searcher.search(queries[0], k))]
        # The query serves as its id too: each is given once.
        given = _java_list(queries)
        found = self._searcher.batch_search(given, given, k, _THREADS)
        return [self._hits(found.get(query)) for query in queries]

    def _hits(self, found: Any) -> list[Hit]:
        hits = []
        for hit in found:
            key, score = hit.docid, hit.score
            if (passage := self.corpus.passage(key)) is None:
                raise RetrievalError(f"Lucene returned {key!r}, which is not in the corpus; delete outputs/indexes")
            hits.append(Hit(passage=passage, score=score))
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Lucene's BM25Similarity with its single precision, its length norm of one byte and Anserini's rounding to
        four places, so that equal texts tie."""
        if self._statistics is None:
            statistics = jvm.java(_READER).getIndexStats(self._reader)
            documents = statistics.get("non_empty_documents")
            self._statistics = documents, np.float32(statistics.get("total_terms") / max(1, documents))
        documents, average = self._statistics
        terms = Counter(analyse(query, self.analyser))
        weight = {}
        for term, times in terms.items():
            if df := self._holders(term):
                weight[term] = np.float32(times) * np.float32(log(1 + (documents - df + 0.5) / (df + 0.5)))
        return [_bm25(weight, counts, average) for counts in self._counted(tuple(texts))]

    def _count(self, texts: tuple[str, ...]) -> list[Counter[str]]:
        return [Counter(analyse(readable(text), self.analyser)) for text in texts]

    def _held(self, words: Sequence[str]) -> list[bool]:
        return [all(map(self._holders, analyse(readable(word), self.analyser))) for word in words]

    def _holders(self, term: str) -> int:
        """How many passages hold a term."""
        if term not in self._frequency:
            key = jvm.java("org.apache.lucene.index.Term")("contents", term)
            self._frequency[term] = self._reader.docFreq(key)
        return self._frequency[term]


def analyse(text: str, analyser: str = analysers.ENGLISH) -> list[str]:
    """Words as they are indexed. On the JVM's thread only."""
    by = analysers.java_analyser(analyser)
    given = (text,) if by is None else (by, text)
    return list(jvm.java("io.anserini.analysis.AnalyzerUtils").analyze(*given).toArray())


def _bm25(weight: dict[str, np.float32], counts: Counter[str], average: np.float32) -> float:
    if not any(counts[term] for term in weight):
        return 0.0
    one, k1, b = np.float32(1), np.float32(K1), np.float32(B)
    norm = one / (k1 * (one - b + b * np.float32(_stored_length(counts.total())) / average))
    parts = (w - w / (one + np.float32(counts[term]) * norm) for term, w in weight.items() if counts[term])
    return float(np.float32(round(float(np.float32(sum(map(float, parts)))), 4)))


def _stored_length(length: int) -> int:
    """A length as Lucene stores it (SmallFloat.intToByte4): exact up to 39, then four leading bits of the rest."""
    rest = max(0, length - 24)
    shift = max(0, rest.bit_length() - 4)
    return min(length, 24) + (rest >> shift << shift)


def _build(corpus: Corpus, path: Path, analyser: str) -> None:
    """One job per batch, so that Ctrl-C need not wait for the whole index; the next is read while Java, on both cores,
    adds one."""
    indexer, rest, whole = jvm.call(_indexer, path, analyser), iter(corpus.passages), len(corpus.passages)
    done, progress = 0, LoggedProgress(f"{corpus.manifest.name}: passages indexed")
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(_batch, rest)
        while batch := following.result():
            following = reader.submit(_batch, rest)
            jvm.call(indexer.addRawDocuments, batch)
            done += len(batch)
            progress.at(done, whole)
    jvm.call(indexer.close)
    try:
        jvm.call(_open, path, len(corpus.passages), analyser)  # the indexer logs what goes wrong, and goes on
    except RetrievalError as error:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        few = f"raise the limit of open files, which is {most} (ulimit -n)" if most < _DESCRIPTORS else ""
        line = f"Lucene could not write its index under {path.parent.parent}; {few or 'is the disk full?'}"
        raise RetrievalError(line) from error


def _batch(rest: Iterator[Passage]) -> list[str]:
    """As JSON, which Java reads on its own threads: to make an object of Java's for each costs the JVM's one."""
    passages = islice(rest, _BATCH)
    return [orjson.dumps({"id": passage.id, "contents": contents(passage)}).decode() for passage in passages]


def _indexer(path: Path, analyser: str) -> Any:
    jvm.start()
    options = ["-index", jvm.java_path(path), "-input", "", "-collection", "JsonCollection", "-threads", str(_THREADS)]
    options += analysers.options(analyser)
    # The default of the buffer would not fit into the heap.
    return jvm.java("io.anserini.index.SimpleIndexer")([*options, "-memoryBuffer", "128", "-optimize"])


def _open(path: Path, passages: int, analyser: str) -> Any:
    jvm.start()
    searcher = jvm.java("io.anserini.search.SimpleSearcher")(jvm.java_path(path))
    searcher.set_bm25(K1, B)
    if by := analysers.java_analyser(analyser):
        searcher.set_analyzer(by)
    if (held := searcher.get_total_num_docs()) != passages:
        raise RetrievalError(f"the index {path} holds {held} of {passages} passages; delete its folder")
    return searcher


def _java_list(texts: Sequence[str]) -> Any:
    given = jvm.java("java.util.ArrayList")()
    for text in texts:
        given.add(text)
    return given
