"""Templates of pages that show texts of corpus and models. All of it is escaped, so none of it can run.

`autoescape` is set explicitly, since by default it depends on the file's ending, which is `.j2` here. Control and bidi
code points are removed from everything that a template prints.
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
    """Load the templates in these folders, with shared filters. They shorten every text to `longest` characters."""
    jinja = Jinja(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=partial(_finalize, longest),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (about, cut, gloss, short, compact, percent, charts.entropy)
    jinja.filters |= {function.__name__: function for function in filters}
    jinja.filters |= {
        "marked": mark_phrases, "changed": mark_changes, "plain": code_to_words, "explained": explain_code
    }  # fmt: skip
    return jinja


def mark_phrases(text: str, phrases: Sequence[str], mark: Markup = MARK) -> Markup:
    """Put each whole occurrence of a phrase into `mark`.

    In scripts without blanks, and in Korean, where particles are attached to names, a phrase may be part of a word.
    """
    spellings = sorted({clean(phrase) for phrase in phrases if phrase.strip()}, key=len, reverse=True)
    text = clean(text)
    if not spellings:
        return escape(text)
    pattern = rf"(?<![^\W{SINGLE}])({'|'.join(map(re.escape, spellings))})(?![^\W{SINGLE}])"
    pieces = re.split(pattern, text, flags=re.IGNORECASE)
    return Markup().join(mark.format(piece) if index % 2 else escape(piece) for index, piece in enumerate(pieces))


def mark_changes(old: str, new: str) -> Markup:
    a, b = (re.findall(r"\S+\s*", clean(text)) for text in (old, new))
    html = Markup()
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        removed, added = "".join(a[a0:a1]), "".join(b[b0:b1])
        if kind == "equal":
            html += escape(added)
            continue
        html += Markup("<del>{}</del> ").format(removed.strip()) if removed else Markup()
        html += Markup("<ins>{}</ins> ").format(added.strip()) if added else Markup()
    return html.rstrip()


def code_to_words(code: str) -> str:
    return code.replace("_", " ")


def explain_code(code: str) -> Markup:
    meaning, words = gloss(code), code_to_words(code)
    return Markup('<abbr title="{}">{}</abbr>').format(meaning, words) if meaning else escape(words)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _finalize(longest: int | None, value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return clean(value if longest is None else cut(value, longest))
