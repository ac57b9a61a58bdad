"""A GGUF file of weights: its name, and whether it is one."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import UsageError

MAGIC = b"GGUF"
_PART = 1 << 20


def name(file: Path) -> str:
    """The file's stem and a digest of its size and both its ends, which tells files of one name apart. Raises
    UsageError if there is no such file, or no weights in it."""
    try:
        with file.open("rb") as opened:
            first = opened.read(_PART)
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _PART))
            last = opened.read()
    except OSError as error:
        raise UsageError(f"cannot read the weights {file}: {error.strerror}") from error
    if not first.startswith(MAGIC):
        raise UsageError(f"{file} is not a GGUF file; convert a checkpoint with llama.cpp's convert_hf_to_gguf.py")
    return f"{file.stem}@{hashlib.sha256(b'%d' % size + first + last).hexdigest()[:12]}"


def check(file: Path | None, model: str) -> None:
    """Raises UsageError if the weights called `model` cannot run here."""
    if file is None:
        raise UsageError(f"which file holds '{model}'? say --model gguf:/path/model.gguf")
    if (found := name(file)) != model:
        raise UsageError(f"{file} holds other weights ({found}) than the run's ({model})")
    if find_spec("xllamacpp") is None:
        raise UsageError("a GGUF file needs the extra 'local'; install it: .uv/bin/uv sync --locked --extra local")
