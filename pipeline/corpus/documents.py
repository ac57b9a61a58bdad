"""A row as a document: its fields found and its text cleaned, or what is wrong with it."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from pipeline.corpus import contents
from pipeline.corpus.document_links import stated
from pipeline.corpus.manifest import Fields
from pipeline.corpus.nested_fields import field, field_names
from pipeline.corpus.published import published
from pipeline.corpus.readers.base import Row
from pipeline.text import sentences
from pipeline.types import Document

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ID_LENGTH = 512
_CONTENTS = "contents"
_TEXTS = ("content", _CONTENTS)
"""Fields that hold the text where nobody named another and none is called `text`. MedRAG's `contents` are its title and
its `content`."""
_AFTER_TITLE = re.compile(r"\.?[^\S\n]*\n\s*|\.\s+")
_IDS = ("_id", "pid", "passage_id", "docid", "doc_id", "document_id")
"""Fields that hold the id where nobody named another and none is called `id`; of passages before their documents."""
_TITLES = str | int | float | Decimal | None


def document_of(row: Row, fields: Fields) -> Document | str:
    """Return the row as a document, or what is wrong with it. Text is kept as it is but for control characters, NFC and
    a title that begins it again."""
    if row.error:
        return row.error
    values, name = row.values, _text_field(row.values, fields)
    if (value := field(values, name, ...)) is ...:
        return f"no field '{name}' (it has: {few(field_names(values))}); name it with --text-field"
    text = _joined(value)
    if text is None:
        return f"field '{name}' is not text; name it with --text-field"
    key = own_id(values, fields)
    if not isinstance(key, str | int) or len(str(key)) > _ID_LENGTH:
        return f"field '{fields.id}' is not text of at most {_ID_LENGTH} characters or a whole number; try --id-field"
    if odd := [name for name in fields.title if not isinstance(field(values, name), _TITLES)]:
        return f"field '{odd[0]}' is not text; name the title with --title-field"
    title, text = _title(row, fields), _clean(text)
    if name == _CONTENTS:
        title, text = contents.split(text, title)
    text = _without_title(text.strip(), title)
    url = field(values, fields.url)
    document = Document(
        id=row.key if key == "" else " ".join(_clean(str(key)).split()),
        title=title or opening(text),
        text=text,
        url=url if isinstance(url, str) else "",
        links="\n".join(dict.fromkeys(stated(values, text))),
        **published(values, fields),
    )
    try:
        f"{document.id}{document.title}{document.url}{document.date}{document.source}{document.links}".encode()
    except UnicodeEncodeError:  # of a file whose name is none
        return "its id, title or address is not UTF-8"
    return document


def few(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:8])


def own_id(values: Mapping[str, Any], fields: Fields) -> Any:
    """The id that the row has, as it stands there; empty where it has none."""
    name = fields.id
    if name not in values and name == Fields().id:
        name = next((other for other in _IDS if other in values), name)
    key = field(values, name)
    return "" if _missing(key) else _whole(key)


def _text_field(values: Mapping[str, Any], fields: Fields) -> str:
    if fields.text == Fields().text and values.get(fields.text) is None:
        return next((name for name in _TEXTS if name in values), fields.text)
    return fields.text


def _joined(value: Any) -> str | None:
    """Return a text, the sentences of a list as one, or the paragraphs of a list of lists or objects; None for anything
    else."""
    if isinstance(value, str):
        return value
    if _missing(value):
        return ""
    if isinstance(value, dict) or (isinstance(value, list) and value and _all(dict, value)):
        return _joined(field({"": value}, f".{Fields().text}", 0))
    if not isinstance(value, list):
        return None
    if _all(str, value):
        return _sentences(value)
    nested = _all(list, value) and all(_all(str, part) for part in value)
    return "\n".join(map(_sentences, filter(None, value))) if nested else None


def _all(kind: type, values: list[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _sentences(parts: list[str]) -> str:
    """Parted by a blank where none stands: those of HotpotQA begin with theirs, those of others do not."""
    text = ""
    for part in parts:
        text += part if not text or text[-1].isspace() or part[:1].isspace() else f" {part}"
    return text


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - no number equals itself not


def _whole(key: Any) -> Any:
    """Whole numbers come as floats where their column has a gap; beyond 2^53 two of them may be one float."""
    exact = isinstance(key, Decimal) or (isinstance(key, float) and abs(key) < 2**53)
    return int(key) if exact and key % 1 == 0 else key


def _title(row: Row, fields: Fields) -> str:
    parts = [field(row.values, name) for name in fields.title]
    first, *rest = [" ".join(_clean(str(part)).split()) for part in parts if part != "" and not _missing(part)] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first


def _without_title(text: str, title: str) -> str:
    """Return the text without a title that begins it again, as a line or a sentence of its own."""
    if not (title and text.startswith(title) and (after := _AFTER_TITLE.match(text, len(title)))):
        return text
    # The point of "St. Petersburg" ends no sentence.
    return text[after.end() :] if sentences(text[: after.end() + 1])[0].end < after.end() else text


def opening(text: str) -> str:
    """The first words, for a document without a title."""
    return " ".join(text[:200].split()[:8])[:80]


def _clean(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() or unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
