"""Parse the text of a model into a typed value, and make the JSON schema of such a value.

All model text goes through `parse`. Its `FormatError` is written for the model to read.
"""

import unicodedata
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.errors import FormatError
from pipeline.types import Data

MOST_BYTES, MOST_SHOWN = 100_000, 80
T = TypeVar("T", bound=Data)


def parse(model: type[T], raw: str) -> T:
    """Parse JSON into `model`, in NFC and without control characters. Raise FormatError if it does not fit.

    pydantic parses the bytes: `json.loads` would leak RecursionError and let lone surrogates through.
    """
    try:
        data = unicodedata.normalize("NFC", raw).encode()
    except UnicodeEncodeError as error:
        raise FormatError("The arguments are not valid Unicode.") from error
    if len(data) > MOST_BYTES:
        raise FormatError(f"The arguments are longer than {MOST_BYTES} bytes.")
    try:
        return model.model_validate(_clean(model.model_validate_json(data).model_dump()))
    except ValidationError as error:
        first = error.errors()[0]
        # An unknown field's name is text of the model, which goes back to it, so it is cut.
        location = ".".join(str(part) for part in first["loc"])[:MOST_SHOWN] or "arguments"
        raise FormatError(f"{location}: {first['msg']}") from error


def schema_of(model: type[Data]) -> dict[str, Any]:
    """Return the JSON schema of a class with the descriptions of its fields, but no titles and class docstrings."""
    tree = _remove_titles(model.model_json_schema())
    return {key: value for key, value in tree.items() if key != "description"}


def _remove_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_remove_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tree = {key: value for key, value in schema.items() if key != "title"}
    # The keys of these two are names of fields and classes, one of which may be "title" or "description".
    by_name = {
        key: {name: _remove_titles(item) for name, item in tree.pop(key).items()}
        for key in ("properties", "$defs")
        if key in tree
    }
    for definition in by_name.get("$defs", {}).values():
        definition.pop("description", None)
    return {**{key: _remove_titles(value) for key, value in tree.items()}, **by_name}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) != "Cc")
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
