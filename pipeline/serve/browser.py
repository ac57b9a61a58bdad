"""The application of `digsite view`: pages for a person at this machine. Nothing from elsewhere can ask for them, and
no text of corpus or models can act in them.
"""

import secrets

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as RoutingError
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint

from pipeline.analysis.run_source import Library
from pipeline.errors import DigsiteError, UsageError
from pipeline.serve.http_server import Guard, is_own_origin
from pipeline.view import layout, reviewing, routes

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
    app.state.library, app.state.kept = library, {}
    app.state.token = secrets.token_urlsafe()
    app.mount("/static", StaticFiles(directory=layout.STATIC))
    app.include_router(routes.router)
    app.include_router(reviewing.router)
    app.add_middleware(BaseHTTPMiddleware, dispatch=_fenced)
    app.add_middleware(Guard, token="")
    app.add_exception_handler(RoutingError, _missing)
    app.add_exception_handler(KeyError, _missing)
    app.add_exception_handler(DigsiteError, _failed)
    return app


async def _fenced(request: Request, answer: RequestResponseEndpoint) -> Response:
    """What the pages may load and do, and no request that another site's page sends to change something."""
    if request.method in ("GET", "HEAD") or is_own_origin(request):
        found = await answer(request)
    else:
        found = layout.render_page(
            "trouble.html.j2", status=403, title="Refused", line="another site sent this request"
        )
    found.headers.update(_HEADERS)
    return found


async def _missing(request: Request, error: Exception) -> Response:
    return layout.render_page(
        "trouble.html.j2", status=404, title="Not found", line=f"There is no page {request.url.path}."
    )


async def _failed(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, UsageError) else 503
    return layout.render_page("trouble.html.j2", status=status, title="This cannot be shown", line=str(error))
