"""Lines that stand beside a journal: `{"sha256": ..., "<kind>": {...}}`. A torn or damaged one is no line."""

import hashlib
import re
from typing import TypeVar

from pydantic import ValidationError

from pipeline.types import Data

_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","([a-z]+)":(.*)\}\n', re.DOTALL)
T = TypeVar("T", bound=Data)


def seal(kind: str, value: Data) -> bytes:
    """The line of a value, without its line end."""
    body = value.model_dump_json().encode()
    return b'{"sha256":"%b","%b":%b}' % (hashlib.sha256(body).hexdigest().encode(), kind.encode(), body)


def unseal(kind: str, line: bytes, model: type[T]) -> T | None:
    """The value of a line with its line end; None for what is no such line."""
    match = _LINE.fullmatch(line)
    if match is None or match[2] != kind.encode() or hashlib.sha256(match[3]).hexdigest().encode() != match[1]:
        return None
    try:
        return model.model_validate_json(match[3])
    except ValidationError:
        return None
