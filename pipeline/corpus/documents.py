"""Convert a row to a document with clean text, or say what is wrong with it."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from pipeline.corpus import contents
from pipeline.corpus.document_links import extract_links
from pipeline.corpus.html_entities import decode_entities
from pipeline.corpus.manifest import Fields
from pipeline.corpus.nested_fields import field, field_names
from pipeline.corpus.published import publication_of
from pipeline.corpus.readers.base import Row, size
from pipeline.text import sentences
from pipeline.types import Document

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ID_LENGTH = 512
_CONTENTS = "contents"
_TEXTS = ("content", _CONTENTS)
"""Default fields of the text if there is no `text`. MedRAG's `contents` are its title and its `content`."""
_AFTER_TITLE = re.compile(r"\.?[^\S\n]*\n\s*|\.\s+")
_IDS = ("_id", "pid", "passage_id", "docid", "doc_id", "document_id")
"""Default fields of the id if there is no `id`. Ids of passages come before ids of documents."""
_REMOVED = ("[removed]", "[deleted]")
"""What Reddit writes in place of a text that is gone."""
_TITLES = str | int | float | Decimal | None


def document_of(row: Row, fields: Fields, *, has_entities: bool = False) -> Document | str:
    """Return the row as a document, or what is wrong with it.

    Text is kept unchanged, except that control characters and a repeated title are removed and it is normalised to NFC.
    If the source may have entities of HTML (`has_entities`), those of title and text are decoded.
    """
    if row.error:
        return row.error
    values, name = row.values, _text_field(row.values, fields)
    if (value := field(values, name, ...)) is ...:
        names = sorted(field_names(values), key=lambda path: -size(field(values, path)))
        return f"no field '{name}' (it has: {few(names)}); name it with --text-field"
    text = _join_text(value)
    if text is None:
        return f"field '{name}' is not text; name it with --text-field"
    key = own_id(values, fields)
    if not isinstance(key, str | int) or len(str(key)) > _ID_LENGTH:
        name = _id_field(values, fields)
        paths = ", ".join(field_names({name: field(values, name)}))
        inner = f" (it holds: {paths})" if paths != name else ""
        return f"field '{name}' is not text of at most {_ID_LENGTH} characters or a whole number{inner}; try --id-field"
    if bad_fields := [name for name in fields.title if not isinstance(_title_part(values, name), _TITLES)]:
        return f"field '{bad_fields[0]}' is not text; name the title with --title-field"
    decode = decode_entities if has_entities else str
    title, text = _build_title(row, fields, decode), _clean(decode(text))
    if name == _CONTENTS:
        title, text = contents.split(text, title)
    text = _remove_title(text.strip(), title)
    if text in _REMOVED:
        text = ""
    url = field(values, fields.url)
    document = Document(
        id=row.key if key == "" else " ".join(_clean(str(key)).split()),
        title=title or opening(text),
        text=text,
        url=url if isinstance(url, str) else "",
        links="\n".join(dict.fromkeys(extract_links(values, text))),
        **publication_of(values, fields),
    )
    try:
        f"{document.id}{document.title}{document.url}{document.date}{document.source}{document.links}".encode()
    except UnicodeEncodeError:  # its id is a file name that is not UTF-8
        return "its id, title or address is not UTF-8"
    return document


def has_text(values: Mapping[str, Any], fields: Fields) -> bool:
    return field(values, _text_field(values, fields), ...) is not ...


def few(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:8])


def own_id(values: Mapping[str, Any], fields: Fields) -> Any:
    """Return the row's id unchanged, or an empty string if it has none."""
    key = field(values, _id_field(values, fields))
    return "" if _is_missing(key) else _to_int(key)


def _id_field(values: Mapping[str, Any], fields: Fields) -> str:
    if fields.id not in values and fields.id == Fields().id:
        return next((candidate for candidate in _IDS if candidate in values), fields.id)
    return fields.id


def _text_field(values: Mapping[str, Any], fields: Fields) -> str:
    if fields.text == Fields().text and values.get(fields.text) is None:
        return next((name for name in _TEXTS if name in values), fields.text)
    return fields.text


def _join_text(value: Any) -> str | None:
    """Join a field to a text: the sentences of a list, or the paragraphs of a list of lists or objects.

    Returns None for anything else.
    """
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return ""
    if isinstance(value, dict) or (isinstance(value, list) and value and _all_are(dict, value)):
        return _join_text(field({"": value}, f".{Fields().text}", 0))
    if not isinstance(value, list):
        return None
    if _all_are(str, value):
        return _join_sentences(value)
    nested = _all_are(list, value) and all(_all_are(str, part) for part in value)
    return "\n".join(map(_join_sentences, filter(None, value))) if nested else None


def _all_are(kind: type, values: list[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _join_sentences(parts: list[str]) -> str:
    """Join sentences with a blank if there is none: those of HotpotQA begin with one, others do not."""
    text = ""
    for part in parts:
        text += part if not text or text[-1].isspace() or part[:1].isspace() else f" {part}"
    return text


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - no number equals itself not


def _to_int(key: Any) -> Any:
    """Convert a whole float to int: a column with gaps stores ints as floats, exactly up to 2^53."""
    exact = isinstance(key, Decimal) or (isinstance(key, float) and abs(key) < 2**53)
    return int(key) if exact and key % 1 == 0 else key


def _build_title(row: Row, fields: Fields, decode: Callable[[str], str]) -> str:
    parts = [_title_part(row.values, name) for name in fields.title]
    first, *subtitles = [
        " ".join(_clean(decode(str(part))).split()) for part in parts if part != "" and not _is_missing(part)
    ] or [""]
    return f"{first} ({', '.join(subtitles)})" if subtitles else first


def _title_part(values: Mapping[str, Any], name: str) -> Any:
    """Return a field of the title, or its only item: Solr gives a list for each text that it knows nothing about."""
    value = field(values, name)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _remove_title(text: str, title: str) -> str:
    """Remove a title that the text repeats at its start as a line or a sentence."""
    if not (title and text.startswith(title) and (after := _AFTER_TITLE.match(text, len(title)))):
        return text
    # The full stop of "St. Petersburg" does not end a sentence.
    return text[after.end() :] if sentences(text[: after.end() + 1])[0].end < after.end() else text


def opening(text: str) -> str:
    """Return the first words of a text, the title of a document without one."""
    return " ".join(text[:200].split()[:8])[:80]


def _clean(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() or unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
