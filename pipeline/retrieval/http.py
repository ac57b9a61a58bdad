"""A user's own index over HTTP, by Search-R1's contract: `POST {queries, topk, return_scores}`.

The server ranks; the text is the local corpus's: every hit becomes a passage of it, so that quotes, offsets and hashes
hold. The id of a hit is a passage's (an index over the lines of `digsite corpus passages`) or a document's, which means
those of its passages that the server's text contains. A text that differs from the corpus is an error.

A server that says `"score": true` beside its result has `POST /score {queries, texts}` too, for distractors. It answers
`{scores}`: for each query what each text, written as in `digsite corpus passages`, would score in its index.
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

from pipeline.config.address import on_loopback
from pipeline.config.retrieval_settings import TOKEN_ENV, RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import RetrievalError, UsageError
from pipeline.llm.connection import bounded, trusted_certificates
from pipeline.llm.deadline import pause_clock
from pipeline.llm.retry import pause
from pipeline.retrieval.base import SCORING
from pipeline.retrieval.passage_texts import Passages, query_text, quoted, readable
from pipeline.text.redact import remove_secret
from pipeline.types import Hit, Passage

ATTEMPTS = 6
_SECONDS = 60.0
"""The time within which a whole answer must arrive."""
_CONNECT = 5.0
_MOST_QUERIES, _MOST_HITS = 256, 1000
"""Of one request."""
_MOST_BYTES, _MOST_ERROR_BYTES = 64 << 20, 64 << 10
"""Bytes read of an answer, decompressed, and of one with an error status."""
_CONNECTIONS = 64


@dataclass(frozen=True)
class _Document:
    id: str | int
    contents: str


@dataclass(frozen=True)
class _Scored:
    document: _Document
    score: float


@dataclass(frozen=True)
class _Reply:
    result: list[list[_Scored]]
    k: int | None = None
    """Sent by a server that is bound to a data set's environment."""
    score: bool = False
    """Has the server a `/score` beside `/retrieve`?"""


@dataclass(frozen=True)
class _Scores:
    scores: list[list[float]]
    """For each query one of each text."""


_REPLY, _SCORES = TypeAdapter(_Reply), TypeAdapter(_Scores)
_T = TypeVar("_T")


class _Transient(RetrievalError):
    """A try that failed in a way that may pass."""


