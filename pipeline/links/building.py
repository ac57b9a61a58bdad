"""Build the links of a corpus, in two streaming passes over its parts.

A killed build continues from its last complete file. The bytes depend only on the corpus and the settings.

The first pass surveys each part (`survey`) and merges the surveys (`survey_results`). The second finds the phrases of
each part (`mentions`) and keeps those that few documents contain (`collecting`).
"""

import os
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
from pipeline.corpus.child_process import end_child, start_child
from pipeline.corpus.documents import opening
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.links import sorted_tables as runs
from pipeline.links import source_links, survey_results
from pipeline.links.collecting import Collector
from pipeline.links.mentions import Knowledge, find_mentions
from pipeline.links.sorted_tables import Columns
from pipeline.links.source_links import SourceLinks
from pipeline.links.survey import chunks, survey
from pipeline.links.titles import hash_names
from pipeline.links.tokens import words
from pipeline.store.files import utf8_path

_PROCESSES = 2
"""Most parts that are processed at the same time."""
_CHILD = "from pipeline.links.building import serve; serve()"


def build(corpus: Corpus, folder: Path, most: int) -> None:
    """Fill the folder. Continues what an earlier process has left in it."""
    sections = len(corpus.manifest.fields.title) > 1
    builder = _Builder(corpus.folder, folder, sections=sections, passages=len(corpus.passages))
    name = corpus.manifest.name
    builder.run_step("survey", f"{name}: parts surveyed for links")
    if not (folder / "titles.arrow").exists():  # it is written last
        survey_results.learn(folder, builder.numbers, len(corpus.passages), builder.other_names(), most)
    builder.run_step("find", f"{name}: parts searched for links")
    group = runs.read(folder / "groups.arrow")["group"]
    ambiguous = builder.known.titles.several
    limit = survey_results.document_limit(group, len(corpus.passages), most)
    collector = Collector(folder, builder.ahead, ambiguous, group, limit)
    collector.collect(survey_results.part_files(folder, "found", builder.numbers))


def serve() -> None:
    """Run a step for some of the parts in a child process, and print a line per part.

    The process ends with its parent, because the parent's end of the pipe closes.
    """
    Thread(target=_end_with_parent, daemon=True).start()
    corpus, folder, sections, passages, step, first, apart = sys.argv[1:]
    builder = _Builder(Path(corpus), Path(folder), sections=sections == "True", passages=int(passages))
    for number in builder.numbers[int(first) :: int(apart)]:
        builder.run_part(step, number)
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


