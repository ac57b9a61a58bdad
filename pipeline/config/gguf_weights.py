"""Names and checks for GGUF files of weights."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import UsageError

MAGIC = b"GGUF"
_PART = 1 << 20


def name(file: Path) -> str:
    """Return the file's stem and a digest of its size and both its ends. Raise UsageError if it is not a GGUF file."""
    try:
        with file.open("rb") as stream:
            first = stream.read(_PART)
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _PART))
            last = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read the weights {file}: {error.strerror}") from error
    if not first.startswith(MAGIC):
        raise UsageError(f"{file} is not a GGUF file; convert a checkpoint with llama.cpp's convert_hf_to_gguf.py")
    return f"{file.stem}@{hashlib.sha256(b'%d' % size + first + last).hexdigest()[:12]}"


def check(file: Path | None, model: str) -> None:
    """Raise UsageError if the weights with the name `model` cannot run here."""
    if file is None:
        raise UsageError(f"which file contains '{model}'? Add --model gguf:/path/model.gguf")
    if (actual := name(file)) != model:
        raise UsageError(f"{file} contains other weights ({actual}) than the run's ({model}); start a new run for them")
    if find_spec("xllamacpp") is None:
        raise UsageError("a GGUF file needs the extra 'local'; install it: .uv/bin/uv sync --locked --extra local")
