"""A folder of `.txt` and `.md` files, at any depth: one document each; its id is the path inside the folder.

The title is the first Markdown heading, else the file's stem. Symbolic links are not followed out of the folder.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers.base import ReadLimits, Row, files, skipped, skipped_in_words
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = ()
ENDINGS = (".txt", ".md")
_HEADING = re.compile(r"\A\s*#{1,6}[ \t]+(\S.*)\n")


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    root, total = path.resolve(), 0
    if not (texts := files(path, ENDINGS)):
        others = skipped_in_words(skipped(path, ENDINGS))
        there = f" ({others})" if others else ""
        raise CorpusError(f"{path}: contains no .txt, .md, .jsonl or .parquet files{there}")
    for file in texts:
        name = file.relative_to(path).as_posix()
        if not file.is_file():
            yield Row(name, name, {}, "no file that can be read: a broken link, a loop of links, a pipe or a device")
            continue
        if not file.resolve().is_relative_to(root):
            yield Row(name, name, {}, "a link that leads out of the folder")
            continue
        try:
            total += file.stat().st_size
            if total > limits.bytes:
                raise CorpusError(f"{path}: more than {limits.bytes} bytes; raise limits.bytes in its manifest")
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Row(name, name, {}, f"not a readable UTF-8 text: {error}")
            continue
        heading = _HEADING.match(text) if file.suffix.lower() == ".md" else None
        title = heading.group(1).rstrip("# ") if heading else file.stem.replace("_", " ")
        yield Row(name, name, {"id": name, "title": title, "text": text[heading.end() :] if heading else text})
