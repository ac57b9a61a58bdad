"""Parse files of formats that can harm their parser, in a second process with limits on memory and processor time.

A PDF is read by native code, and a few hundred bytes of XML or of a ZIP archive can take minutes and gigabytes. A
parser that crashes, or is killed at its limit, costs one file. The limits are far beyond what a real document needs, so
that what is read does not depend on the machine.
"""

import os
import resource
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import Any, Self

import orjson

from pipeline.corpus.child_process import end_child, start_child
from pipeline.corpus.document_blocks import Block, split_long, split_title
from pipeline.corpus.readers.base import LONGEST, NAMED_BY_FILE, ReadBytes, ReadLimits, Row, file_title, load_reader
from pipeline.errors import CorpusError

LARGEST = 256 << 20
"""The most bytes of a file. Pictures take most of them."""
SECONDS, MEMORY = 120, 3 << 30
"""The most processor time of a file, and memory of the process."""
_CHILD = "import sys; from pipeline.corpus.parser_process import serve; serve(*map(int, sys.argv[1:]))"
_KILLED = "its parser crashed, or took too much time or memory; convert it, or leave it out"


class ParserProcess:
    """Parses files one at a time. The process starts with the first file, and again after a crash."""

    def __init__(self) -> None:
        self._child: Popen[bytes] | None = None

    def rows(self, name: str, path: Path, limits: ReadLimits) -> Iterator[Row]:
        """Yield a row for a file, several for one that is longer than a document may be, or one with an error.

        Args:
            name: a reader with `parse`.
            path: the file.
            limits: the limits of the corpus.
        """
        answer = self._ask(name, path)
        if "error" in answer:
            yield Row(path.name, path.name, {}, answer["error"])
            return
        blocks = [Block(kind, text) for kind, text in answer["blocks"]]
        heading, texts = split_title(blocks)
        if answer["title"] and heading and heading != answer["title"]:
            texts = [block for block in blocks if block.text]
        title = answer["title"] or heading
        sections = list(split_long(title or file_title(path), texts, limits.doc_chars)) or [(title, "")]
        kind = load_reader(name).kind
        characters = ReadBytes(path, limits)
        for number, (name_of_section, text) in enumerate(sections):
            characters.add(len(text))
            links = [link for link in answer["links"] if link.partition("\t")[2] in text]
            key = f"{path.name}:{number + 1}" if len(sections) > 1 else path.name
            values = {"id": key, "title": name_of_section, "text": text} | ({"links": links} if links else {})
            row = Row(path.name, key, values)
            yield row if number else row._replace(kind=kind, pages=answer["pages"], note="" if title else NAMED_BY_FILE)

    def _ask(self, name: str, path: Path) -> dict[str, Any]:
        try:
            if not self._child:
                self._child = start_child(_CHILD, SECONDS, MEMORY)
                self._requests = Connection(os.dup(self._child.stdin.fileno()), readable=False)  # type: ignore[union-attr]
                self._answers = Connection(os.dup(self._child.stdout.fileno()), writable=False)  # type: ignore[union-attr]
            self._requests.send_bytes(orjson.dumps([name, os.fspath(path)]))
            return dict(orjson.loads(self._answers.recv_bytes()))
        except (OSError, EOFError):
            self.close()
            return {"error": _KILLED}

    def close(self) -> None:
        if self._child:
            self._requests.close()
            self._answers.close()
            end_child(self._child)
        self._child = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def serve(seconds: int, memory: int) -> None:
    """Answer requests until standard input closes."""
    requests, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # native code may print
    _limit(resource.RLIMIT_DATA, memory)
    while True:
        try:
            name, path = orjson.loads(requests.recv_bytes())
        except EOFError:
            return
        usage = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(usage.ru_utime + usage.ru_stime) + 1
        _limit(resource.RLIMIT_CPU, spent + seconds)
        answers.send_bytes(orjson.dumps(_parse(name, Path(path))))


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _parse(name: str, path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST:
            return {"error": f"larger than {LARGEST >> 20} MiB"}
        if not (parse := load_reader(name).parse):
            raise CorpusError(f"{path}: the reader {name} parses no files")
        parsed = parse(path.read_bytes())
    except CorpusError as error:
        return {"error": str(error)}
    except MemoryError:
        raise  # its memory is not free again, so this process ends
    except RecursionError:
        return {"error": _KILLED}
    except Exception as error:  # noqa: BLE001 - a parser raises anything for a broken file
        why = " ".join(f"{type(error).__name__}: {error}".split())[:150]
        return {"error": f"not a readable {load_reader(name).kind} file ({why}); is it complete?"}
    if sum(len(block.text) for block in parsed.blocks) > LONGEST:
        return {"error": f"its text is longer than {LONGEST >> 20} MiB"}
    # orjson writes no named tuples.
    return parsed._asdict() | {"pages": dict(parsed.pages), "blocks": [tuple(block) for block in parsed.blocks]}
