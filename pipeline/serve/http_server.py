"""The shared parts of all servers: address, access control, error answers and shutdown.

A server binds the loopback address by default. Any other address needs a bearer token from an environment variable. If
that is set, the loopback address needs the token too. Without a token, the Host of a request must be a loopback name,
so that no web page can read a private corpus through its own domain name that resolves to this machine.
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
"""Seconds for requests in progress after a signal."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?")


class ServerConfig(Data):
    """Where a server listens, and the environment variable of the token that clients must send."""

    host: str
    port: int
    token_env: str

    def token(self) -> str:
        """Return the token, or an empty text if none is needed. Raises UsageError if it is missing or malformed."""
        token = os.environ.get(self.token_env, "").strip()
        if not re.fullmatch(r"[!-~]*", token):
            raise UsageError(f"the environment variable {self.token_env} holds no token: use ASCII without spaces")
        if not token and not _is_loopback(self.host):
            raise UsageError(
                f"{self.host} can be reached from other machines: set the environment variable {self.token_env} to a "
                "token. Clients send it as 'Authorization: Bearer TOKEN'"
            )
        return token

    def bind(self) -> socket.socket:
        """Return a listening socket. Raises UsageError if the address cannot be bound or the token is missing."""
        self.token()
        try:
            addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = addresses[0]
            listening = socket.socket(family, socket.SOCK_STREAM)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # Listen before the index is opened, so that early clients wait instead of being refused.
            listening.listen(connections.QUEUE)
        except (OSError, OverflowError) as error:
            line = f"cannot listen at {self.host}:{self.port} ({error}); choose another --port, or 0 for any"
            raise UsageError(line) from error
        return listening


def url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def create_app(router: APIRouter, token: str = "") -> FastAPI:
    """Build the application of a router of JsonRoutes. Errors are one line in OpenAI's format."""
    # Without OpenAPI there is no documentation page, which would load scripts from a CDN.
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, strict_content_type=False)
    app.include_router(router)
    app.add_middleware(Guard, token=token)
    app.add_exception_handler(RoutingError, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(DigsiteError, _answer_digsite_error)
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
        limit_concurrency=connections.max_connections(),
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
        """Handle signals like uvicorn, but do not raise them again, since a signal is the ordinary end of a server."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


class JsonRoute(APIRoute):
    """A route whose body is parsed by orjson, which refuses what `json` accepts, for example lone surrogates."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def json(self) -> Any:
        return orjson.loads(await self.body())


class Guard:
    """ASGI middleware that checks the client, reads the body within its limits, and logs a crash as one line."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for message in await self._answer(Request(scope, receive)):
                for part in connections.split_message(message):
                    await send(part)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, request: Request) -> list[Message]:
        """Return the messages of the answer, to send once the body is freed, since a client may read them slowly."""
        try:
            try:
                self._check_client(request)
            except HTTPException:
                await discard(request.stream())
                raise
            async with self._bodies.receive(request.stream()) as raw:
                return await _collect_messages(self._app, _as_json(request.scope), _replay(raw, request.receive))
        except HTTPException as error:
            answer = await _answer_http_error(request, error)
        except ClientDisconnect:
            return []
        except asyncio.CancelledError:
            answer = _build_error(503, "this server is stopping")
        except Exception as error:  # noqa: BLE001 - answered and logged
            # Uncaught, it would print a traceback for each such request.
            logger.error("%s: %s: %s", request.url.path, type(error).__name__, first_line(error))  # noqa: TRY400
            answer = _build_error(500, "this server broke on the request; see its log")
        return await _collect_messages(answer, request.scope, request.receive)

    def _check_client(self, request: Request) -> None:
        if self._token:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
                raise HTTPException(401, "this server needs its token: Authorization: Bearer ...")
        elif not all(map(_is_local_host, request.headers.getlist("host") or [""])):
            raise HTTPException(403, "this server answers to 127.0.0.1 and localhost only")
        elif "origin" in request.headers and not is_own_origin(request):
            raise HTTPException(403, "another site sent this request")


def is_own_origin(request: Request) -> bool:
    """Return whether a page of this server sends the request. Only browsers send an origin."""
    return request.headers.get("origin") == f"{request.url.scheme}://{request.headers.get('host', '')}"


async def _collect_messages(app: ASGIApp, scope: Scope, receive: Receive) -> list[Message]:
    messages: list[Message] = []

    async def collect(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, collect)
    return messages


def _as_json(scope: Scope) -> Scope:
    """Set the content type to JSON, since the body is JSON even if the client (`curl -d`) says otherwise."""
    headers = [header for header in scope["headers"] if header[0] != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def _replay(raw: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body, which was read already, to the application."""
    pending = [{"type": "http.request", "body": raw, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


async def _answer_http_error(request: Request, error: Any) -> Response:
    if isinstance(error, HTTPException):
        return _build_error(error.status_code, error.detail)
    return _build_error(error.status_code, f"{request.method} {request.url.path[:80]}: not found")


async def _answer_invalid(request: Request, error: Any) -> Response:
    first_error = error.errors()[0]
    path = ".".join(str(part) for part in first_error["loc"][1:]) or "the body"
    return _build_error(400, f"{path}: {first_error['msg']}")


async def _answer_digsite_error(request: Request, error: Exception) -> Response:
    return _build_error(400 if isinstance(error, UsageError) else 503, str(error))


def _build_error(status: int, line: str) -> Response:
    """Build an answer in the format of OpenAI's errors. Trainers read only the status."""
    message = " ".join(clean(line).split())[:500]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def _is_local_host(header: str) -> bool:
    """Return whether a `Host` header can only name this machine, without resolving it."""
    match = _HOST.fullmatch(header.strip())
    return match is not None and _is_loopback((match[1] or match[2]).lower())


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
