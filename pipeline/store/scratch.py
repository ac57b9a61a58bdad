"""A temporary folder for one command."""

import tempfile
from pathlib import Path

import zstandard

from pipeline.errors import UsageError


class Scratch:
    """A temporary folder, which is removed by `close` or when it is garbage collected."""

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="digsite-")

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._root.name))

    def unpack(self, path: Path) -> Path:
        """Return a new folder with one file of lines, decompressed if it is a `.zst`.

        Raises UsageError if it cannot be decompressed.
        """
        folder = self.folder()
        target = folder / path.name.removesuffix(".zst")
        if path.suffix != ".zst":
            target.symlink_to(path)
            return folder
        try:
            with path.open("rb") as packed, target.open("wb") as lines:
                zstandard.ZstdDecompressor().copy_stream(packed, lines)
        except zstandard.ZstdError as error:
            raise UsageError(f"{path} cannot be unpacked: {error}") from error
        return folder

    def close(self) -> None:
        self._root.cleanup()
