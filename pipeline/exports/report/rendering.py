"""Templates of pages that show what corpus and models wrote: all of it is text, and none of it acts.

`autoescape` is on by name: it goes by the file's ending otherwise, and ours ends in `.j2`. Whatever a template prints
loses control and bidi code points on its way.
"""

import difflib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.analysis.estimates import compact, percent, short
from pipeline.analysis.money import about
from pipeline.exports.card.glossary import gloss
from pipeline.exports.report import charts
from pipeline.text import SINGLE
from pipeline.text.redact import clean

FOLDER = Path(__file__).parent
"""Holds the templates that report and browser share."""
MARK, BOLD = Markup("<mark>{}</mark>"), Markup("<b>{}</b>")


def templates(*folders: Path, longest: int | None = None) -> Jinja:
    """The templates in these folders, with the filters that they share. Of a longer text they print the beginning."""
    jinja = Jinja(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=partial(_finalize, longest),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (about, marked, changed, cut, plain, explained, gloss, short, compact, percent, charts.entropy)
    jinja.filters |= {function.__name__: function for function in filters}
    return jinja


def marked(text: str, phrases: Sequence[str], mark: Markup = MARK) -> Markup:
    """The text with every whole occurrence of a phrase in <mark>, or in another mark. In scripts without blanks, and in
    Korean, which writes particles on to a name, nothing shows where a word ends."""
    spellings = sorted({clean(phrase) for phrase in phrases if phrase.strip()}, key=len, reverse=True)
    text = clean(text)
    if not spellings:
        return escape(text)
    pattern = rf"(?<![^\W{SINGLE}])({'|'.join(map(re.escape, spellings))})(?![^\W{SINGLE}])"
    pieces = re.split(pattern, text, flags=re.IGNORECASE)
    return Markup().join(mark.format(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces))


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


def cut(text: str, most: int) -> str:
    """The text, or its beginning where it has more than so many letters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _finalize(longest: int | None, value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return clean(value if longest is None else cut(value, longest))
