"""A folder of documents, at any depth. Each file is a document whose id is its path inside the folder.

Symbolic links out of the folder are not followed.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers.base import ReadBytes, Reader, ReadLimits, Row, load_reader, size
from pipeline.corpus.unreadable_files import count_unread, in_words
from pipeline.corpus.walking import printable, walk
from pipeline.errors import CorpusError

READERS = {
    name: load_reader(name)
    for name in ("docx", "epub", "html", "ipynb", "markdown", "pdf", "pptx", "rst", "text", "xml")
}
"""The readers of files that are one document each, by name."""
_BY_ENDING = {ending: name for name, reader in READERS.items() if reader.is_installed for ending in reader.suffixes}


def is_read(file: Path) -> bool:
    reader = READERS.get(_BY_ENDING.get(file.suffix.lower(), ""))
    return reader is not None and (reader.accepts is None or reader.accepts(file))


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    from pipeline.corpus.parser_process import ParserProcess  # it imports this package

    root, size_read, file = path.resolve(), ReadBytes(path, limits), None
    with ParserProcess() as parser:
        for file in filter(is_read, walk(path)):
            inside = file.relative_to(path).as_posix()
            name = printable(inside)
            if error := "its name is not UTF-8; rename it" if name != inside else _refuse_file(file, root):
                yield Row(name, name, {}, error)
                continue
            reader_name = _BY_ENDING[file.suffix.lower()]
            reader = READERS[reader_name]
            # The pictures in a PDF or a Word file are not read.
            size_read.add(0 if reader.parse else file.stat().st_size)
            rows = parser.rows(reader_name, file, limits) if reader.parse else reader.read(file, limits)
            for row in rows:
                size_read.add(size(row.values.get("text")) if reader.parse else 0)
                key = name + row.key.removeprefix(file.name)
                values = {**row.values, "id": key} if row.values else {}
                kind = row.kind if reader.parse or row.error else reader.kind
                yield row._replace(place=name, key=key, values=values, kind=kind)
    if file is None:
        skipped = in_words(count_unread(path, is_read))
        raise CorpusError(f"{path}: nothing in it that can be read{f' ({skipped})' if skipped else ''}")


def _refuse_file(file: Path, root: Path) -> str:
    """Return why a file cannot be read, or an empty string."""
    if not file.is_file():
        return "no file that can be read: a broken link, a loop of links, a pipe or a device"
    return "" if file.resolve().is_relative_to(root) else "a link that leads out of the folder"


READER = Reader(read=read)
