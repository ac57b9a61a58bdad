"""The one door through which model text becomes a typed value, or a `FormatError` written for the model."""

import unicodedata
from typing import TypeVar

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


def _clean(value: object) -> object:
    if isinstance(value, str):
        return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) != "Cc")
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
