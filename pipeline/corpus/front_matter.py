"""Front matter of pages and cards of data sets: YAML or TOML of somebody else, read as text and within bounds.

Of YAML neither tags nor aliases are followed: they can cost hours, or end the read by an error of their own.
"""

import re
import tomllib
from typing import Any

_YAML = re.compile(r"\A---[ \t]*\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.{0,65536}?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
_NULLS = ("", "~", "null", "Null", "NULL")


def taken(source: str) -> tuple[str, str]:
    """The title that the front matter of a page names, or nothing, and the page without its front matter."""
    for pattern, parsed in ((_YAML, yaml), (_TOML, tomllib.loads)):
        if front := pattern.match(source):
            try:
                values: Any = parsed(front[1])
            except (ValueError, RecursionError):
                values = None
            title = values.get("title") if isinstance(values, dict) else None
            return (str(title).strip() if isinstance(title, str | int | float) else ""), source[front.end() :]
    return "", source


def yaml(source: str, *, strict: bool = False) -> Any:
    """Mappings, lists and texts, as they are written; an alias is an empty text. `strict` refuses aliases, merges and
    tags. Raises ValueError where it is no YAML, or nested too deep."""
    import yaml as library  # noqa: TID251 - no settings

    seen = set[int]()

    def value(node: Any) -> Any:
        again = id(node) in seen
        if strict and (again or node.tag not in _PLAIN):
            raise ValueError("YAML with aliases or tags")
        seen.add(id(node))
        if again:
            return ""
        if isinstance(node, library.ScalarNode):
            return "" if node.style is None and node.value in _NULLS else node.value
        if isinstance(node, library.SequenceNode):
            return list(map(value, node.value))
        pairs = [(value(key), value(item)) for key, item in node.value]
        if strict and any(key == "<<" for key, _ in pairs):
            raise ValueError("YAML with merges")
        return {key: item for key, item in pairs if isinstance(key, str)}

    try:
        node = library.compose(source, Loader=library.BaseLoader)
        return None if node is None else value(node)
    except RecursionError as error:
        raise ValueError("YAML that is nested too deep") from error
    except (library.YAMLError, OverflowError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
