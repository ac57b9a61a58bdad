"""What a wrong setting is answered with."""

from collections.abc import Sequence
from typing import Any, get_args

from pipeline.errors import UsageError, in_words, unknown

_REMOVED = {"checks.seeker_tries": "nobody looks for shortcuts before the rollouts any more"}
"""Settings of earlier versions, and what a user of one has to know."""


def config_error(model: Any, first: Any) -> UsageError:
    """The line for the first thing that pydantic says of a tree of settings of that model."""
    *table, name = first["loc"] or [""]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    if first["type"] != "extra_forbidden":
        return UsageError(f"{key}: {in_words(first['msg'])}" if key else in_words(first["msg"]))
    if key in _REMOVED:
        return UsageError(f"'{key}' is gone: {_REMOVED[key]}; remove it from the settings")
    # The name of a setting in another table is no slip of the pen.
    if elsewhere := [one for one in _settings(model) if one.split(".")[-1] == name]:
        return UsageError(f"no setting '{key}'; did you mean '{elsewhere[0]}'?")
    return unknown("setting", name, _names(model, table), prefix="".join(f"{part}." for part in table))


def _settings(model: Any, above: str = "") -> list[str]:
    """The dotted names of all settings in a table and below it."""
    found = []
    for name, field in model.model_fields.items():
        inner = _table(field.annotation)
        found += _settings(inner, f"{above}{name}.") if inner else [f"{above}{name}"]
    return found


def _names(model: Any, path: Sequence[str | int]) -> list[str]:
    """What the table at that path may hold."""
    for part in path:
        if part in model.model_fields:  # or it is a name of the user's own
            kind = model.model_fields[part].annotation
            model = _table(kind) or kind
    return sorted(model.model_fields)


def _table(kind: Any) -> Any:
    """The table that an annotation allows."""
    kinds = (kind, *(one for part in get_args(kind) for one in (part, *get_args(part))))
    return next((one for one in kinds if hasattr(one, "model_fields")), None)
