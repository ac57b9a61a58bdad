"""Front matter of pages and cards of data sets: YAML or TOML from untrusted authors, read as text and within bounds.

Tags and aliases of YAML are not resolved: they can take hours or raise unexpected errors.
"""

import re
from typing import Any

from pipeline.config import toml

_YAML = re.compile(r"\A---[ \t]*\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.{0,65536}?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DEEPEST = 64
_NULLS = ("", "~", "null", "Null", "NULL")


def split_front_matter(source: str) -> tuple[str, str]:
    """Return the title in the front matter of a page, if there is one, and the page without its front matter."""
    for pattern, parse in ((_YAML, yaml), (_TOML, toml.parse)):
        if front := pattern.match(source):
            try:
                values: Any = parse(front[1])
            except (ValueError, RecursionError):
                values = None
            title = values.get("title") if isinstance(values, dict) else None
            return (str(title).strip() if isinstance(title, str | int | float) else ""), source[front.end() :]
    return "", source


def yaml(source: str, *, strict: bool = False) -> Any:
    """Parse YAML to mappings, lists and texts. An alias becomes an empty text.

    Args:
        source: the YAML.
        strict: whether to refuse aliases, merges and tags.

    Raises:
        ValueError: if it is not YAML, or nested too deep.
    """
    import yaml as library  # noqa: TID251 - no settings

    stack: list[list[Any]] = [[]]
    try:
        for event in library.parse(source, Loader=library.BaseLoader):
            if strict and (isinstance(event, library.AliasEvent) or getattr(event, "tag", None)):
                raise ValueError("YAML with aliases or tags")
            if isinstance(event, library.CollectionStartEvent):
                stack.append([])
                if len(stack) > _DEEPEST:
                    raise ValueError("YAML that is nested too deep")
            elif isinstance(event, library.ScalarEvent):
                stack[-1].append("" if event.style is None and event.value in _NULLS else event.value)
            elif isinstance(event, library.AliasEvent):
                stack[-1].append("")
            elif isinstance(event, library.CollectionEndEvent):
                items = stack.pop()
                stack[-1].append(
                    _mapping(items, strict=strict) if isinstance(event, library.MappingEndEvent) else items
                )
    except (library.YAMLError, OverflowError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return stack[0][0] if len(stack[0]) == 1 else None


def _mapping(items: list[Any], *, strict: bool) -> dict[str, Any]:
    mapping = {key: value for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str)}
    if strict and "<<" in mapping:
        raise ValueError("YAML with merges")
    return mapping
