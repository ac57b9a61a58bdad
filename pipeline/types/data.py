"""The base of every value, and its identity."""

import hashlib

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    """Base of every value that crosses a module boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def sha256(text: str) -> str:
    """Hex digest of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()