class _Builder:
    def __init__(self, corpus: Path, folder: Path, *, sections: bool, passages: int) -> None:
        self._corpus, self._folder, self._sections, self._passages = corpus, folder, sections, passages
        sizes = [parts.map_table(path).num_rows for path in sorted(corpus.glob("part-*.arrow"))]
        self.numbers = range(len(sizes))
        self._first = np.cumsum([0, *sizes])
        """Number of documents before each part."""
        first: Any = parts.RowNumbers(corpus / parts.ROWS).first
        self.ahead = np.append(first, np.uint64(passages)).astype(np.int64)
        """Number of passages before each document, and in total at the end."""

    @cached_property
    def _source_links(self) -> SourceLinks:
        return SourceLinks(self._corpus, runs.read(self._folder / "titles.arrow"), self.known)

    @cached_property
    def known(self) -> Knowledge:
        return survey_results.load_knowledge(self._folder)

    def run_part(self, step: str, number: int) -> None:
        {"survey": self.survey, "find": self.find}[step](number)

    def run_step(self, step: str, what: str) -> None:
        """Run a step for all parts, with several processes if there are several parts.

        If a child fails at a part, this process repeats that part, so that the error is raised here.
        """
        progress = LoggedProgress(what)
        count = min(_PROCESSES, os.cpu_count() or 1, len(self.numbers))
        common = _CHILD, self._corpus, self._folder, self._sections, self._passages, step
        children = [start_child(*common, first, count) for first in range(count)] if count > 1 else []
        try:
            for done, number in enumerate(self.numbers):
                if children:
                    children[done % count].stdout.readline()  # type: ignore[union-attr]
                self.run_part(step, number)
                progress.at(done + 1, len(self.numbers))
        finally:
            for child in children:
                end_child(child)

    def _read_part(self, number: int) -> pa.Table:
        with pa.OSFile(utf8_path(self._corpus / parts.part(number))) as source:
            return pa.ipc.open_file(source).read_all()

    def survey(self, number: int) -> None:
        tables = ("words", "sentences", "titles", "sketches")
        paths = {name: self._folder / f"{name}-{number:05}.arrow" for name in tables}
        if paths["sketches"].exists():  # it is written last
            return
        part = self._read_part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        titles = self._hash_names(names, self._first[number] + np.arange(len(names)))
        survey_tables = survey(texts, titles)
        survey_tables["sentences"] = survey_tables["sentences"].with_columns(pl.col("row") + int(self._first[number]))
        is_opening = [name == opening(text) for name, text in zip(names, texts, strict=True)]
        full = survey_tables["titles"].drop_in_place("full")
        survey_tables["sketches"] = survey_tables["sketches"].with_columns(
            full, stands_in=np.array(is_opening, np.uint8)
        )
        for name in ("words", "sentences", "titles"):
            runs.write(paths[name], survey_tables[name], "hash")
        runs.write(paths["sketches"], survey_tables["sketches"])

    def _hash_names(self, names: list[str], rows: Any) -> Columns:
        table = hash_names(names, sections=self._sections)
        return table | {"row": rows.astype(np.uint32)}

    def other_names(self) -> pl.DataFrame:
        table = parts.map_table(self._corpus / parts.ALIAS)
        aliases = self._hash_names(table.column("title").to_pylist(), parts.column(table, "document"))
        names = pl.DataFrame(aliases).drop("full").with_columns(small=pl.lit(0, pl.UInt8))
        links = (parts.map_table(self._corpus / parts.part(number)).column("links") for number in self.numbers)
        if any(pc.any(pc.not_equal(column, "")).as_py() for column in links):
            document_names = pl.DataFrame(source_links.name_documents(np.arange(self._first[-1])))
            names = pl.concat([names, document_names.select(names.columns)])
        return names

    def find(self, number: int) -> None:
        path = self._folder / f"found-{number:05}.arrow"
        if path.exists():
            return
        part = self._read_part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        bodies = np.fromiter((len(name) + 1 for name in names), np.int64, len(names))
        passages = _Passages(part.column("spans").combine_chunks())
        tables = []

        def add(columns: Columns, begin: int) -> None:
            document = begin + columns.pop("text")
            columns["start"] = columns["start"] + bodies[document]
            columns["end"] = columns["end"] + bodies[document]
            passage, in_passage = passages.locate(document, columns["start"], columns["end"])
            row = self._first[number] + document
            columns |= {"row": row, "place": self.ahead[row] + passage}
            kinds = {"hash": np.uint64, "kind": np.uint8}
            tables.append(
                {name: values[in_passage].astype(kinds.get(name, np.uint32)) for name, values in columns.items()}
            )

        for begin, chunk in chunks(texts):
            add(find_mentions(words(chunk), self.known, words(names[begin : begin + len(chunk)])), begin)
        if any(part.column("links").to_pylist()):
            add(self._source_links.mentions(part, sections=self._sections), 0)
        runs.write(path, {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}, "hash")


class _Passages:
    """Ranges of the passages of a part's documents."""

    def __init__(self, spans: pa.ListArray) -> None:
        # Go through a table: the direct conversion to NumPy imports pandas, which is slow.
        tables = (pa.Table.from_arrays([array], names=["number"]) for array in (spans.values, spans.offsets))
        flat, offsets = (parts.column(table, "number").astype(np.int64) for table in tables)
        self._first = offsets // 2
        begins, self._ends = flat[::2], flat[1::2]
        self._keys = (np.repeat(np.arange(len(self._first) - 1), np.diff(self._first)) << 32) + begins

    def locate(self, document: Any, start: Any, end: Any) -> tuple[Any, Any]:
        """Return the index, within its document, of the passage around each phrase, and whether there is one."""
        index = np.searchsorted(self._keys, (document << 32) + start, side="right") - 1
        is_inside = (index >= self._first[document]) & (end <= self._ends[np.maximum(index, 0)])
        return index - self._first[document], is_inside
