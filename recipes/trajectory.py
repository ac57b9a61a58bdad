"""One trajectory's side of `digsite serve`: standard library only, so that it can be copied into any trainer.

The server answers every call as the data set's own rollouts were answered, and remembers nothing: what the trajectory
has seen and done stands here.
"""

import json
import os
import time
import urllib.error
import urllib.request
from typing import Any

ATTEMPTS = 6


class Trajectory:
    """`address` is the server's, without a path. Calls of one trajectory are made one after another."""

    def __init__(self, address: str, question_id: str = "") -> None:
        self._address = address.rstrip("/")
        self.state: dict[str, Any] = {"shown": [], "calls": 0, "question_id": question_id}

    def call(self, name: str, arguments: Any, place: int = 0) -> str:
        """Return the tool message for one call; `place` counts the calls of a turn from 0.

        Raises OSError if no server answers, since a model must not be trained on the text of an error.
        """
        # Send it as text: the tool answers a call whose arguments are no object or no Unicode.
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        body = {"name": name, "arguments": text, "place": place, **self.state}
        answer = _post(f"{self._address}/call", body)
        self.state |= {"shown": answer["shown"], "calls": answer["calls"]}
        return str(answer["content"])


def _post(url: str, body: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("DIGSITE_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - the user's own server
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == ATTEMPTS - 1:
                raise OSError(f"{url} answered {error.code}: {error.read(500).decode(errors='replace')}") from error
        except OSError:
            if attempt == ATTEMPTS - 1:
                raise
        time.sleep(0.5 * 2**attempt)
    raise AssertionError("unreachable")
