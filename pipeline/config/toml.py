"""Trees of settings from TOML: a file, or one `a.b=c` of the command line, laid over each other.

What comes out can be stored: a mistake in it is one line here, and no error of the JSON writer or the file system.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError, reason

_DEEPEST = 64
"""Levels of a tree of settings; the real one has four."""
_MOST_BYTES = 1 << 20
_DEEP_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")
"""A dotted key of more levels. The parser takes quadratic time to read it."""


def read(file: Path) -> dict[str, Any]:
    """What a TOML file holds. Raises UsageError, one line, where it cannot be read."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"cannot read {file}: settings may have {_MOST_BYTES >> 20} MiB")
        tree = parse(data.decode("utf-8-sig"))
        check(tree)
    except RecursionError as error:
        raise UsageError(f"cannot read {file}: it is nested too deeply") from error
    except OSError as error:
        raise UsageError(f"cannot read {file}: {reason(error)}") from error
    except ValueError as error:  # no UTF-8, no TOML, a number of thousands of digits, a NUL in the path
        raise UsageError(f"cannot read {file} as TOML: {error}") from error
    return tree


def parse(text: str) -> dict[str, Any]:
    """Parse TOML in linear time. Raises ValueError where it is none or nested too deeply, and RecursionError."""
    if _DEEP_KEY.search(text):
        raise ValueError("nested too deeply")
    return tomllib.loads(text)


def check(value: Any, key: str = "") -> None:
    """Raises UsageError, naming the key, for what cannot be stored: a long number, a NUL, no UTF-8."""
    if key.count(".") > _DEEPEST:
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


class Whole(dict[str, Any]):
    """A table that `--set` gives as one value: it takes the place of what was there."""


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, table by table."""
    tree = type(base)(base)
    for key, value in over.items():
        both = isinstance(value, dict) and not isinstance(value, Whole) and isinstance(tree.get(key), dict)
        tree[key] = merged(tree[key], value) if both else value
    return tree


def setting(text: str) -> dict[str, Any]:
    """`a.b=c` as a tree; the value is read as TOML and, where it is none, as a plain word."""
    name, equals, raw = text.partition("=")
    if not equals or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name.strip()):
        raise UsageError(f"--set takes name=value, such as loop.rounds=1, not '{text}'")
    try:
        value: Any = parse(f"value = {raw}")["value"]
    except RecursionError as error:
        raise UsageError(f"--set {name}: nested too deeply") from error
    except ValueError:  # tomllib's own error is one; so is that of a number of thousands of digits
        value = raw
    if name.count(".") > _DEEPEST:
        raise UsageError(f"--set {name[:60]}…: nested too deeply")
    return nested(name.strip(), Whole(value) if isinstance(value, dict) else value)


def nested(name: str, value: Any) -> dict[str, Any]:
    """The tree that holds the value under a dotted name."""
    head, _, rest = name.partition(".")
    return {head: nested(rest, value) if rest else value}
