"""Any model behind the cache: a finished call is never paid for again.

The key is the canonical request, without URL and time. Answers that were cut short or filtered are not stored, since
another call may do better. Two equal requests at the same time share one call.
"""

import asyncio
import hashlib

import orjson
from pydantic import ValidationError

from pipeline.llm.base import LLM, UNFINISHED, Completion, Request
from pipeline.llm.ledger import note_cached, note_request
from pipeline.store.cache import Cache


class Cached:
    """A model behind the cache, for one event loop."""

    def __init__(self, llm: LLM, cache: Cache) -> None:
        self._llm = llm
        self._cache = cache
        self._in_flight: dict[bytes, _Flight] = {}

    async def complete(self, request: Request) -> Completion:
        digest = request_digest(request)
        repeated = note_request(digest)
        if (stored := self._cache.get(digest)) is not None and (completion := _parse(stored)) is not None:
            note_cached(request, completion.usage, repeated=repeated)
            return completion
        flight = self._in_flight.get(digest)
        if has_joined := flight is not None:
            flight.waiting += 1
        else:
            flight = self._in_flight[digest] = _Flight(asyncio.create_task(self._fetch(digest, request)))
        try:
            completion = await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                del self._in_flight[digest]
                flight.task.cancel()
        if has_joined:
            note_cached(request, completion.usage, repeated=repeated)
        return completion

    async def _fetch(self, digest: bytes, request: Request) -> Completion:
        completion = await self._llm.complete(request)
        if completion.finish in UNFINISHED:
            return completion
        stored = self._cache.put(digest, completion.model_dump_json().encode())
        return _parse(stored) or completion


class _Flight:
    """One call in flight and the number of its waiters. The last waiter to give up cancels it."""

    def __init__(self, task: asyncio.Task[Completion]) -> None:
        self.task = task
        self.waiting = 1


def request_digest(request: Request) -> bytes:
    """Return the SHA-256 of the request as JSON with sorted keys."""
    return hashlib.sha256(orjson.dumps(request.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).digest()


def _parse(stored: bytes) -> Completion | None:
    try:
        return Completion.model_validate_json(stored)
    except ValidationError:  # another version stored another shape, which is a cache miss
        return None
