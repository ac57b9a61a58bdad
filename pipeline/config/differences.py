"""In which settings two runs differ."""

from collections.abc import Iterator, Mapping
from typing import Any


def differences(one: Mapping[str, Any], other: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The values in which two trees of settings differ: their dotted name, and what each has there, None where it has
    nothing."""
    for key in sorted(one.keys() | other.keys()):
        a, b = one.get(key), other.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from differences(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key}", a, b
