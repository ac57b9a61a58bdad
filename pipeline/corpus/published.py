"""When and by whom a document was published, as its row says it: what each of its passages is shown with."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from pipeline.corpus.manifest import Fields
from pipeline.corpus.nested_fields import field
from pipeline.text import dates

_LONGEST_DATE, _LONGEST_SOURCE = 40, 80
_DIGIT, _EPOCH, _ADDRESS = re.compile(r"\d"), re.compile(r"[\d.]{9,}"), re.compile("https?://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNCERTAIN = {"date": "the time of a crawl", "source": "the name of a collection"}
"""Fields that are shown only where somebody names them, and what they may be."""


def published(values: Mapping[str, Any], fields: Fields) -> dict[str, str]:
    """Return `date` and `source` of a document; empty where the row has none that can be shown."""
    return {
        "date": next(filter(None, (_date(field(values, name)) for name in fields.date)), ""),
        "source": next(filter(None, (_source(field(values, name)) for name in fields.source)), ""),
    }


def notes(values: Mapping[str, Any], fields: Fields) -> list[str]:
    """Name the fields of a row that are not shown though they may say when and by whom it was published."""
    return [
        f"rows have a '{name}' that is not shown with their passages, since it may be {what}: "
        f'fields = {{{name} = "{name}"}} in a corpus.toml shows it'
        for name, what in _UNCERTAIN.items()
        if values.get(name) and getattr(fields, name) == getattr(Fields(), name)
    ]


def _date(value: Any) -> str:
    """A date as the row has it, of a timestamp the day; nothing where no reader would know it as a date."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, int | float):
        value = str(int(value)) if 1000 <= value < 3000 and value == int(value) else ""
    text = _line(value, _LONGEST_DATE)
    if len(found := dates(text)) == 1 and found[0].day:
        return f"{found[0].year}-{found[0].month:02}-{found[0].day:02}"
    return text if _DIGIT.search(text) and not _EPOCH.fullmatch(text) else ""


def _source(value: Any) -> str:
    """A name as the row has it, of an address the host; nothing where it is too long to be shown with each passage."""
    text = _line(value.get("name") if isinstance(value, Mapping) else value, _LONGEST_SOURCE)
    if not _ADDRESS.match(text):
        return text
    try:
        return (urlsplit(text).hostname or "").removeprefix("www.")[:_LONGEST_SOURCE]
    except ValueError:
        return ""


def _line(value: Any, longest: int) -> str:
    text = " ".join(_CONTROL.sub(" ", value).split()) if isinstance(value, str) else ""
    return text if len(text) <= longest or _ADDRESS.match(text) else ""
