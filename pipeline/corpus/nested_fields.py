"""Fields of rows by dotted paths, such as `document.text`, `_source.body` or `body_text.text`."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson

_DEEPEST = 3


def field(values: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return the value of a field, or the default if there is none.

    A path through a list of objects gives a list with a list for each object, which are the paragraphs of a text. A
    number in a path is the place of an item of a list, counted from 0.
    """
    return values.get(name, default) if name in values or "." not in name else next(_values_at(values, name), default)


def _values_at(values: Any, name: str) -> Iterator[Any]:
    """Yield the value at a path, if there is one. An object may be written as a text of JSON."""
    if isinstance(values, str) and values.startswith("{"):
        with suppress(orjson.JSONDecodeError):
            values = orjson.loads(values)
    if isinstance(values, Mapping):
        first, _, inner = name.partition(".")
        if name in values:
            yield values[name]
        elif inner and first in values:
            yield from _values_at(values[first], inner)
    elif isinstance(values, list):
        first, _, inner = name.partition(".")
        if first.isdecimal():
            items = values[int(first) :][:1]
            yield from _values_at(items[0], inner) if items and inner else items
            return
        objects = [item for item in values if isinstance(item, Mapping)]
        if inner_values := [value for item in objects for value in _values_at(item, name)]:
            yield [_flatten(value) for value in inner_values]


def _flatten(value: Any) -> list[Any]:
    return [part for item in value for part in _flatten(item)] if isinstance(value, list) else [value]


def field_names(values: Mapping[str, Any], depth: int = _DEEPEST) -> Iterator[str]:
    for name, value in values.items():
        inner = next((item for item in value if isinstance(item, dict)), None) if isinstance(value, list) else value
        if depth and isinstance(inner, dict) and inner:
            yield from (f"{name}.{path}" for path in field_names(inner, depth - 1))
        else:
            yield name