class HttpRetriever(Passages):
    """Needs a running server, which is queried once at construction. Raises RetrievalError.

    The token, if the server needs one, is read from the environment variable DIGSITE_TOKEN.
    """

    def __init__(self, corpus: Corpus, address: str) -> None:
        super().__init__(corpus)
        self.name = RetrievalConfig(retriever=address).identity
        self._url = urldefrag(address).url
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()
        # In a loop of its own: this may be called from a running one.
        with ThreadPoolExecutor(1) as thread:
            self.scores = thread.submit(asyncio.run, self._probe(corpus.passages[0].title)).result()

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            return [[] for _ in queries]
        return await _in_parts(queries, partial(self._batch, k=min(k, _MOST_HITS)))

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not self.scores:
            raise UsageError(
                f"{self._url} cannot score texts that are not in its index, which distractors need: {SCORING}"
            )
        return await _in_parts(texts, partial(self._scored, query))

    async def _batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return self._read(await self._posted(self._url, _body(queries, k)), queries, k)

    async def _scored(self, query: str, texts: Sequence[str]) -> list[float]:
        url = urljoin(self._url, "score")
        body = {"queries": [query_text(query)], "texts": [quoted(readable(text)) for text in texts]}
        (scores,) = _validated(_SCORES, await self._posted(url, body), url).scores or [[]]
        if len(scores) != len(texts):
            raise RetrievalError(f"{url} answered {len(scores)} of {len(texts)} texts")
        return scores

    async def _posted(self, url: str, body: Mapping[str, object]) -> bytes:
        """The answer, with retries; waiting for the server does not count against a rollout's deadline."""
        with pause_clock() as clock:
            for attempt in range(ATTEMPTS):
                began = time.monotonic()
                try:
                    raw = await self._once(self._client(), url, body)
                except _Transient:
                    if attempt == ATTEMPTS - 1:
                        raise
                    await asyncio.sleep(pause(attempt, None))
                else:
                    clock.used = time.monotonic() - began
                    return raw
        raise AssertionError("unreachable")

    async def _probe(self, query: str) -> bool:
        """Can the server score?"""
        async with self._opened() as client:
            raw = await self._once(client, self._url, _body([query], 1))
        self._read(raw, [query], 1)
        return _validated(_REPLY, raw, self._url).score

    async def _once(self, client: httpx2.AsyncClient, url: str, body: Mapping[str, object]) -> bytes:
        headers = {"Authorization": f"Bearer {token}"} if (token := _token()) else {}
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await client.post(url, json=body, headers=headers)
        except TimeoutError:
            raise self._transient(f"no whole answer within {_SECONDS:.0f} s") from None
        except httpx2.HTTPError as error:
            raise self._transient(f"{type(error).__name__}: {_plain(str(error))[:200]}") from error
        status = answer.status_code
        if status == 200 and len(answer.content) > _MOST_BYTES:
            raise RetrievalError(f"{url} sent more than {_MOST_BYTES >> 20} MiB for one request")
        if status == 429 or status >= 500:
            raise self._transient(f"it answered {status}")
        if status in (401, 403):
            raise RetrievalError(f"{url} needs a token: put it into the environment variable {TOKEN_ENV}")
        if status != 200:
            raise RetrievalError(f"{url} answered {status}: {_plain(answer.content.decode(errors='replace'))}")
        return answer.content

    def _opened(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(_SECONDS, connect=_CONNECT),
            limits=httpx2.Limits(max_connections=_CONNECTIONS),
            headers={"Accept-Encoding": "gzip"},
            verify=trusted_certificates(),
            trust_env=not on_loopback(self._url),
            event_hooks={"response": [bounded(_MOST_BYTES, _MOST_ERROR_BYTES)]},
        )

    def _client(self) -> httpx2.AsyncClient:
        """That of the running event loop."""
        loop = asyncio.get_running_loop()
        return self._clients.get(loop) or self._clients.setdefault(loop, self._opened())

    def _read(self, raw: bytes, queries: Sequence[str], k: int) -> list[list[Hit]]:
        reply = _validated(_REPLY, raw, self._url)
        if len(reply.result) != len(queries):
            raise RetrievalError(f"{self._url} answered {len(reply.result)} of {len(queries)} queries")
        if reply.k is not None and reply.k < k:
            raise UsageError(f"{self._url} is bound to k = {reply.k}: it serves a data set; serve its corpus instead")
        return [self._hits(found)[:k] for found in reply.result]

    def _hits(self, found: list[_Scored]) -> list[Hit]:
        hits: dict[str, Hit] = {}
        for one in found:
            for passage in self._passages(one.document):
                hits.setdefault(passage.id, Hit(passage=passage, score=one.score))
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.passage.id))

    def _passages(self, document: _Document) -> list[Passage]:
        key, text = str(document.id), _flat(document.contents)
        shown, corpus = f"'{_plain(key)[:80]}'", f"the corpus '{self.corpus.manifest.name}'"
        named = [found] if (found := self.corpus.passage(key)) else self.corpus.passages_of(key)
        if not named:
            raise RetrievalError(
                f"{self._url} returned {shown}, which {corpus} does not hold; its index must be built over the lines "
                "of 'digsite corpus passages', or over the same documents"
            )
        if known := [passage for passage in named if _flat(passage.text) in text]:
            return known
        raise RetrievalError(f"{self._url} has another text for {shown} than {corpus}")

    def _transient(self, why: str) -> _Transient:
        return _Transient(f"no retriever answers at {self._url} ({why})")


async def _in_parts(texts: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[list[_T]]]) -> list[_T]:
    """What is answered of each text, by several requests where there are too many for one."""
    parts = [texts[start : start + _MOST_QUERIES] for start in range(0, len(texts), _MOST_QUERIES)]
    return [answer for answers in await asyncio.gather(*map(ask, parts)) for answer in answers]


def _validated(kind: TypeAdapter[_T], raw: bytes, url: str) -> _T:
    try:
        return kind.validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the answer"
        raise RetrievalError(f"{url} does not follow Search-R1's contract: {place}: {first['msg']}") from error


def _plain(text: str) -> str:
    """Text of a server for a user: one short line without escapes and without the token, which it may echo."""
    return " ".join(remove_secret(text, _token(), f"[{TOKEN_ENV}]").split())[:300]


def _body(queries: Sequence[str], k: int) -> dict[str, object]:
    return {"queries": [query_text(query) for query in queries], "topk": k, "return_scores": True}


def _token() -> str:
    return os.environ.get(TOKEN_ENV, "").strip()


def _flat(text: str) -> str:
    return " ".join(text.split())
