"""The one door through which model text becomes a typed value, or a `FormatError` written for the model; and the schema
of such a value, as a model is sent it.
"""

import unicodedata
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.errors import FormatError
from pipeline.types import Data

MOST_BYTES, MOST_SHOWN = 100_000, 80
T = TypeVar("T", bound=Data)


def parse(model: type[T], raw: str) -> T:
    """`raw` JSON as `model`, in NFC and without control characters.

    pydantic parses bytes itself: `json.loads` would leak RecursionError and let lone surrogates through.
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
        # The name of a field that is not known is the model's own text, and goes back to it.
        place = ".".join(str(part) for part in first["loc"])[:MOST_SHOWN] or "arguments"
        raise FormatError(f"{place}: {first['msg']}") from error


def schema_of(model: type[Data]) -> dict[str, Any]:
    """Its JSON schema, with the fields' own descriptions and without what pydantic adds for people who read the code:
    titles that repeat the names, and the docstrings of classes."""
    tree = _untitled(model.model_json_schema())
    return {key: value for key, value in tree.items() if key != "description"}


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tree = {key: value for key, value in schema.items() if key != "title"}
    # The keys of these are names of ours, of which one may be "title" or "description".
    named = {
        key: {name: _untitled(item) for name, item in tree.pop(key).items()}
        for key in ("properties", "$defs")
        if key in tree
    }
    for kind in named.get("$defs", {}).values():
        kind.pop("description", None)
    return {**{key: _untitled(value) for key, value in tree.items()}, **named}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) != "Cc")
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
