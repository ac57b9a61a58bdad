"""Error messages about wrong settings."""

from collections.abc import Sequence
from typing import Any, get_args

from pipeline.errors import UsageError, in_words, unknown

_REMOVED = {"checks.seeker_tries": "nobody looks for shortcuts before the rollouts any more"}
"""Settings of earlier versions, and why they were removed."""


def config_error(model: Any, error: Any) -> UsageError:
    """Turn pydantic's first error about a tree of settings into one line."""
    *table, name = error["loc"] or [""]
    key = ".".join(str(part) for part in error["loc"] if part != "[key]")
    if error["type"] != "extra_forbidden":
        return UsageError(f"{key}: {in_words(error['msg'])}" if key else in_words(error["msg"]))
    if key in _REMOVED:
        return UsageError(f"'{key}' was removed: {_REMOVED[key]}; remove it from the settings")
    # A setting of this name in another table is a better guess than a similar name in this table.
    if same_name := [setting for setting in _all_settings(model) if setting.split(".")[-1] == name]:
        return UsageError(f"no setting '{key}'; did you mean '{same_name[0]}'?")
    return unknown("setting", name, _names_at(model, table), prefix="".join(f"{part}." for part in table))


def _all_settings(model: Any, prefix: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        subtable = _table(field.annotation)
        names += _all_settings(subtable, f"{prefix}{name}.") if subtable else [f"{prefix}{name}"]
    return names


def _names_at(model: Any, path: Sequence[str | int]) -> list[str]:
    for part in path:
        if part in model.model_fields:  # otherwise it is a name that the user chose
            annotation = model.model_fields[part].annotation
            model = _table(annotation) or annotation
    return sorted(model.model_fields)


def _table(annotation: Any) -> Any:
    """Return the class of the table that an annotation allows, or None."""
    types = (annotation, *(inner for part in get_args(annotation) for inner in (part, *get_args(part))))
    return next((type_ for type_ in types if hasattr(type_, "model_fields")), None)
