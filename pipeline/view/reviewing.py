"""The addresses at which people mark pairs.

The accepted ones come in a random order, the same for everyone, or the disputed ones first of all and alone.
"""

import hmac
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from pipeline.analysis.figures import ACCEPTED
from pipeline.analysis.human_marks import sample, summarise_marks
from pipeline.analysis.other_answers import OtherAnswer, find_other_answers
from pipeline.analysis.run_source import Source
from pipeline.errors import UsageError
from pipeline.store.review_marks import ASKED, Mark, clean_reviewer_name, login_name, now
from pipeline.text.redact import clean
from pipeline.view import layout
from pipeline.view.item import highlight_quote, sheet
from pipeline.view.routes import Opened, get_cached

router = APIRouter()
_ANSWERS = {"yes": True, "no": False}
_MOST_NOTE = 2000
_MOST_READ = 500
"""The number of pairs, from the first of the random order on, among which disputed ones are looked for."""


class Queue(NamedTuple):
    """The pairs that one person goes through, in their order."""

    source: Source
    by: str
    """The reviewer's name; empty if it is not known yet."""
    is_disputed: bool
    keys: list[str]

    def url(self, key: str = "") -> str:
        order = {"order": "disputed"} if self.is_disputed else {}
        return f"/{self.source.slug}/review{f'/{key}' if key else ''}?{urlencode({'by': self.by, **order})}"

    @property
    def marked(self) -> set[str]:
        """Return the keys of the pairs that need no mark by this person any more.

        The random sample would lack its disputed pairs if marks of those counted there too.
        """
        return {
            mark.key
            for mark in self.source.marks()
            if mark.reviewer == self.by and mark.answered and (mark.sampled or self.is_disputed)
        }

    def position(self, key: str) -> int:
        """Return the place of a pair, counted from 0. Raises KeyError if it is not among the pairs."""
        if key not in self.keys:
            raise KeyError(key)
        return self.keys.index(key)

    def first_unmarked(self, after: int = -1) -> str:
        """Return the key of the next pair without a mark, from the beginning again at the end; empty if none is."""
        marked = self.marked
        return next((key for key in self.keys[after + 1 :] + self.keys[: max(after, 0)] if key not in marked), "")

    def mark(self, key: str) -> Mark | None:
        return next((mark for mark in self.source.marks() if (mark.key, mark.reviewer) == (key, self.by)), None)


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


def _queue(request: Request, source: Opened) -> Queue:
    name = request.query_params.get("by", "")
    by = clean_reviewer_name(name) if name.strip() else ""
    is_disputed = request.query_params.get("order") == "disputed"
    order = _disputed_keys if is_disputed else _sampled_keys
    return Queue(source, by, is_disputed, order(request, source) if source.reviewable else [])


Reviewed = Annotated[Queue, Depends(_queue)]


@router.get("/{slug}/review")
def begin(request: Request, queue: Reviewed) -> Response:
    """Ask for the reviewer's name; with a name, go to the first pair that this person has not marked."""
    if queue.by and (key := queue.first_unmarked()):
        return RedirectResponse(queue.url(key), 303)
    return _page(request, "reviewers.html.j2", queue, myself=login_name())


@router.get("/{slug}/review/{key}")
def pair(request: Request, queue: Reviewed, key: str) -> Response:
    """Show one pair and its evidence. Only a disputed pair has the answers of others beside it."""
    if not queue.by:
        return RedirectResponse(f"/{queue.source.slug}/review", 303)
    position, record = queue.position(key), queue.source.read(key)
    if record is None or record.draft is None:
        raise KeyError(key)
    rivals = find_other_answers(record) if queue.is_disputed else []
    before, after = (queue.keys[n] if 0 <= n < len(queue.keys) else "" for n in (position - 1, position + 1))
    values = {
        "key": key,
        "it": sheet(record),
        "rivals": [(rival, highlight_quote(rival.quote, rival.quote, [rival.answer])) for rival in rivals],
        "place": position + 1,
        "said": queue.mark(key),
        "links": {rel: queue.url(near) if near else "" for rel, near in (("prev", before), ("next", after))},
        "action": queue.url(key),
    }
    return _page(request, "review.html.j2", queue, **values)


@router.post("/{slug}/review/{key}")
def mark(request: Request, queue: Reviewed, key: str, form: Form) -> Response:
    """Keep a mark; `go` leads on to the next pair without one."""
    clean_reviewer_name(queue.by)
    position, earlier = queue.position(key), queue.mark(key)
    answers = {name: _ANSWERS.get(form.get(name, "")) for name in ASKED}
    note = clean(form.get("note", "")).strip()[:_MOST_NOTE]
    is_sampled = not queue.is_disputed or bool(earlier and earlier.answered and earlier.sampled)
    queue.source.mark(Mark(key=key, reviewer=queue.by, note=note, sampled=is_sampled, at=now(), **answers))
    return RedirectResponse(queue.url(queue.first_unmarked(position) if "go" in form else key), 303)


@router.post("/{slug}/card")
def card(request: Request, queue: Reviewed, form: Form) -> Response:
    queue.source.publish()
    return _page(request, "reviewers.html.j2", queue, written=True)


def _page(request: Request, template: str, queue: Queue, **values: Any) -> Response:
    source = queue.source
    shared = {
        "by": queue.by,
        "disputed": queue.is_disputed,
        "token": request.app.state.token,
        "asked": ASKED,
        "pairs": len(queue.keys),
        "mine": len(set(queue.keys) & queue.marked),
        "found": summarise_marks(source.marks(), set(_sampled_keys(request, source)) if source.reviewable else ()),
        "names": sorted({mark.reviewer for mark in source.marks()}),
        "written": False,
        "myself": queue.by,
    }
    return layout.render_run_page(request, template, source, "review", **shared | values)


def _sampled_keys(request: Request, source: Source) -> list[str]:
    """Return the keys of the accepted pairs in the random order."""
    table = source.seeds()

    def draw_sample() -> list[str]:
        return sample(table.frame.filter(ACCEPTED & pl.col("question").is_not_null()).select("key").collect()["key"])

    return get_cached(request, ("review", source.slug, table.version), draw_sample)


def _disputed_keys(request: Request, source: Source) -> list[str]:
    """Return the keys of the pairs to which others gave another answer, those on which most of them agree first."""
    keys = _sampled_keys(request, source)[:_MOST_READ]

    def rank() -> list[str]:
        weights = {key: rivals[0].weight for key in keys if (rivals := _other_answers(source, key))}
        return sorted(weights, key=lambda key: weights[key], reverse=True)

    return get_cached(request, ("disputed", source.slug, source.seeds().version), rank)


def _other_answers(source: Source, key: str) -> list[OtherAnswer]:
    record = source.read(key)
    return find_other_answers(record) if record else []
