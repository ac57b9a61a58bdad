"""The application of `digsite view`: pages for a person at this machine. Nothing from elsewhere can ask for them, and
no text of corpus or models can act in them.
"""

import secrets

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as RoutingError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.analysis.run_source import Library
from pipeline.errors import DigsiteError, UsageError
from pipeline.serve.http_server import Guard
from pipeline.view import pages, reviewing, routes
from pipeline.view.kept import Kept

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Without any referrer a browser would not say either from which origin a form comes.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def create(library: Library) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.library, app.state.kept = library, Kept()
    app.state.token = secrets.token_urlsafe()
    app.mount("/static", StaticFiles(directory=pages.STATIC))
    app.include_router(routes.router)
    app.include_router(reviewing.router)
    app.add_middleware(_Fenced)
    app.add_middleware(Guard, token="")
    app.add_exception_handler(RoutingError, _missing)
    app.add_exception_handler(KeyError, _missing)
    app.add_exception_handler(DigsiteError, _failed)
    return app


class _Fenced:
    """ASGI middleware: what the pages may load and do, and no request that another site's page sends to change
    something."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def fenced(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD") and not _own(Request(scope)):
            answer = pages.shown("trouble.html.j2", status=403, title="Refused", line="another site sent this request")
            await answer(scope, receive, fenced)
            return
        await self._app(scope, receive, fenced if scope["type"] == "http" else send)


def _own(request: Request) -> bool:
    origin = request.headers.get("origin")
    return origin == f"{request.url.scheme}://{request.headers.get('host', '')}"


async def _missing(request: Request, error: Exception) -> Response:
    return pages.shown("trouble.html.j2", status=404, title="Not found", line=f"There is no page {request.url.path}.")


async def _failed(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, UsageError) else 503
    return pages.shown("trouble.html.j2", status=status, title="This cannot be shown", line=str(error))
