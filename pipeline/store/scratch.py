"""A folder for the time of one command, in the system's place for temporary files."""

import tempfile
from pathlib import Path

import zstandard

from pipeline.errors import UsageError


class Scratch:
    """It goes with `close`, or when nobody holds it any more."""

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="digsite-")

    def folder(self) -> Path:
        """A new one, empty."""
        return Path(tempfile.mkdtemp(dir=self._root.name))

    def unpacked(self, path: Path) -> Path:
        """A folder with the lines of one file, which may be packed by zstandard. Raises UsageError where it is not."""
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
