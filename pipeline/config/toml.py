"""Trees of settings from TOML files and from `a.b=c` on the command line, and how to merge them.

Values that JSON or the file system cannot store are refused here, with one line that names the key.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError, reason

_MAX_DEPTH = 64
"""Levels of a tree of settings. The real one has four."""
_MAX_BYTES = 1 << 20
_DEEP_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MAX_DEPTH}}}""")
"""A dotted key with more levels, which the parser would take quadratic time to read."""


def read(file: Path) -> dict[str, Any]:
    """Read a TOML file. Raise UsageError if that fails."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UsageError(f"cannot read {file}: a file of settings may have at most {_MAX_BYTES >> 20} MiB")
        tree = parse(data.decode("utf-8-sig"))
        check(tree)
    except RecursionError as error:
        raise UsageError(f"cannot read {file}: it is nested too deeply") from error
    except OSError as error:
        raise UsageError(f"cannot read {file}: {reason(error)}") from error
    except ValueError as error:  # not UTF-8, not TOML, a number with thousands of digits, a NUL in the path
        raise UsageError(f"cannot read {file} as TOML: {error}") from error
    return tree


def parse(text: str) -> dict[str, Any]:
    """Parse TOML in linear time. Raise ValueError if it is invalid or nested too deeply, or RecursionError."""
    if _DEEP_KEY.search(text):
        raise ValueError("nested too deeply")
    return tomllib.loads(text)


def check(value: Any, key: str = "") -> None:
    """Raise UsageError for a value that cannot be stored: a long number, a NUL, invalid UTF-8."""
    if key.count(".") > _MAX_DEPTH:
        raise UsageError(f"{key[:60]}…: nested too deeply")
    if isinstance(value, dict):
        for name, part in value.items():
            check(part, f"{key}.{name}" if key else name)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            check(part, f"{key}.{index}")
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise UsageError(f"{key}: must fit into 64 bits")
    elif isinstance(value, str | Path) and re.search(r"[\0\ud800-\udfff]", str(value)):
        raise UsageError(f"{key}: must not contain NUL or invalid UTF-8")


class WholeTable(dict[str, Any]):
    """A table that `--set` gives as one value. It replaces the earlier table instead of being merged with it."""


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`, merged table by table."""
    tree = type(base)(base)
    for key, value in over.items():
        can_merge = isinstance(value, dict) and not isinstance(value, WholeTable) and isinstance(tree.get(key), dict)
        tree[key] = merge(tree[key], value) if can_merge else value
    return tree


def parse_setting(text: str) -> dict[str, Any]:
    """Parse `a.b=c` into a tree. The value is TOML or, if it is not valid TOML, a plain string."""
    name, equals, raw = text.partition("=")
    if not equals or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name.strip()):
        raise UsageError(f"--set takes name=value, such as loop.rounds=1, not '{text}'")
    try:
        value: Any = parse(f"value = {raw}")["value"]
    except RecursionError as error:
        raise UsageError(f"--set {name}: nested too deeply") from error
    except ValueError:  # raised by tomllib, and for a number with thousands of digits
        value = raw
    if name.count(".") > _MAX_DEPTH:
        raise UsageError(f"--set {name[:60]}…: nested too deeply")
    return nest(name.strip(), WholeTable(value) if isinstance(value, dict) else value)


def nest(name: str, value: Any) -> dict[str, Any]:
    first, _, remainder = name.partition(".")
    return {first: nest(remainder, value) if remainder else value}


def differences(first: Mapping[str, Any], second: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted name of each setting that differs, and its two values, None if it is missing in a tree."""
    for key in sorted(first.keys() | second.keys()):
        a, b = first.get(key), second.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from differences(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key}", a, b
