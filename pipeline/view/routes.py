"""The addresses of the pages. `request.app.state` has the runs as `library`, what was made for pages as `kept`, and a
`token` that every form holds.
"""

from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeVar

import orjson
import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from pipeline.analysis.run_source import Library, Source, Table
from pipeline.text.redact import escape_json
from pipeline.view import layout
from pipeline.view.item import sheet
from pipeline.view.overview import overview
from pipeline.view.query import (
    PAGE,
    ItemQuery,
    facets,
    known_values,
    neighbours,
    ordered,
    parsed,
    row,
    rows,
)

router = APIRouter()
T = TypeVar("T")
_MOST_KEPT = 24


def opened(request: Request, slug: str) -> Source:
    """Raises KeyError for an unknown run, UsageError or StoreError where it cannot be read."""
    library: Library = request.app.state.library
    return library.open(slug)


Opened = Annotated[Source, Depends(opened)]
"""The run that the address names."""


def kept(request: Request, name: tuple[Hashable, ...], make: Callable[[], T]) -> T:
    """What was made for a page and will be asked for again soon, made if it is not there. The name holds the version
    of what it is made from; the latest are kept."""
    made: dict[tuple[Hashable, ...], Any] = request.app.state.kept
    if name not in made:
        made[name] = make()
        for old in list(made)[:-_MOST_KEPT]:
            made.pop(old, None)
    found: T = made[name]
    return found


@router.get("/")
def start(request: Request) -> Response:
    """The runs, or the only one."""
    library: Library = request.app.state.library
    listed = library.listed()
    if len(listed) == 1 and not listed[0].problem:
        return RedirectResponse(f"/{listed[0].slug}/items", 303)
    return layout.shown("start.html.j2", listed=listed)


@router.get("/{slug}")
def run(slug: str) -> Response:
    return RedirectResponse(f"/{slug}/items", 303)


@router.get("/{slug}/items")
def items(request: Request, source: Opened) -> Response:
    """The table, by the filters, order and page of the address."""
    table = source.seeds()
    query, keys = _asked(request, source, table)
    last = max(1, -(-len(keys) // PAGE))
    query = query._replace(page=min(query.page, last))
    first = (query.page - 1) * PAGE
    return layout.of_run(
        request,
        "items.html.j2",
        source,
        "items",
        query=query,
        total=len(keys),
        first=first,
        last=last,
        rows=rows(table.frame, keys[first : first + PAGE].to_list()),
        facets=facets(table.frame, query),
        # What a filter has changed stands in the address bar too, and can be gone back from.
        headers={"hx-push-url": f"/{source.slug}/items{query.url(page=query.page)}"},
    )


@router.get("/{slug}/items/{key}")
def item(request: Request, source: Opened, key: str) -> Response:
    """One record, and what comes before and after it by the filters and order of the address."""
    table = source.seeds()
    query, keys = _asked(request, source, table)
    place, before, after = neighbours(keys, key)
    record, counted = source.read(key), row(table.frame, key)
    if record is None and counted is None:
        raise KeyError(key)
    return layout.of_run(
        request,
        "record.html.j2" if record else "row.html.j2",
        source,
        "items",
        it=sheet(record) if record else None,
        row=counted,
        views={} if record else source.rows(key),
        key=key,
        query=query,
        place=place,
        total=len(keys),
        before=before,
        after=after,
        up=query.url(page=max(1, -(-place // PAGE))),
        marks=[one for one in source.marks() if one.key == key],
    )


@router.get("/{slug}/items/{key}/json")
def raw(source: Opened, key: str) -> Response:
    """The record as JSON, with what was found out later."""
    record = source.read(key)
    if record is None:
        raise KeyError(key)
    tree = orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
    return Response(escape_json(tree.decode()), media_type="application/json")


@router.get("/{slug}/overview")
def figures(request: Request, source: Opened) -> Response:
    """The figures and plots of the run."""
    table = source.seeds()
    name = ("overview", source.slug, table.version, source.marks())
    made = kept(request, name, lambda: overview(table.frame, source))
    return layout.of_run(request, "overview.html.j2", source, "overview", it=made, config=source.config)


def _asked(request: Request, source: Source, table: Table) -> tuple[ItemQuery, pl.Series]:
    """What the address asks of a table, and the keys that its filters let through in order; these are kept for the
    next page, and for what is next to an item."""
    known = kept(request, ("values", source.slug, table.version), lambda: known_values(table.frame))
    query = parsed(request.query_params.multi_items(), known)
    name = ("order", source.slug, table.version, query.url())
    return query, kept(request, name, lambda: ordered(table.frame, query))
