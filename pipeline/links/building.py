"""The links of a corpus, found in two passes over its parts, each of them streaming, and on from the last finished file
after a kill. The bytes rest on nothing but the corpus and the settings.

First each part is surveyed (`survey`), and what is found is put together (`learning`); then the phrases of each part
are found (`mentions`), and those that few documents hold are kept (`collecting`).
"""

import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus import Corpus, parts
from pipeline.corpus.documents import opening
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.links import sorted_tables as runs
from pipeline.links import source_links, survey_results
from pipeline.links.collecting import Collector
from pipeline.links.mentions import Knowledge, mentions
from pipeline.links.sorted_tables import Columns
from pipeline.links.source_links import Stated
from pipeline.links.survey import chunks, survey
from pipeline.links.titles import named
from pipeline.links.tokens import words
from pipeline.store.files import utf8_path

_PROCESSES = 2
"""Parts at once, at most."""
_CHILD = "from pipeline.links.building import serve; serve()"


def build(corpus: Corpus, folder: Path, most: int) -> None:
    """Fill the folder, going on with what an earlier process left in it."""
    sections = len(corpus.manifest.fields.title) > 1
    builder = _Builder(corpus.folder, folder, sections=sections, passages=len(corpus.passages))
    name = corpus.manifest.name
    builder.each("survey", f"{name}: parts surveyed for links")
    if not (folder / "titles.arrow").exists():  # which is written last
        survey_results.learn(folder, builder.numbers, len(corpus.passages), builder.names(), most)
    builder.each("find", f"{name}: parts searched for links")
    group = runs.read(folder / "groups.arrow")["group"]
    several = builder.known.titles.several
    limit = survey_results.limit(group, len(corpus.passages), most)
    collector = Collector(folder, builder.ahead, several, group, limit)
    collector.collect(survey_results.files(folder, "found", builder.numbers))


def serve() -> None:
    """Do a step for some of the parts, in a process of its own, and write a line for each. The process ends with its
    parent, whose end of the pipe closes."""
    Thread(target=_end_with_parent, daemon=True).start()
    corpus, folder, sections, passages, step, first, apart = sys.argv[1:]
    builder = _Builder(Path(corpus), Path(folder), sections=sections == "True", passages=int(passages))
    for number in builder.numbers[int(first) :: int(apart)]:
        builder.do(step, number)
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


