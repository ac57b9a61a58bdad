"""Open the ZIP archives that EPUB and Office files are, within bounds."""

import io
import zipfile

from pipeline.errors import CorpusError

_ENTRIES = 20_000
_RATIO, _FREE_BYTES, _MOST_BYTES = 200, 64 << 20, 1 << 30
"""Text that repeats compresses well, so the ratio counts only beyond some size."""


def open_archive(data: bytes) -> zipfile.ZipFile:
    """Open an archive whose content stays within the bounds.

    `zipfile` never unpacks more of an entry than its stated size, so that those sizes bound the memory.

    Raises:
        CorpusError: if it has too many entries, or would unpack to too much.
    """
    if not data.startswith(b"PK"):
        encrypted = data.startswith(b"\xd0\xcf\x11\xe0")
        raise CorpusError("encrypted, or in an older format; save it anew" if encrypted else "not a ZIP archive")
    archive = zipfile.ZipFile(io.BytesIO(data))
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    if len(entries) > _ENTRIES or size > _MOST_BYTES or size > max(_FREE_BYTES, _RATIO * len(data)):
        raise CorpusError(f"unpacks to {len(entries):,} entries and {size >> 20:,} MiB; refused as a bomb")
    return archive
