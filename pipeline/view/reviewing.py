"""The addresses under which people mark pairs: a random order of the accepted ones, the same for everybody."""

import hmac
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from pipeline.analysis.figures import ACCEPTED
from pipeline.analysis.human_marks import reviewed, sample
from pipeline.analysis.run_source import Source
from pipeline.errors import UsageError
from pipeline.store.review_marks import ASKED, Mark, clean_reviewer_name, login_name, now
from pipeline.text.redact import clean
from pipeline.view import layout
from pipeline.view.item import sheet
from pipeline.view.routes import Opened, kept

router = APIRouter()
_SAID = {"yes": True, "no": False}
_MOST_NOTE = 2000


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. Raises UsageError where it is not one of our pages'."""
    try:
        found = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=20))
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError("the form cannot be read") from error
    if not hmac.compare_digest(found.get("token", "").encode(), request.app.state.token.encode()):
        raise UsageError("this page is from before the server was started; load it again")
    return found


Form = Annotated[dict[str, str], Depends(_form)]


@router.get("/{slug}/review")
def begin(request: Request, source: Opened) -> Response:
    """Who marks; with a name, on to the first pair that this person has not marked."""
    by, order = _by(request), _order(request, source)
    if by and (key := _unmarked(source, by, order)):
        return RedirectResponse(_url(source.slug, by, key), 303)
    return _page(request, "reviewers.html.j2", source, order, by=by, myself=login_name())


@router.get("/{slug}/review/{key}")
def pair(request: Request, source: Opened, key: str) -> Response:
    """One pair and its evidence, without what the machine made of it."""
    by, order = _by(request), _order(request, source)
    if not by:
        return RedirectResponse(f"/{source.slug}/review", 303)
    record, place = source.read(key), _place(order, key)
    if record is None or record.draft is None or place is None:
        raise KeyError(key)
    before, after = (order[at] if 0 <= at < len(order) else "" for at in (place - 1, place + 1))
    said = next((mark for mark in source.marks() if (mark.key, mark.reviewer) == (key, by)), None)
    links = {rel: _url(source.slug, by, one) if one else "" for rel, one in (("prev", before), ("next", after))}
    action = _url(source.slug, by, key)
    shown = {"by": by, "key": key, "it": sheet(record), "place": place + 1, "said": said}
    return _page(request, "review.html.j2", source, order, **shown, links=links, action=action)


@router.post("/{slug}/review/{key}")
def mark(request: Request, source: Opened, key: str, form: Form) -> Response:
    """Keep a mark; `go` leads on to the next pair without one."""
    by, order = clean_reviewer_name(_by(request)), _order(request, source)
    place = _place(order, key)
    if place is None:
        raise KeyError(key)
    answers = {name: _SAID.get(form.get(name, "")) for name in ASKED}
    note = clean(form.get("note", "")).strip()[:_MOST_NOTE]
    source.mark(Mark(key=key, reviewer=by, note=note, at=now(), **answers))
    if "go" not in form:
        return RedirectResponse(_url(source.slug, by, key), 303)
    rest = [*order[place + 1 :], *order[:place]]
    return RedirectResponse(_url(source.slug, by, _unmarked(source, by, rest)), 303)


@router.post("/{slug}/card")
def card(request: Request, source: Opened, form: Form) -> Response:
    """Write card and report anew."""
    source.publish()
    return _page(request, "reviewers.html.j2", source, _order(request, source), by=_by(request), written=True)


def _page(request: Request, template: str, source: Source, order: list[str], **values: Any) -> Response:
    shared = {
        "token": request.app.state.token,
        "asked": ASKED,
        "pairs": len(order),
        "mine": len(set(order) & _marked(source, values["by"])),
        "found": reviewed(source.marks(), set(order)),
        "names": sorted({one.reviewer for one in source.marks()}),
        "written": False,
        "myself": values["by"],
    }
    return layout.of_run(request, template, source, "review", **shared | values)


def _by(request: Request) -> str:
    """The person's name, which the address holds."""
    given = request.query_params.get("by", "")
    return clean_reviewer_name(given) if given.strip() else ""


def _url(slug: str, by: str, key: str) -> str:
    return f"/{slug}/review{f'/{key}' if key else ''}?{urlencode({'by': by})}"


def _order(request: Request, source: Source) -> list[str]:
    """The keys of the accepted pairs, in the order in which they are to be marked."""
    table = source.seeds()

    def drawn() -> list[str]:
        return sample(table.frame.filter(ACCEPTED & pl.col("question").is_not_null()).select("key").collect()["key"])

    return kept(request, ("review", source.slug, table.version), drawn) if source.reviewable else []


def _place(order: list[str], key: str) -> int | None:
    return order.index(key) if key in order else None


def _marked(source: Source, by: str) -> set[str]:
    """The keys of the pairs of which this person has said anything."""
    return {one.key for one in source.marks() if one.reviewer == by and one.answered}


def _unmarked(source: Source, by: str, order: list[str]) -> str:
    """The first of them that this person has not marked; empty where there is none."""
    done = _marked(source, by)
    return next((key for key in order if key not in done), "")