class _Builder:
    def __init__(self, corpus: Path, folder: Path, *, sections: bool, passages: int) -> None:
        self._corpus, self._folder, self._sections, self._passages = corpus, folder, sections, passages
        sizes = [parts.mapped(path).num_rows for path in sorted(corpus.glob("part-*.arrow"))]
        self.numbers = [number for number, size in enumerate(sizes) if size]
        """The parts that hold documents: of one in which all came before only their titles are kept."""
        self._first = np.cumsum([0, *sizes])
        """The documents before each part."""
        first: Any = parts.RowNumbers(corpus / parts.ROWS).first
        self.ahead = np.append(first, np.uint64(passages)).astype(np.int64)
        """The passages before each document, and at last all."""

    @cached_property
    def _stated(self) -> Stated:
        return Stated(self._corpus, runs.read(self._folder / "titles.arrow"), self.known)

    @cached_property
    def known(self) -> Knowledge:
        return survey_results.knowledge(self._folder)

    def do(self, step: str, number: int) -> None:
        {"survey": self.survey, "find": self.find}[step](number)

    def each(self, step: str, what: str) -> None:
        """Do it for all parts, in other processes where there are several. What one of them fails at is done here, so
        that its error is this process's."""
        progress = LoggedProgress(what)
        count = min(_PROCESSES, os.cpu_count() or 1, len(self.numbers))
        others = [self._other(step, first, count) for first in range(count)] if count > 1 else []
        try:
            for done, number in enumerate(self.numbers):
                if others:
                    others[done % count].stdout.readline()  # type: ignore[union-attr]
                self.do(step, number)
                progress.at(done + 1, len(self.numbers))
        finally:
            for other in others:
                other.kill()
                other.communicate()

    def _other(self, step: str, first: int, apart: int) -> "subprocess.Popen[bytes]":
        given = self._corpus, self._folder, self._sections, self._passages, step, first, apart
        return subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-c", _CHILD, *map(str, given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _part(self, number: int) -> pa.Table:
        with pa.OSFile(utf8_path(self._corpus / parts.part(number))) as source:
            return pa.ipc.open_file(source).read_all()

    def survey(self, number: int) -> None:
        tables = ("words", "sentences", "titles", "sketches")
        paths = {name: self._folder / f"{name}-{number:05}.arrow" for name in tables}
        if paths["sketches"].exists():  # which is written last
            return
        part = self._part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        titles = self._named(names, self._first[number] + np.arange(len(names)))
        found = survey(texts, titles)
        found["sentences"] = found["sentences"].with_columns(pl.col("row") + int(self._first[number]))
        stands_in = [name == opening(text) for name, text in zip(names, texts, strict=True)]
        full = found["titles"].drop_in_place("full")
        found["sketches"] = found["sketches"].with_columns(full, stands_in=np.array(stands_in, np.uint8))
        for name in ("words", "sentences", "titles"):
            runs.write(paths[name], found[name], "hash")
        runs.write(paths["sketches"], found["sketches"])

    def _named(self, names: list[str], rows: Any) -> Columns:
        table = named(names, sections=self._sections)
        return table | {"row": rows.astype(np.uint32)}

    def names(self) -> pl.DataFrame:
        """Those that documents have besides their titles."""
        table = parts.mapped(self._corpus / parts.ALIAS)
        found = self._named(table.column("title").to_pylist(), parts.column(table, "document"))
        names = pl.DataFrame(found).drop("full").with_columns(small=pl.lit(0, pl.UInt8))
        links = (parts.mapped(self._corpus / parts.part(number)).column("links") for number in self.numbers)
        if any(pc.any(pc.not_equal(column, "")).as_py() for column in links):
            own = pl.DataFrame(source_links.names(np.arange(self._first[-1])))
            names = pl.concat([names, own.select(names.columns)])
        return names

    def find(self, number: int) -> None:
        path = self._folder / f"found-{number:05}.arrow"
        if path.exists():
            return
        part = self._part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        bodies = np.fromiter((len(name) + 1 for name in names), np.int64, len(names))
        passages = _Passages(part.column("spans").combine_chunks())
        found = []

        def add(columns: Columns, begin: int) -> None:
            document = begin + columns.pop("text")
            columns["start"] = columns["start"] + bodies[document]
            columns["end"] = columns["end"] + bodies[document]
            at, held = passages.holding(document, columns["start"], columns["end"])
            row = self._first[number] + document
            columns |= {"row": row, "place": self.ahead[row] + at}
            kinds = {"hash": np.uint64, "kind": np.uint8}
            found.append({name: values[held].astype(kinds.get(name, np.uint32)) for name, values in columns.items()})

        for begin, some in chunks(texts):
            add(mentions(words(some), self.known, words(names[begin : begin + len(some)])), begin)
        if any(part.column("links").to_pylist()):
            add(self._stated.mentions(part, sections=self._sections), 0)
        runs.write(path, {name: np.concatenate([one[name] for one in found]) for name in found[0]}, "hash")


class _Passages:
    """Where the passages of a part's documents begin and end."""

    def __init__(self, spans: pa.ListArray) -> None:
        # As a column of a table: NumPy's own way loads pandas, which takes long.
        both = (pa.Table.from_arrays([array], names=["number"]) for array in (spans.values, spans.offsets))
        flat, offsets = (parts.column(table, "number").astype(np.int64) for table in both)
        self._first = offsets // 2
        begins, self._ends = flat[::2], flat[1::2]
        self._keys = (np.repeat(np.arange(len(self._first) - 1), np.diff(self._first)) << 32) + begins

    def holding(self, document: Any, start: Any, end: Any) -> tuple[Any, Any]:
        """For each phrase the number of the passage, within its document, that holds it, and whether one does."""
        at = np.searchsorted(self._keys, (document << 32) + start, side="right") - 1
        held = (at >= self._first[document]) & (end <= self._ends[np.maximum(at, 0)])
        return at - self._first[document], held
