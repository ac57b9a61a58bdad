"""The addresses at which people mark pairs: a random order of the accepted ones, the same for everyone."""

import hmac
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from pipeline.analysis.figures import ACCEPTED
from pipeline.analysis.human_marks import sample, summarise_marks
from pipeline.analysis.run_source import Source
from pipeline.errors import UsageError
from pipeline.store.review_marks import ASKED, Mark, clean_reviewer_name, login_name, now
from pipeline.text.redact import clean
from pipeline.view import layout
from pipeline.view.item import sheet
from pipeline.view.routes import Opened, get_cached

router = APIRouter()
_ANSWERS = {"yes": True, "no": False}
_MOST_NOTE = 2000


async def _form(request: Request) -> dict[str, str]:
    """Read the fields of a form. Raises UsageError if it does not come from one of our pages."""
    try:
        fields = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError("the form cannot be read") from error
    if not hmac.compare_digest(fields.get("token", "").encode(), request.app.state.token.encode()):
        raise UsageError("this page is from before the server was started; load it again")
    return fields


Form = Annotated[dict[str, str], Depends(_form)]


@router.get("/{slug}/review")
def begin(request: Request, source: Opened) -> Response:
    """Ask for the reviewer's name; with a name, go to the first pair that this person has not marked."""
    by, order = _reviewer_name(request), _review_order(request, source)
    if by and (key := _find_unmarked(source, by, order)):
        return RedirectResponse(_url(source.slug, by, key), 303)
    return _page(request, "reviewers.html.j2", source, order, by=by, myself=login_name())


@router.get("/{slug}/review/{key}")
def pair(request: Request, source: Opened, key: str) -> Response:
    """Show one pair and its evidence, without the machine's judgements."""
    by, order = _reviewer_name(request), _review_order(request, source)
    if not by:
        return RedirectResponse(f"/{source.slug}/review", 303)
    record, position = source.read(key), _find_position(order, key)
    if record is None or record.draft is None or position is None:
        raise KeyError(key)
    before, after = (order[index] if 0 <= index < len(order) else "" for index in (position - 1, position + 1))
    earlier_mark = next((mark for mark in source.marks() if (mark.key, mark.reviewer) == (key, by)), None)
    links = {
        rel: _url(source.slug, by, neighbour_key) if neighbour_key else ""
        for rel, neighbour_key in (("prev", before), ("next", after))
    }
    action = _url(source.slug, by, key)
    values = {"by": by, "key": key, "it": sheet(record), "place": position + 1, "said": earlier_mark}
    return _page(request, "review.html.j2", source, order, **values, links=links, action=action)


@router.post("/{slug}/review/{key}")
def mark(request: Request, source: Opened, key: str, form: Form) -> Response:
    """Keep a mark; `go` leads on to the next pair without one."""
    by, order = clean_reviewer_name(_reviewer_name(request)), _review_order(request, source)
    position = _find_position(order, key)
    if position is None:
        raise KeyError(key)
    answers = {name: _ANSWERS.get(form.get(name, "")) for name in ASKED}
    note = clean(form.get("note", "")).strip()[:_MOST_NOTE]
    source.mark(Mark(key=key, reviewer=by, note=note, at=now(), **answers))
    if "go" not in form:
        return RedirectResponse(_url(source.slug, by, key), 303)
    following = [*order[position + 1 :], *order[:position]]
    return RedirectResponse(_url(source.slug, by, _find_unmarked(source, by, following)), 303)


@router.post("/{slug}/card")
def card(request: Request, source: Opened, form: Form) -> Response:
    source.publish()
    return _page(
        request, "reviewers.html.j2", source, _review_order(request, source), by=_reviewer_name(request), written=True
    )


def _page(request: Request, template: str, source: Source, order: list[str], **values: Any) -> Response:
    shared = {
        "token": request.app.state.token,
        "asked": ASKED,
        "pairs": len(order),
        "mine": len(set(order) & _keys_marked_by(source, values["by"])),
        "found": summarise_marks(source.marks(), set(order)),
        "names": sorted({mark.reviewer for mark in source.marks()}),
        "written": False,
        "myself": values["by"],
    }
    return layout.render_run_page(request, template, source, "review", **shared | values)


def _reviewer_name(request: Request) -> str:
    name = request.query_params.get("by", "")
    return clean_reviewer_name(name) if name.strip() else ""


def _url(slug: str, by: str, key: str) -> str:
    return f"/{slug}/review{f'/{key}' if key else ''}?{urlencode({'by': by})}"


def _review_order(request: Request, source: Source) -> list[str]:
    """Return the keys of the accepted pairs in the order in which people mark them."""
    table = source.seeds()

    def draw_sample() -> list[str]:
        return sample(table.frame.filter(ACCEPTED & pl.col("question").is_not_null()).select("key").collect()["key"])

    return get_cached(request, ("review", source.slug, table.version), draw_sample) if source.reviewable else []


def _find_position(order: list[str], key: str) -> int | None:
    return order.index(key) if key in order else None


def _keys_marked_by(source: Source, by: str) -> set[str]:
    return {mark.key for mark in source.marks() if mark.reviewer == by and mark.answered}


def _find_unmarked(source: Source, by: str, order: list[str]) -> str:
    marked = _keys_marked_by(source, by)
    return next((key for key in order if key not in marked), "")
