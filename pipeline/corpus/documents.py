"""A row as a document: its fields found and its text cleaned, or what is wrong with it."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from pipeline.corpus.manifest import Fields
from pipeline.corpus.published import published
from pipeline.corpus.readers.base import Row
from pipeline.types import Document

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ID_LENGTH = 512


def document_of(row: Row, fields: Fields) -> Document | str:
    """The row as a document, or what is wrong with it. Text is kept as it is but for control characters and NFC."""
    if row.error:
        return row.error
    values = row.values
    text = values.get(fields.text)
    if fields.text not in values:
        return f"no field '{fields.text}' (it has: {few(values)}); name it with --text-field"
    if not isinstance(text, str | None):
        return f"field '{fields.text}' is not text; name it with --text-field"
    key = _whole(values.get(fields.id))
    if not isinstance(key, str | int | None) or len(str(key)) > _ID_LENGTH:
        return f"field '{fields.id}' is not text of at most {_ID_LENGTH} characters or a whole number; try --id-field"
    if odd := [name for name in fields.title if not isinstance(values.get(name), str | int | float | None)]:
        return f"field '{odd[0]}' is not text; name the title with --title-field"
    text = _clean(text or "").strip()
    url = values.get(fields.url)
    document = Document(
        id=" ".join(_clean(str(key)).split()) if key not in (None, "") else row.key,
        title=_title(row, fields) or _opening(text),
        text=text,
        url=url if isinstance(url, str) else "",
        **published(values, fields),
    )
    try:
        f"{document.id}{document.title}{document.url}{document.date}{document.source}".encode()
    except UnicodeEncodeError:  # of a file whose name is none
        return "its id, title or address is not UTF-8"
    return document


def few(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:8])


def _whole(key: Any) -> Any:
    """Whole numbers come as floats where their column has a gap; beyond 2^53 two of them may be one float."""
    return int(key) if isinstance(key, float) and key.is_integer() and abs(key) < 2**53 else key


def _title(row: Row, fields: Fields) -> str:
    parts = [row.values.get(name) for name in fields.title]
    first, *rest = [" ".join(_clean(str(part)).split()) for part in parts if part not in (None, "")] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first


def _opening(text: str) -> str:
    """The first words, for a document without a title."""
    return " ".join(text[:200].split()[:8])[:80]


def _clean(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() or unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
