"""The settings in which two runs differ."""

from collections.abc import Iterator, Mapping
from typing import Any


def differences(first: Mapping[str, Any], second: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted name of each setting that differs, and its two values, None if it is missing in a tree."""
    for key in sorted(first.keys() | second.keys()):
        a, b = first.get(key), second.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from differences(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key}", a, b
