"""What the servers share: where one listens, who may ask, how errors are answered, and how it stops.

A server binds the loopback by default. Any other address needs a bearer token, read from an environment variable; where
that is set, it is needed on the loopback too. Without a token only requests whose Host is a loopback name are answered,
so that no web page can read a private corpus through a domain name of its own that resolves to this machine.
"""

import asyncio
import hmac
import ipaddress
import logging
import os
import re
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException as RoutingError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.errors import DigsiteError, UsageError, first_line
from pipeline.serve import connections
from pipeline.serve.bodies import Bodies, discard
from pipeline.text.redact import clean
from pipeline.types import Data

logger = logging.getLogger(__name__)
_GRACE = 1
"""Seconds that requests in progress have after a signal."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?")


class ServerConfig(Data):
    """Where a server listens, and the environment variable of the token that clients must send."""

    host: str
    port: int
    token_env: str

    def token(self) -> str:
        """The token; empty where none is needed. Raises UsageError if it is missing or malformed."""
        token = os.environ.get(self.token_env, "").strip()
        if not re.fullmatch(r"[!-~]*", token):
            raise UsageError(f"the environment variable {self.token_env} holds no token: use ASCII without spaces")
        if not token and not _loopback(self.host):
            line = f"{self.host} can be reached from other machines: put a token into the environment variable"
            raise UsageError(f"{line} {self.token_env}, which clients then send as 'Authorization: Bearer ...'")
        return token

    def bind(self) -> socket.socket:
        """A listening socket. Raises UsageError where the address cannot be had, or the token is missing."""
        self.token()
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            kind, _, _, _, address = found[0]
            listening = socket.socket(kind, socket.SOCK_STREAM)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # Before the index is opened, so that early clients wait and are not refused.
            listening.listen(connections.QUEUE)
        except (OSError, OverflowError) as error:
            line = f"cannot listen at {self.host}:{self.port} ({error}); choose another --port, or 0 for any"
            raise UsageError(line) from error
        return listening


def url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def create_app(router: APIRouter, token: str = "") -> FastAPI:
    """The application of a router of JsonRoutes: JSON in and out, and every error as one line in OpenAI's shape."""
    # Without OpenAPI there is no documentation page, which would load scripts from a CDN.
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, strict_content_type=False)
    app.include_router(router)
    app.add_middleware(Guard, token=token)
    app.add_exception_handler(RoutingError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DigsiteError, _failed)
    return app


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM, then finish the requests in progress and return."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        http=connections.ClientTimeouts,
        ws="none",
        backlog=connections.ACCEPTED,
        limit_concurrency=connections.most(),
        timeout_keep_alive=connections.IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE,
    )
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(connections.Exhaustion())
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(connections.QUEUE)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but the signal is not raised again at the end: for a server it is the ordinary end."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


class JsonRoute(APIRoute):
    """A route whose body orjson reads: it refuses what Python's own reader lets through, such as lone surrogates."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def json(self) -> Any:
        return orjson.loads(await self.body())


class Guard:
    """ASGI middleware that checks who asks, reads the body within its limits, and turns a crash into one log line."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for message in await self._answer(Request(scope, receive)):
                for part in connections.in_parts(message):
                    await send(part)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, request: Request) -> list[Message]:
        """The messages of the answer, which are sent when the body has left memory: a client may read them slowly."""
        try:
            try:
                self._admit(request)
            except HTTPException:
                await discard(request.stream())
                raise
            async with self._bodies.arrived(request.stream()) as raw:
                return await _messages(self._app, _as_json(request.scope), _replay(raw, request.receive))
        except HTTPException as error:
            answer = await _refused(request, error)
        except ClientDisconnect:
            return []
        except asyncio.CancelledError:
            answer = _error(503, "this server is stopping")
        except Exception as error:  # noqa: BLE001 - answered and logged
            # Uncaught, it would print a traceback for every request of the kind.
            logger.error("%s: %s: %s", request.url.path, type(error).__name__, first_line(error))  # noqa: TRY400
            answer = _error(500, "this server broke on the request; see its log")
        return await _messages(answer, request.scope, request.receive)

    def _admit(self, request: Request) -> None:
        if self._token:
            kind, _, given = request.headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                raise HTTPException(401, "this server needs its token: Authorization: Bearer ...")
        elif not all(map(_local, request.headers.getlist("host") or [""])):
            raise HTTPException(403, "this server answers to 127.0.0.1 and localhost only")
        elif "origin" in request.headers and not is_own_origin(request):
            raise HTTPException(403, "another site sent this request")


def is_own_origin(request: Request) -> bool:
    """Return whether a page of this very server sends the request. Browsers alone give an origin."""
    return request.headers.get("origin") == f"{request.url.scheme}://{request.headers.get('host', '')}"


async def _messages(app: ASGIApp, scope: Scope, receive: Receive) -> list[Message]:
    """All that an application sends."""
    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, keep)
    return sent


def _as_json(scope: Scope) -> Scope:
    """The body is JSON whatever the client calls it, as `curl -d` does."""
    headers = [header for header in scope["headers"] if header[0] != b"content-type"]
    return {**scope, "headers": headers}


def _replay(raw: bytes, receive: Receive) -> Receive:
    """`receive` for an application whose body was read already."""
    left = [{"type": "http.request", "body": raw, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


async def _refused(request: Request, error: Any) -> Response:
    ours = isinstance(error, HTTPException)
    return _error(error.status_code, error.detail if ours else f"{request.method} {request.url.path[:80]}: not found")


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    return _error(400, f"{place}: {first['msg']}")


async def _failed(request: Request, error: Exception) -> Response:
    return _error(400 if isinstance(error, UsageError) else 503, str(error))


def _error(status: int, line: str) -> Response:
    """In the shape of OpenAI's errors; trainers read the status alone."""
    message = " ".join(clean(line).split())[:500]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def _local(header: str) -> bool:
    """Is that `Host`, read as it stands, a name of this machine alone?"""
    match = _HOST.fullmatch(header.strip())
    return match is not None and _loopback((match[1] or match[2]).lower())


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
