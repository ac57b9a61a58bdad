"""The addresses of the pages.

`request.app.state` holds the runs as `library`, cached values as `kept`, and the `token` of every form.
"""

from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeVar

import orjson
import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from pipeline.analysis.run_source import Source, Table
from pipeline.text.redact import escape_json
from pipeline.view import layout
from pipeline.view.browsing import Runs
from pipeline.view.item import sheet
from pipeline.view.overview import overview
from pipeline.view.query import (
    PAGE,
    ItemQuery,
    facets,
    known_values,
    neighbours,
    parse_query,
    row,
    rows,
    sort_keys,
)

router = APIRouter()
T = TypeVar("T")
_MOST_KEPT = 24


def open_source(request: Request, slug: str) -> Source:
    """Open a run. Raises KeyError if it is unknown, UsageError or StoreError if it cannot be read."""
    library: Runs = request.app.state.library
    return library.open(slug)


Opened = Annotated[Source, Depends(open_source)]
"""The run in the address."""


def get_cached(request: Request, name: tuple[Hashable, ...], make: Callable[[], T]) -> T:
    """Return a value that pages will need again soon, and compute it if it is not cached.

    `name` must hold the version of what the value is made from. Only the latest values are kept.
    """
    cached: dict[tuple[Hashable, ...], Any] = request.app.state.kept
    if name not in cached:
        cached[name] = make()
        for oldest in list(cached)[:-_MOST_KEPT]:
            cached.pop(oldest, None)
    value: T = cached[name]
    return value


@router.get("/")
def start(request: Request) -> Response:
    library: Runs = request.app.state.library
    listed = library.list_runs()
    if len(listed) == 1 and not listed[0].problem:
        return RedirectResponse(f"/{listed[0].slug}/items", 303)
    return layout.render_page("start.html.j2", listed=listed)


@router.get("/{slug}")
def run(slug: str) -> Response:
    return RedirectResponse(f"/{slug}/items", 303)


@router.get("/{slug}/items")
def items(request: Request, source: Opened) -> Response:
    table = source.seeds()
    query, keys = _query_keys(request, source, table)
    last_page = max(1, -(-len(keys) // PAGE))
    query = query._replace(page=min(query.page, last_page))
    first_index = (query.page - 1) * PAGE
    return layout.render_run_page(
        request,
        "items.html.j2",
        source,
        "items",
        query=query,
        total=len(keys),
        first=first_index,
        last=last_page,
        rows=rows(table.frame, keys[first_index : first_index + PAGE].to_list()),
        facets=facets(table.frame, query),
        # Put the filters into the address bar, so that the browser can go back.
        headers={"hx-push-url": f"/{source.slug}/items{query.url(page=query.page)}"},
    )


@router.get("/{slug}/items/{key}")
def item(request: Request, source: Opened, key: str) -> Response:
    """Show one record, and link to its neighbours in the filters and order of the address."""
    table = source.seeds()
    query, keys = _query_keys(request, source, table)
    position, before, after = neighbours(keys, key)
    record, table_row = source.read(key), row(table.frame, key)
    if record is None and table_row is None:
        raise KeyError(key)
    return layout.render_run_page(
        request,
        "record.html.j2" if record else "row.html.j2",
        source,
        "items",
        it=sheet(record) if record else None,
        row=table_row,
        views={} if record else source.rows(key),
        key=key,
        query=query,
        place=position,
        total=len(keys),
        before=before,
        after=after,
        up=query.url(page=max(1, -(-position // PAGE))),
        marks=[mark for mark in source.marks() if mark.key == key],
    )


@router.get("/{slug}/items/{key}/json")
def raw(source: Opened, key: str) -> Response:
    record = source.read(key)
    if record is None:
        raise KeyError(key)
    tree = orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
    return Response(escape_json(tree.decode()), media_type="application/json")


@router.get("/{slug}/overview")
def figures(request: Request, source: Opened) -> Response:
    table = source.seeds()
    name = ("overview", source.slug, table.version, source.marks())
    values = get_cached(request, name, lambda: overview(table.frame, source))
    return layout.render_run_page(request, "overview.html.j2", source, "overview", it=values, config=source.config)


def _query_keys(request: Request, source: Source, table: Table) -> tuple[ItemQuery, pl.Series]:
    """Return the query of the address and the keys that its filters pass, in order.

    The keys are cached for the next page and for an item's neighbours.
    """
    values = get_cached(request, ("values", source.slug, table.version), lambda: known_values(table.frame))
    query = parse_query(request.query_params.multi_items(), values)
    name = ("order", source.slug, table.version, query.url())
    return query, get_cached(request, name, lambda: sort_keys(table.frame, query))
