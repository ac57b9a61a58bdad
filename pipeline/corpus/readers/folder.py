"""A folder of texts, at any depth. Each file is a document whose id is its path inside the folder.

Symbolic links out of the folder are not followed.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pipeline.corpus.readers import html, markdown, text
from pipeline.corpus.readers.base import ReadBytes, Reader, ReadLimits, Row
from pipeline.corpus.unreadable_files import count_unread, in_words
from pipeline.corpus.walking import files, printable
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = ()
_READERS: tuple[Reader, ...] = (text, markdown, *([html] if find_spec("trafilatura") else []))
_BY_ENDING = {ending: reader for reader in _READERS for ending in reader.SUFFIXES}
ENDINGS = tuple(_BY_ENDING)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    root, size, file = path.resolve(), ReadBytes(path, limits), None
    for file in files(path, ENDINGS):
        inside = file.relative_to(path).as_posix()
        name = printable(inside)
        if name != inside:
            yield Row(name, name, {}, "its name is not UTF-8; rename it")
            continue
        if not file.is_file():
            yield Row(name, name, {}, "no file that can be read: a broken link, a loop of links, a pipe or a device")
            continue
        if not file.resolve().is_relative_to(root):
            yield Row(name, name, {}, "a link that leads out of the folder")
            continue
        size.add(file.stat().st_size)
        for row in _BY_ENDING[file.suffix.lower()].read(file, limits):
            yield Row(name, name, {**row.values, "id": name} if row.values else {}, row.error)
    if file is None:
        skipped = in_words(count_unread(path, lambda path: path.suffix.lower() in ENDINGS))
        raise CorpusError(f"{path}: nothing in it that can be read{f' ({skipped})' if skipped else ''}")
