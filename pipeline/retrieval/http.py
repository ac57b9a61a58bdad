"""A user's own index over HTTP, by Search-R1's contract: `POST {queries, topk, return_scores}`.

The server only ranks. Each hit is replaced by a passage of the local corpus, so that quotes, offsets and hashes stay
valid. A hit's id is that of a passage (if the index was built over the lines of `digsite corpus passages`) or that of a
document. A document's id stands for those of its passages that the server's text contains. It is an error if the
server's text differs from the corpus.

A server that adds `"score": true` to its response also has `POST /score {queries, texts}`, which distractors need. It
returns `{scores}`: for each query, the score that each text would get in its index. Texts have the format of
`digsite corpus passages`.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urldefrag, urljoin
from weakref import WeakKeyDictionary

import httpx2
from pydantic import TypeAdapter, ValidationError

from pipeline.config.endpoints import on_loopback
from pipeline.config.retrieval import TOKEN_ENV, RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import RetrievalError, UsageError
from pipeline.llm.connection import limit_body, trusted_certificates
from pipeline.llm.deadline import pause_clock
from pipeline.llm.retry import retry_delay
from pipeline.retrieval.base import SCORING
from pipeline.retrieval.passage_texts import Passages, query_text, quote_title, readable
from pipeline.text.redact import remove_secret
from pipeline.types import Hit, Passage

ATTEMPTS = 6
_SECONDS = 60.0
"""Timeout for a complete response."""
_CONNECT = 5.0
_MOST_QUERIES, _MOST_HITS = 256, 1000
"""Limits of one request."""
_MOST_BYTES, _MOST_ERROR_BYTES = 64 << 20, 64 << 10
"""Most decompressed bytes read of a response, and of one with an error status."""
_CONNECTIONS = 64


@dataclass(frozen=True)
class _Document:
    id: str | int
    contents: str


@dataclass(frozen=True)
class _ScoredDocument:
    document: _Document
    score: float


@dataclass(frozen=True)
class _Reply:
    result: list[list[_ScoredDocument]]
    k: int | None = None
    """Set only by a server that serves the environment of a data set."""
    score: bool = False
    """Whether the server has `/score` besides `/retrieve`."""


@dataclass(frozen=True)
class _Scores:
    scores: list[list[float]]
    """A list per query, with a score per text."""


_REPLY, _SCORES = TypeAdapter(_Reply), TypeAdapter(_Scores)
_T = TypeVar("_T")


class _Transient(RetrievalError):
    """A failure that a retry may solve."""


class HttpRetriever(Passages):
    """Client of a running server.

    The constructor sends one query and raises RetrievalError if that fails. The token of a server that needs one comes
    from the environment variable DIGSITE_TOKEN.
    """

    def __init__(self, corpus: Corpus, address: str) -> None:
        super().__init__(corpus)
        self.name = RetrievalConfig(retriever=address).identity
        self._url = urldefrag(address).url
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()
        # Use a loop in another thread, since the caller may run in a loop itself.
        with ThreadPoolExecutor(1) as thread:
            self.scores = thread.submit(asyncio.run, self._probe(corpus.passages[0].title)).result()

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            return [[] for _ in queries]
        return await _request_in_parts(queries, partial(self._search_batch, k=min(k, _MOST_HITS)))

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not self.scores:
            raise UsageError(
                f"distractors need a retriever that scores texts outside its index, and {self._url} does not: {SCORING}"
            )
        return await _request_in_parts(texts, partial(self._score_batch, query))

    async def _search_batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return self._parse_hits(await self._post(self._url, _build_body(queries, k)), queries, k)

    async def _score_batch(self, query: str, texts: Sequence[str]) -> list[float]:
        url = urljoin(self._url, "score")
        body = {"queries": [query_text(query)], "texts": [quote_title(readable(text)) for text in texts]}
        (scores,) = _parse(_SCORES, await self._post(url, body), url).scores or [[]]
        if len(scores) != len(texts):
            raise RetrievalError(f"{url} answered {len(scores)} of {len(texts)} texts")
        return scores

    async def _post(self, url: str, body: Mapping[str, object]) -> bytes:
        """Return the response to a request, with retries. Waiting for the server does not count against a deadline."""
        with pause_clock() as clock:
            for attempt in range(ATTEMPTS):
                start = time.monotonic()
                try:
                    content = await self._post_once(self._client(), url, body)
                except _Transient:
                    if attempt == ATTEMPTS - 1:
                        raise
                    await asyncio.sleep(retry_delay(attempt, None))
                else:
                    clock.used = time.monotonic() - start
                    return content
        raise AssertionError("unreachable")

    async def _probe(self, query: str) -> bool:
        """Return whether the server can score."""
        async with self._create_client() as client:
            raw = await self._post_once(client, self._url, _build_body([query], 1))
        self._parse_hits(raw, [query], 1)
        return _parse(_REPLY, raw, self._url).score

    async def _post_once(self, client: httpx2.AsyncClient, url: str, body: Mapping[str, object]) -> bytes:
        headers = {"Authorization": f"Bearer {token}"} if (token := _read_token()) else {}
        try:
            async with asyncio.timeout(_SECONDS):
                response = await client.post(url, json=body, headers=headers)
        except TimeoutError:
            raise self._build_transient_error(f"no complete response within {_SECONDS:.0f} s") from None
        except httpx2.HTTPError as error:
            raise self._build_transient_error(f"{type(error).__name__}: {_summarise(str(error))[:200]}") from error
        status = response.status_code
        if status == 200 and len(response.content) > _MOST_BYTES:
            raise RetrievalError(f"{url} sent more than {_MOST_BYTES >> 20} MiB for one request")
        if status == 429 or status >= 500:
            raise self._build_transient_error(f"status {status}")
        if status in (401, 403):
            raise RetrievalError(f"{url} needs a token: put it into the environment variable {TOKEN_ENV}")
        if status != 200:
            raise RetrievalError(f"{url} answered {status}: {_summarise(response.content.decode(errors='replace'))}")
        return response.content

    def _create_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(_SECONDS, connect=_CONNECT),
            limits=httpx2.Limits(max_connections=_CONNECTIONS),
            headers={"Accept-Encoding": "gzip"},
            verify=trusted_certificates(),
            trust_env=not on_loopback(self._url),
            event_hooks={"response": [limit_body(_MOST_BYTES, _MOST_ERROR_BYTES)]},
        )

    def _client(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        return self._clients.get(loop) or self._clients.setdefault(loop, self._create_client())

    def _parse_hits(self, raw: bytes, queries: Sequence[str], k: int) -> list[list[Hit]]:
        reply = _parse(_REPLY, raw, self._url)
        if len(reply.result) != len(queries):
            raise RetrievalError(f"{self._url} answered {len(reply.result)} of {len(queries)} queries")
        if reply.k is not None and reply.k < k:
            raise UsageError(f"{self._url} serves a data set and returns only {reply.k} hits; serve its corpus instead")
        return [self._build_hits(scored_documents)[:k] for scored_documents in reply.result]

    def _build_hits(self, scored_documents: list[_ScoredDocument]) -> list[Hit]:
        hits: dict[str, Hit] = {}
        for scored in scored_documents:
            for passage in self._matching_passages(scored.document):
                hits.setdefault(passage.id, Hit(passage=passage, score=scored.score))
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.passage.id))

    def _matching_passages(self, document: _Document) -> list[Passage]:
        key, text = str(document.id), _normalise_spaces(document.contents)
        quoted_id, corpus_name = f"'{_summarise(key)[:80]}'", f"the corpus '{self.corpus.manifest.name}'"
        candidates = [passage] if (passage := self.corpus.passage(key)) else self.corpus.passages_of(key)
        if not candidates:
            raise RetrievalError(
                f"{self._url} returned {quoted_id}, which {corpus_name} does not hold; build the server's index "
                "from what 'digsite corpus passages' prints, or from the documents of this corpus"
            )
        if matching := [passage for passage in candidates if _normalise_spaces(passage.text) in text]:
            return matching
        raise RetrievalError(
            f"{self._url} and {corpus_name} have different texts for {quoted_id}: rebuild the server's index"
        )

    def _build_transient_error(self, why: str) -> _Transient:
        return _Transient(f"no retriever answers at {self._url} ({why})")


async def _request_in_parts(texts: Sequence[str], request: Callable[[Sequence[str]], Awaitable[list[_T]]]) -> list[_T]:
    parts = [texts[start : start + _MOST_QUERIES] for start in range(0, len(texts), _MOST_QUERIES)]
    return [output for outputs in await asyncio.gather(*map(request, parts)) for output in outputs]


def _parse(kind: TypeAdapter[_T], raw: bytes, url: str) -> _T:
    try:
        return kind.validate_json(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        location = ".".join(map(str, problem["loc"])) or "the response"
        raise RetrievalError(f"{url} does not follow Search-R1's contract: {location}: {problem['msg']}") from error


def _summarise(text: str) -> str:
    """Shorten a server's text to one line for a user, without escapes and without the token, which it may echo."""
    return " ".join(remove_secret(text, _read_token(), f"[{TOKEN_ENV}]").split())[:300]


def _build_body(queries: Sequence[str], k: int) -> dict[str, object]:
    return {"queries": [query_text(query) for query in queries], "topk": k, "return_scores": True}


def _read_token() -> str:
    return os.environ.get(TOKEN_ENV, "").strip()


def _normalise_spaces(text: str) -> str:
    return " ".join(text.split())
