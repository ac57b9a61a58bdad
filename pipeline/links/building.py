"""The links of a corpus, found in two passes over its parts, each of them streaming, and on from the last finished file
after a kill. The bytes rest on nothing but the corpus and the settings.

First each part is surveyed (`survey`), and what is found is put together (`learning`); then the phrases of each part
are found (`mentions`), and those that few documents hold are kept (`collecting`).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.corpus import Corpus, parts
from pipeline.corpus.progress import LoggedProgress
from pipeline.links import learning, runs
from pipeline.links.collecting import Collector
from pipeline.links.mentions import Knowledge, mentions
from pipeline.links.runs import Columns
from pipeline.links.survey import chunks, survey
from pipeline.links.titles import named
from pipeline.links.tokens import words

_THREADS = 4
"""Parts at once, at most; NumPy works without Python's lock."""


def build(corpus: Corpus, folder: Path, most: int) -> None:
    """Fill the folder, going on with what an earlier process left in it."""
    builder = _Builder(corpus, folder)
    builder.each(builder.survey, "surveyed for links")
    if not (folder / "titles.arrow").exists():  # which is written last
        learning.learn(folder, builder.count, builder.aliases(), most)
    known = learning.knowledge(folder)
    builder.each(lambda number: builder.find(number, known), "searched for links")
    group = runs.read(folder / "groups.arrow")["group"]
    collector = Collector(folder, builder.ahead, known.titles.several, group, learning.limit(group, most))
    collector.collect(learning.files(folder, "found", builder.count))


class _Builder:
    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self._corpus, self._folder, self._name = corpus.folder, folder, corpus.manifest.name
        self._sections = len(corpus.manifest.fields.title) > 1
        self.count = len(list(corpus.folder.glob("part-*.arrow")))
        sizes = [parts.mapped(corpus.folder / parts.part(number)).num_rows for number in range(self.count)]
        self._first = np.cumsum([0, *sizes])
        """The documents before each part."""
        first: Any = parts.RowNumbers(corpus.folder / parts.ROWS).first
        self.ahead = np.append(first, np.uint64(len(corpus.passages))).astype(np.int64)
        """The passages before each document, and at last all."""

    def each(self, work: Callable[[int], None], what: str) -> None:
        """Do it for all parts."""
        progress = LoggedProgress(f"{self._name}: parts {what}")
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1, max(self.count, 1))) as pool:
            for done, _ in enumerate(pool.map(work, range(self.count)), 1):
                progress.at(done, self.count)

    def _part(self, number: int) -> pa.Table:
        with pa.OSFile(str(self._corpus / parts.part(number))) as source:
            return pa.ipc.open_file(source).read_all()

    def survey(self, number: int) -> None:
        tables = ("words", "sentences", "ends", "titles", "sketches")
        paths = {name: self._folder / f"{name}-{number:05}.arrow" for name in tables}
        if paths["sketches"].exists():  # which is written last
            return
        part = self._part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        found = survey(texts, self._named(names, self._first[number] + np.arange(len(names))))
        found["sentences"]["row"] += np.uint32(self._first[number])
        found["sketches"]["full"] = found["titles"].pop("full")
        for name in ("words", "sentences", "ends", "titles"):
            runs.write(paths[name], found[name], "hash")
        runs.save(paths["sketches"], found["sketches"])

    def _named(self, names: list[str], rows: Any) -> Columns:
        table = named(names, sections=self._sections)
        return table | {"row": rows.astype(np.uint32)}

    def aliases(self) -> Columns:
        table = parts.mapped(self._corpus / parts.ALIAS)
        found = self._named(table.column("title").to_pylist(), parts.column(table, "document"))
        del found["full"]
        return found | {"small": np.zeros(len(found["row"]), np.uint8)}

    def find(self, number: int, known: Knowledge) -> None:
        path = self._folder / f"found-{number:05}.arrow"
        if path.exists():
            return
        part = self._part(number)
        texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
        bodies = np.fromiter((len(name) + 1 for name in names), np.int64, len(names))
        passages = _Passages(part.column("spans").combine_chunks())
        found = []
        for begin, some in chunks(texts):
            columns = mentions(words(some), known, words(names[begin : begin + len(some)]))
            document = begin + columns.pop("text")
            columns["start"] = columns["start"] + bodies[document]
            columns["end"] = columns["end"] + bodies[document]
            at, held = passages.holding(document, columns["start"], columns["end"])
            row = self._first[number] + document
            columns |= {"row": row, "place": self.ahead[row] + at}
            kinds = {"hash": np.uint64, "kind": np.uint8}
            found.append({name: values[held].astype(kinds.get(name, np.uint32)) for name, values in columns.items()})
        runs.write(path, {name: np.concatenate([one[name] for one in found]) for name in found[0]}, "hash")


class _Passages:
    """Where the passages of a part's documents begin and end."""

    def __init__(self, spans: pa.ListArray) -> None:
        flat = np.asarray(spans.values.to_numpy(zero_copy_only=False), np.int64)
        self._first = np.asarray(spans.offsets.to_numpy(zero_copy_only=False), np.int64) // 2
        begins, self._ends = flat[::2], flat[1::2]
        self._keys = (np.repeat(np.arange(len(self._first) - 1), np.diff(self._first)) << 32) + begins

    def holding(self, document: Any, start: Any, end: Any) -> tuple[Any, Any]:
        """For each phrase the number of the passage, within its document, that holds it, and whether one does."""
        at = np.searchsorted(self._keys, (document << 32) + start, side="right") - 1
        held = (at >= self._first[document]) & (end <= self._ends[np.maximum(at, 0)])
        return at - self._first[document], held
