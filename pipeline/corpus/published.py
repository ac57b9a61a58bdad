"""Read from a row when and by whom a document was published. This is shown with each of its passages."""

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
"""Fields that are shown only if the manifest names them, and what they may mean."""


def publication_of(values: Mapping[str, Any], fields: Fields) -> dict[str, str]:
    """Return the `date` and `source` of a document; empty if the row has none that can be shown."""
    return {
        "date": next(filter(None, (_format_date(field(values, name)) for name in fields.date)), ""),
        "source": next(filter(None, (_format_source(field(values, name)) for name in fields.source)), ""),
    }


def notes(values: Mapping[str, Any], fields: Fields) -> list[str]:
    """Describe the fields that are not shown, although they may say when and by whom a row was published."""
    return [
        f"rows have a '{name}' that is not shown with their passages, since it may be {meaning}: "
        f'fields = {{{name} = "{name}"}} in a corpus.toml shows it'
        for name, meaning in _UNCERTAIN.items()
        if values.get(name) and getattr(fields, name) == getattr(Fields(), name)
    ]


def _format_date(value: Any) -> str:
    """Return a date as the row writes it, or the day of a timestamp; empty if it does not look like a date."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, int | float):
        value = str(int(value)) if 1000 <= value < 3000 and value == int(value) else ""
    text = _to_line(value, _LONGEST_DATE)
    if len(parsed := dates(text)) == 1 and parsed[0].day:
        return f"{parsed[0].year}-{parsed[0].month:02}-{parsed[0].day:02}"
    return text if _DIGIT.search(text) and not _EPOCH.fullmatch(text) else ""


def _format_source(value: Any) -> str:
    """Return a name as the row writes it, or the host of an address; empty if it is too long to show."""
    text = _to_line(value.get("name") if isinstance(value, Mapping) else value, _LONGEST_SOURCE)
    if not _ADDRESS.match(text):
        return text
    try:
        return (urlsplit(text).hostname or "").removeprefix("www.")[:_LONGEST_SOURCE]
    except ValueError:
        return ""


def _to_line(value: Any, longest: int) -> str:
    text = " ".join(_CONTROL.sub(" ", value).split()) if isinstance(value, str) else ""
    return text if len(text) <= longest or _ADDRESS.match(text) else ""
