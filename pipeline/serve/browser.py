"""The application of `digsite view`: pages for a person at this machine.

Other sites cannot request them, and no text of a corpus or model can run as code in them.
"""

import secrets

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as RoutingError
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint

from pipeline.errors import DigsiteError, UsageError
from pipeline.serve.http_server import Guard, is_own_origin
from pipeline.view import layout, reviewing, routes
from pipeline.view.browsing import Runs

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Without a referrer, a browser would not send the origin of a form either.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def create(library: Runs) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.library, app.state.kept = library, {}
    app.state.token = secrets.token_urlsafe()
    app.mount("/static", StaticFiles(directory=layout.STATIC))
    app.include_router(routes.router)
    app.include_router(reviewing.router)
    app.add_middleware(BaseHTTPMiddleware, dispatch=_protect)
    app.add_middleware(Guard, token="")
    app.add_exception_handler(RoutingError, _render_not_found)
    app.add_exception_handler(KeyError, _render_not_found)
    app.add_exception_handler(DigsiteError, _render_error)
    return app


async def _protect(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Limit what the pages may load and do, and refuse requests of other sites that would change something."""
    if request.method in ("GET", "HEAD") or is_own_origin(request):
        response = await answer(request)
    else:
        response = layout.render_page(
            "trouble.html.j2", status=403, title="Refused", line="another site sent this request"
        )
    response.headers.update(_HEADERS)
    return response


async def _render_not_found(request: Request, error: Exception) -> Response:
    return layout.render_page(
        "trouble.html.j2", status=404, title="Not found", line=f"There is no page {request.url.path}."
    )


async def _render_error(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, UsageError) else 503
    return layout.render_page("trouble.html.j2", status=status, title="This cannot be shown", line=str(error))
