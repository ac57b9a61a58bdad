"""The page of a run: one file without scripts, links or fonts from elsewhere, readable in a browser and on paper, and
of at most 1 MB whatever the run: an item that would take more than its share is shown with less of its traces.

Everything in it may come from corpus or model: no value becomes an address, and the page's own policy forbids whatever
might slip through.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup, escape

from pipeline.analysis import money
from pipeline.analysis.distractor_effect import DistractorFigures
from pipeline.analysis.figures import ACCEPTED, Outside, figures
from pipeline.analysis.published_signatures import PUBLISHED, SOURCE
from pipeline.analysis.seed_rows import TELLING, met
from pipeline.analysis.traces import Item, grown, item
from pipeline.config import RunConfig
from pipeline.corpus.unreadable_files import in_words
from pipeline.exports.data_set import DatasetManifest
from pipeline.exports.report import charts
from pipeline.exports.report.rendering import FOLDER, templates
from pipeline.exports.shards import TOKEN_LIMITS
from pipeline.gates.benchmarks.checked import coverage
from pipeline.loop import solve_rates as band
from pipeline.types import Record, Status

SHOWN = 10
"""Items shown of each kind."""
MOST_BYTES = 1_000_000
_LONGEST = 2_000
"""Letters of any text outside of the items, but for the settings."""


class Detail(NamedTuple):
    """How much of an item is shown."""

    text: int
    """Letters of any text."""
    passages: bool = False
    """All that any agent saw, in full."""
    snippets: bool = False
    """Of every result, and not only of the evidence."""
    author_steps: bool = False
    """How generator and refiner searched."""
    rollout_steps: bool = False
    """How the solver searched."""
    note: str = ""


_LESS = "Its traces are shortened here."
DETAILS = (
    Detail(2_000, passages=True, snippets=True, author_steps=True, rollout_steps=True),
    Detail(1_000, snippets=True, author_steps=True, rollout_steps=True),
    Detail(600, author_steps=True, rollout_steps=True, note=_LESS),
    Detail(300, rollout_steps=True, note=_LESS),
    Detail(300, note="Its traces are left out here."),
    Detail(100, note="Its traces are left out here, and long texts are cut."),
)
"""The first with which an item takes no more than its share of the page."""


def page(
    seeds: pl.LazyFrame,
    read: Callable[[str], Record],
    config: RunConfig,
    outside: Outside = Outside(),  # noqa: B008
    data_set: DatasetManifest | None = None,
) -> str:
    """The whole page. `read` gives the record of a key: of the items that are shown, and of no other."""
    made = figures(seeds, outside, config.gates.policy)
    accepted, others = (
        [item(_as_counted(read(row["key"]), row)) for row in rows]
        for rows in (seeds.filter(ACCEPTED).head(SHOWN).select(_SHOWN_AS).collect().to_dicts(), _of_each_reason(seeds))
    )
    values: dict[str, Any] = {
        "f": made,
        "run": made.lineage.run[:12] if made.lineage else config.digest()[:12],
        "data_set": data_set,
        "money": money.rows(made.paid, made.accepted),
        "money_heads": money.HEADS,
        "estimated_note": money.ESTIMATED,
        "rounds": charts.rounds(seeds),
        "examples": dict(_examples(made.distractors, read)),
        "diversity": charts.diversity(seeds),
        "config": config,
        "target": band.explained(config),
        "published": PUBLISHED,
        "published_source": SOURCE,
        "token_limits": TOKEN_LIMITS,
        "benchmarks": coverage(config.gates),
        "settings": escape(json.dumps({**config.public_settings(), "gates": config.gates.public_settings()}, indent=2)),
        "grown": next((tree for one in accepted if (tree := grown(one.record))), None),
        "unread": in_words(outside.unread),
    }
    template = _JINJA.get_template("report.html.j2")
    room = MOST_BYTES - len(template.render(values, accepted=[], rejected=[]).encode())
    if room < MOST_BYTES // 2:
        values |= {"grown": None, "examples": {}}
        room = MOST_BYTES - len(template.render(values, accepted=[], rejected=[]).encode())
    articles = _articles([*enumerate(accepted, 1), *enumerate(others, 1)], room)
    return template.render(values, accepted=articles[: len(accepted)], rejected=articles[len(accepted) :])


def _examples(
    distractors: Iterable[DistractorFigures], read: Callable[[str], Record]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each kind of distractor that was met, the rollout whose outcome tells most, with the one that it met."""
    for kind, key in ((one.kind, one.example) for one in distractors if one.kind and one.example):
        record = read(key)
        if tried := record.distractor_eval:
            pairs = zip(tried.with_distractors, met(record, kind), strict=True)
            found = [(encounter, rollout) for rollout, all_met in pairs for encounter in all_met]
            encounter, rollout = min(found, key=lambda pair: TELLING.index(pair[0].outcome))
            distractor = next(one for one in tried.used if one.id == encounter.distractor)
            yield kind, {"draft": record.draft, "distractor": distractor, "met": encounter, "rollout": rollout}


def _articles(items: list[tuple[int, Item]], room: int) -> list[Markup]:
    """Each item with as much detail as its share of so many bytes holds. The smallest come first to their shares, so
    that what they leave goes to the larger ones."""
    draw = _JINJA.get_template("item.html.j2").module.item  # type: ignore[attr-defined]
    made: dict[int, Markup] = {}
    whole = {place: draw(one, number, DETAILS[0]) for place, (number, one) in enumerate(items)}
    for place in sorted(whole, key=lambda place: len(whole[place])):
        number, one = items[place]
        share = room // (len(items) - len(made))
        for detail in DETAILS:
            made[place] = whole[place] if detail is DETAILS[0] else draw(one, number, detail)
            if (size := len(made[place].encode())) <= share:
                break
        room -= size
    return [made[place] for place in range(len(items))]


_SHOWN_AS = ("key", "status", "reason")


def _of_each_reason(seeds: pl.LazyFrame) -> list[dict[str, str]]:
    """Of those that were not accepted the first of every reason in turn, in the order of the reasons."""
    turn = pl.int_range(pl.len()).over("status", "reason").alias("turn")
    rest = seeds.filter(~ACCEPTED).select(*_SHOWN_AS, "draw", turn)
    chosen = rest.sort("turn", "status", "reason", maintain_order=True).head(SHOWN)
    return chosen.sort("reason", "draw", maintain_order=True).select(_SHOWN_AS).collect().to_dicts()


def _as_counted(record: Record, row: dict[str, str]) -> Record:
    """With the end that the table gives it: a gate may have dropped what the journal calls accepted."""
    return record.model_copy(update={"status": Status(row["status"]), "reason": row["reason"]})


_JINJA = templates(FOLDER, longest=_LONGEST)
