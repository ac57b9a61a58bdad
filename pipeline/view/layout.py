"""The parts that every page shares: address, templates, navigation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from pipeline.analysis import money
from pipeline.analysis.run_source import Source
from pipeline.exports.report.rendering import FOLDER as REPORT_FOLDER
from pipeline.exports.report.rendering import templates
from pipeline.types import Share, by_demo, shown_id
from pipeline.view.browsing import Runs
from pipeline.view.filters import CHOICES, SPANS
from pipeline.view.item import why
from pipeline.view.query import format_number

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
PAGES = (("items", "Items"), ("overview", "Overview"), ("review", "Review"))
"""The pages of one run in the order of the navigation: the last part of the address, and the name."""
_JINJA = templates(_HERE / "templates", REPORT_FOLDER)


def lasting(seconds: float) -> str:
    """Format a time in its largest two units: 48 s, 3 min 20 s, 5 h 2 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    return f"{minutes // 60:,} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {remaining_seconds} s"


def under(links: Mapping[Any, Mapping[str, str]], items: str) -> dict[Any, dict[str, str]]:
    """Turn the addresses of filters into addresses of the table of items."""
    return {plot: {name: items + url for name, url in urls.items()} for plot, urls in links.items()}


_JINJA.globals |= {"money_heads": money.HEADS, "pages": PAGES, "choices": CHOICES, "spans": SPANS}
_JINJA.filters |= {
    "lasting": lasting,
    "share": lambda part, whole: Share(part=part, whole=whole),
    "under": under,
    "why": why,
    "written": format_number,
    "anchor": lambda id_: f"made-{shown_id(id_)}",
    "titled": lambda id_, distractors: distractors[shown_id(id_)].title,
}


def render_page(
    template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    return HTMLResponse(_JINJA.get_template(template).render(**values), status, headers)


def render_run_page(request: Request, template: str, source: Source, page: str, **values: Any) -> Response:
    library: Runs = request.app.state.library
    table, config = source.seeds(), source.config
    return render_page(
        template,
        source=source,
        page=page,
        pending=table.pending,
        demo=bool(config and by_demo(config.models.names())),
        others=[listing for listing in library.list_runs() if not listing.problem],
        **values,
    )
