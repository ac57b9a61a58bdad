"""How long a simulated server under load takes, as vLLM does: longer the more calls it has, less for a prompt whose
beginning it has read before.

An answer takes `latency` times `PREFILL` for the share of the prompt that is new, and times `DECODE`, doubled where as
many calls as may be are in flight. A prompt begins as another where its first messages are the same; the beginnings of
the latest conversations are known, the oldest forgotten first, each endpoint for itself.
"""

from collections import OrderedDict
from typing import Any

PREFILL, DECODE = 0.5, 0.5
KNOWN = 20_000
"""Beginnings that a server remembers."""


class Load:
    """Of one endpoint. `limit`: calls in flight, above which it says 429."""

    def __init__(self, latency: float, limit: int) -> None:
        self._latency, self.limit = latency, limit
        self._known: OrderedDict[int, None] = OrderedDict()
        self._read = self._new = 0

    def met(self, body: dict[str, Any], size: int, busy: int) -> tuple[int, float]:
        """A call has come, and `busy` are in flight with it: bytes of its prompt that are known, and its seconds."""
        beginning, read, known = 0, 0, 0
        for message in body["messages"]:
            text = f"{message['role']} {message.get('content')} {message.get('tool_calls')}"
            beginning, read = hash((beginning, text)), read + len(text)
            if beginning in self._known:
                known = read
            self._known[beginning] = None
            self._known.move_to_end(beginning)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        self._read += read
        self._new += read - known
        new = 1 - known / max(1, read)
        return int(size * (1 - new)), self._latency * (PREFILL * new + DECODE * (1 + busy / self.limit))

    @property
    def share(self) -> float:
        """Of all prompts so far what was known."""
        return 1 - self._new / max(1, self._read)
