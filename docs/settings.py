"""The page of all settings, from their types, defaults and docstrings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import AfterValidator
from pydantic.fields import FieldInfo

from docs.tables import code, made, table
from pipeline.config import RunConfig
from pipeline.config.loop import reader_checks, validate_check
from pipeline.types import Data

INTRODUCTION = """Any of these goes into a TOML file (`--config FILE.toml`) or onto the command line (`--set loop.rounds=3`). Preset, file, flags and
`--set` are read in this order; the last one wins.

**What** a run makes is digested: another value is another data set, in another folder, and `resume` refuses it. **How** it is made
may change between two commands that continue the same run: `[runtime]`, and of a model where and how it is asked. `[gates]` and `[sft]`
change which pairs count and which rows are written, never the journal: `digsite export --set gates.openings=0.2` writes the data set anew.

```toml
steps = "2-4"

[models.default]
provider = "openai"
model = "Qwen/Qwen3-8B"
base_url = "http://localhost:8000/v1"

[runtime]
pairs = 1000
```"""
TABLES = {
    "": "At the top of the file",
    "models.NAME": "`NAME` is `default` or a role: generator, refiner, curator, solver, teacher, judge, reader, writer. What a role "
    "leaves out is the default's. `[models.policies.NAME]` holds a model to be trained, with the same settings.",
}
_OPEN = re.compile(r"\[models\.(?:default|policies)\b")


class Setting(NamedTuple):
    name: str
    kind: str
    default: str
    words: str


def page() -> str:
    sections = []
    for name, settings in tables():
        head = "## At the top of the file" if not name else f"## `[{name}]`"
        said = TABLES.get(name, "") if name else ""
        rows = [(code(one.name), one.kind, code(one.default), one.words) for one in settings]
        sections.append(
            f"{head}\n\n{said}\n\n{table(['setting', 'type', 'default', 'meaning'], rows)}".replace("\n\n\n\n", "\n\n")
        )
    return made("Settings", "\n\n".join([INTRODUCTION, *sections]).rstrip())


def tables() -> list[tuple[str, list[Setting]]]:
    """Every table of the file with its settings; the first has no name."""
    found: list[tuple[str, list[Setting]]] = []
    _walk("", RunConfig, RunConfig(), found)
    return found


def _walk(name: str, kind: type[Data], default: Data | None, found: list[tuple[str, list[Setting]]]) -> None:
    own: list[Setting] = []
    found.append((name, own))
    for field, info in kind.model_fields.items():
        path = f"{name}.{field}".lstrip(".")
        value = getattr(default, field, None)
        if path == "models":
            _walk("models.NAME", *_model(), found)
        elif (table_kind := _table(info.annotation)) is not None:
            _walk(path, table_kind, value if isinstance(value, Data) else None, found)
        else:
            own.append(Setting(field, spelled(info.annotation, info), toml(value), words(kind, field)))


def _model() -> tuple[type[Data], Data]:
    from pipeline.config.models import ModelConfig

    return ModelConfig, ModelConfig()


def _table(kind: Any) -> type[Data] | None:
    """Return the class of a table, or None if the setting is a value."""
    parts = (
        [part for part in get_args(kind) if part is not NoneType] if get_origin(kind) in (UnionType, Union) else [kind]
    )
    return parts[0] if isinstance(parts[0], type) and issubclass(parts[0], Data) else None


@cache
def _docstrings(kind: type[Data]) -> dict[str, str]:
    """Return the docstring below each field in the source of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    return dict(_below(body.body))


def _below(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, after in pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                yield name, " ".join(words.split())


def words(kind: type[Data], field: str) -> str:
    """Return the docstring of a field of a class or its bases. Raise KeyError if it has none."""
    for one in kind.__mro__:
        if issubclass(one, Data) and one is not Data and (found := _docstrings(one).get(field)):
            return found
    raise KeyError(f"{kind.__name__}.{field} has no docstring")


def spelled(kind: Any, info: FieldInfo | None = None) -> str:
    """Describe a type, with its limits, in the words of a person who writes TOML."""
    return f"{_spelled(kind)}{_limits(info)}"


def _spelled(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return ", ".join(map(code, reader_checks())) if AfterValidator(validate_check) in parts else _spelled(parts[0])
    if origin is Literal:
        return ", ".join(code(str(part)) for part in parts)
    if origin in (UnionType, Union):
        return _spelled(next(part for part in parts if part is not NoneType))
    if origin is tuple:
        return (
            f"two of {_spelled(parts[0])}"
            if Ellipsis not in parts and len(parts) == 2
            else f"list of {_spelled(parts[0])}"
        )
    if origin is dict:
        return f"table of {_spelled(parts[1])}"
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "Path": "path"}
    return names.get(getattr(kind, "__name__", str(kind)), "text")


def _limits(info: FieldInfo | None) -> str:
    limits = []
    for one in info.metadata if info else ():
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if (value := getattr(one, name, None)) is not None:
                limits.append(f"{sign} {value}")
    return f", {', '.join(limits)}" if limits else ""


def toml(value: Any) -> str:
    """As the file has it; nothing where it is left out."""
    if value is None or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml(part) for part in value)}]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'
