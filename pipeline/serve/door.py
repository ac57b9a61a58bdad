"""What every server here has in common: where it listens, who may ask, how much at once, and how it stops.

A server binds the loopback unless told otherwise. Beyond it a bearer token is needed, which stands in an environment
variable; where that is set, it is needed on the loopback too. Without one only requests to a loopback name are
answered, so that no web page can read a private corpus through a name of its own that leads here.
"""

import asyncio
import hmac
import ipaddress
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import orjson
import uvicorn
from fastapi import FastAPI, Request, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from pipeline.errors import RetrievalError, UsageError
from pipeline.redact import clean
from pipeline.serve import connections
from pipeline.serve.bodies import Bodies, Refused
from pipeline.serve.connections import Connection

logger = logging.getLogger(__name__)
_GRACE = 5
"""Seconds in which what is under way may end after a signal."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Endpoint = Callable[[bytes], Awaitable[object]]
"""The body of a request → what is sent back as JSON. Raises Refused."""
T = TypeVar("T")


class Door:
    """Where a server listens and what it wants to see of who asks."""

    def __init__(self, host: str, port: int, token_env: str) -> None:
        """Binds the address. Raises UsageError where it cannot be had, or a token is missing or unfit."""
        token = os.environ.get(token_env, "").strip()
        if not re.fullmatch(r"[!-~]*", token):
            raise UsageError(f"the environment variable {token_env} holds no token: it has blanks or odd characters")
        if not token and not _loopback(host):
            raise UsageError(
                f"{host} can be reached from elsewhere: put a token into the environment variable {token_env}, which "
                "clients then send as 'Authorization: Bearer ...'"
            )
        self._token = token.encode()
        self.socket = _bound(host, port)

    @property
    def url(self) -> str:
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def admit(self, request: Request) -> None:
        """Raises Refused."""
        if self._token:
            kind, _, given = request.headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                raise Refused(401, "this server wants its token: Authorization: Bearer ...")
        elif not _loopback(request.url.hostname or ""):
            raise Refused(403, "this server answers to 127.0.0.1 and localhost only")

    def serve(self, endpoints: Mapping[tuple[str, str], Endpoint]) -> None:
        """Answer until SIGINT or SIGTERM, then end what is under way and return. Endpoints go by method and path."""
        config = uvicorn.Config(
            application(self, endpoints),
            log_config=None,
            log_level="error",
            access_log=False,
            http=Connection,
            ws="none",
            backlog=connections.ACCEPTED,
            limit_concurrency=connections.most(),
            timeout_graceful_shutdown=_GRACE,
        )
        _Server(config).run(sockets=[self.socket])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(connections.Exhaustion())
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(connections.QUEUE)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, which would raise the signal again: for a server it is the ordinary end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def application(door: Door, endpoints: Mapping[tuple[str, str], Endpoint]) -> FastAPI:
    """The ASGI application: JSON in and out, and one line of JSON for whatever is wrong."""
    app = FastAPI(openapi_url=None)
    bodies = Bodies()
    for (method, path), endpoint in endpoints.items():
        app.add_api_route(path, _guarded(door, endpoint, bodies), methods=[method], response_model=None)
    app.add_exception_handler(HTTPException, _unrouted)
    return app


def parse(validate: Callable[[bytes], T], raw: bytes) -> T:
    """The body, as pydantic validates it. Raises Refused, naming the field."""
    try:
        return validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the body"
        raise Refused(400, f"{place}: {first['msg']}") from error


def _guarded(door: Door, endpoint: Endpoint, bodies: Bodies) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            door.admit(request)
            async with bodies.arrived(request.stream()) as raw:
                return _json(await endpoint(raw))
        except Refused as error:
            return _error(error.status, str(error))
        except UsageError as error:
            return _error(400, str(error))
        except RetrievalError as error:
            return _error(503, str(error))
        except ClientDisconnect:
            return _error(400, "the connection broke")
        except asyncio.CancelledError:
            # The grace is over; uncaught, every request under way would print a page and get an answer that is no JSON.
            return _error(503, "this server is stopping")
        except Exception as error:  # noqa: BLE001 - answered and logged
            # Uncaught, it would print a page for every request of the kind.
            line = str(error).splitlines()
            logger.error("%s: %s: %s", request.url.path, type(error).__name__, line[0][:200] if line else "")  # noqa: TRY400
            return _error(500, "this server broke on the request; its log says more")

    return answer


async def _unrouted(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _error(status, f"{request.method} {request.url.path[:80]}: there is nothing of that kind here")


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status_code=status, media_type="application/json")


def _error(status: int, line: str) -> Response:
    """In the shape of OpenAI's errors, which does for trainers as well: they read the status."""
    message = " ".join(clean(line).split())[:500]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return _json({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(kind, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # Before the index is opened, so that who asks too early waits and is not refused.
        listening.listen(connections.QUEUE)
    except (OSError, OverflowError) as error:
        raise UsageError(f"cannot listen at {host}:{port} ({error}); choose another --port, or 0 for any") from error
    return listening
