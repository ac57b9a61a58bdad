"""The page of a run: one file without scripts, links or fonts from elsewhere, readable in a browser and on paper.

Everything in it may come from corpus or model: `autoescape` is on by name (it goes by the file's ending otherwise, and
ours ends in `.j2`), no value becomes an address, and the page's own policy forbids whatever might slip through.
"""

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline import prompts
from pipeline.config import RunConfig
from pipeline.dataset import money
from pipeline.dataset.figures import Outside, counted, percent, short
from pipeline.dataset.glossary import gloss
from pipeline.dataset.tally import Tally
from pipeline.redact import clean
from pipeline.types import Record, Status
from pipeline.view.opposed import DistractorTally, rate
from pipeline.view.rounds import Rounds
from pipeline.view.traces import Item, grown, item
from pipeline.view.variety import Variety, entropy

SHOWN = 10
"""Items shown of each kind."""


def page(records: Iterable[Record], config: RunConfig, outside: Outside = Outside()) -> str:  # noqa: B008 - frozen
    """The whole page. Reads the records once, holding those that are shown."""
    tally, rounds, opposition, variety, chosen = Tally(), Rounds(), DistractorTally(), Variety(), Choice()
    for record in records:
        for counter in (tally, rounds, opposition, variety, chosen):
            counter.add(record)
    accepted = chosen.accepted()
    return _JINJA.get_template("report.html.j2").render(
        f=(figures := tally.figures(outside)),
        money=money.rows(figures.paid, figures.accepted),
        money_heads=money.HEADS,
        rounds=rounds.stages,
        controls=rounds.controls(),
        opposed=opposition.kinds,
        variety=variety,
        config=config,
        settings=json.dumps({**config.shown(), "gates": config.gates.shown()}, indent=2),
        prompts={name: prompts.load(name).digest for name in prompts.names()},
        accepted=accepted,
        grown=next((it for one in accepted if (it := grown(one.record))), None),
        rejected=chosen.rejected(),
    )


class Choice:
    """Which items are shown: the first accepted ones, and of the others the first of every reason in turn."""

    def __init__(self) -> None:
        self.by_reason: dict[str, list[Record]] = {}

    def add(self, record: Record) -> None:
        reason = "" if record.status is Status.ACCEPTED else f"{record.status} {record.reason}"
        held = self.by_reason.setdefault(reason, [])
        if len(held) < SHOWN:
            held.append(record)

    def accepted(self) -> list[Item]:
        return [item(record) for record in self.by_reason.get("", [])]

    def rejected(self) -> list[Item]:
        reasons = [held for reason, held in sorted(self.by_reason.items()) if reason]
        turns = [held[turn] for turn in range(SHOWN) for held in reasons if turn < len(held)]
        return [item(record) for record in sorted(turns[:SHOWN], key=lambda record: (record.reason, record.seed.draw))]


def marked(text: str, phrases: Sequence[str]) -> Markup:
    """The text with every whole occurrence of a phrase in <mark>."""
    spellings = sorted({clean(phrase) for phrase in phrases if phrase.strip()}, key=len, reverse=True)
    text = clean(text)
    if not spellings:
        return escape(text)
    pattern = rf"(?<!\w)({'|'.join(map(re.escape, spellings))})(?!\w)"
    pieces = re.split(pattern, text, flags=re.IGNORECASE)
    return Markup().join(
        Markup("<mark>{}</mark>").format(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces)
    )


def changed(old: str, new: str) -> Markup:
    """The new text with the words that went in <del> and those that came in <ins>."""
    a, b = (re.findall(r"\S+\s*", clean(text)) for text in (old, new))
    out = Markup()
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        gone, come = "".join(a[a0:a1]), "".join(b[b0:b1])
        if kind == "equal":
            out += escape(come)
            continue
        out += Markup("<del>{}</del> ").format(gone.strip()) if gone else Markup()
        out += Markup("<ins>{}</ins> ").format(come.strip()) if come else Markup()
    return out.rstrip()


def plain(name: str) -> str:
    """A code, such as `below_target`, in words."""
    return name.replace("_", " ")


def explained(code: str) -> Markup:
    """A code in words, with what it means where the mouse rests on it."""
    meaning = gloss(code)
    return Markup('<abbr title="{}">{}</abbr>').format(meaning, plain(code)) if meaning else escape(plain(code))


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_JINJA = Jinja(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
_JINJA.filters |= {
    "marked": marked,
    "changed": changed,
    "plain": plain,
    "explained": explained,
    "gloss": gloss,
    "short": short,
    "percent": percent,
    "counted": counted,
    "entropy": entropy,
    "rate": rate,
}
