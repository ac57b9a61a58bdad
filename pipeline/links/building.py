"""The links of a corpus, found in two passes over its parts, each of them streaming, and on from the last finished file
after a kill. The bytes rest on nothing but the corpus and the settings.

First each part is surveyed (`survey`), and what is found is put together (`learning`); then the phrases of each part
are found (`mentions`), and those that few documents hold are kept (`collecting`).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.corpus import Corpus, parts
from pipeline.corpus.progress import LoggedProgress
from pipeline.links import collecting, learning, runs, titles
from pipeline.links.mentions import Knowledge, mentions
from pipeline.links.runs import Columns
from pipeline.links.survey import chunks, survey
from pipeline.links.tokens import words

_THREADS = 4
"""Parts at once, at most; NumPy works without Python's lock."""


def build(corpus: Corpus, folder: Path, most: int) -> None:
    """Fill the folder, going on with what an earlier process left in it."""
    rows, count = parts.RowNumbers(corpus.folder / parts.ROWS), len(list(corpus.folder.glob("part-*.arrow")))
    sections = len(corpus.manifest.fields.title) > 1
    first = np.cumsum([0, *(parts.mapped(corpus.folder / parts.part(number)).num_rows for number in range(count))])
    _each(count, partial(_survey, corpus.folder, folder, first, sections=sections), f"{corpus.manifest.name}: surveyed")
    if not (folder / "titles.arrow").exists():
        learning.learn(folder, count, _aliases(corpus.folder, sections=sections), most)
    known = learning.knowledge(folder)
    find = partial(_mentions, corpus.folder, folder, first, rows.first, known)
    _each(count, find, f"{corpus.manifest.name}: searched for links")
    group = runs.read(folder / "groups.arrow")["group"]
    collecting.collect(folder, count, rows.first, len(corpus.passages), known.titles.several, group, most)


def _each(count: int, work: Callable[[int], None], what: str) -> None:
    progress = LoggedProgress(what)
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1, max(count, 1))) as pool:
        for done, _ in enumerate(pool.map(work, range(count)), 1):
            progress.at(done, count)


def _part(folder: Path, number: int) -> pa.Table:
    with pa.OSFile(str(folder / parts.part(number))) as source:
        return pa.ipc.open_file(source).read_all()


def _survey(corpus: Path, folder: Path, first: runs.Columns, number: int, *, sections: bool) -> None:
    paths = {name: folder / f"{name}-{number:05}.arrow" for name in ("words", "sentences", "ends", "titles", "sketches")}
    if paths["sketches"].exists():
        return
    part = _part(corpus, number)
    texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
    tables = survey(texts)
    named = _named(names, np.arange(len(names)), sections=sections)
    for begin, some in chunks(texts):
        named["small"][titles.written_small(named, words(some), begin)] = 1
    tables["sentences"]["row"] += np.uint32(first[number])
    named["row"] += np.uint32(first[number])
    full = named.pop("full")
    runs.write(paths["titles"], named, "hash")
    for name in ("words", "sentences", "ends"):
        runs.write(paths[name], tables[name], "hash")
    runs.save(paths["sketches"], tables["sketches"] | {"full": full})


def _named(names: list[str], rows: runs.Columns, *, sections: bool) -> Columns:
    table = titles.named(names, sections=sections)
    return table | {"row": rows.astype(np.uint32), "small": np.zeros(len(names), np.uint8)}


def _aliases(corpus: Path, *, sections: bool) -> Columns:
    table = parts.mapped(corpus / parts.ALIAS)
    named = _named(table.column("title").to_pylist(), parts.column(table, "document"), sections=sections)
    del named["full"]
    return named


def _mentions(corpus: Path, folder: Path, first: Columns, ahead: Columns, known: Knowledge, number: int) -> None:
    path = folder / f"found-{number:05}.arrow"
    if path.exists():
        return
    part = _part(corpus, number)
    texts, names = part.column("text").to_pylist(), part.column("title").to_pylist()
    spans = part.column("spans").combine_chunks()
    ends, offsets = parts_ends(spans)
    found = []
    for begin, some in chunks(texts):
        columns = mentions(words(some), known, words(names[begin : begin + len(some)]))
        document = begin + columns.pop("text")
        body = np.fromiter((len(names[row]) + 1 for row in range(begin, begin + len(some))), np.int64, len(some))
        for name in ("start", "end"):
            columns[name] = columns[name] + body[document - begin]
        # A passage is the last one of its document that begins at or before the phrase and holds its end.
        key = (np.repeat(np.arange(len(texts)), np.diff(offsets) // 2) << 32) + ends[::2]
        at = np.searchsorted(key, (document << 32) + columns["start"], side="right") - 1
        held = (at >= offsets[document] // 2) & (columns["end"] <= ends[1::2][np.maximum(at, 0)])
        row = first[number] + document
        place = ahead[row].astype(np.int64) + at - offsets[document] // 2
        columns |= {"row": row, "place": place}
        kinds = {"hash": np.uint64, "kind": np.uint8}
        found.append({name: values[held].astype(kinds.get(name, np.uint32)) for name, values in columns.items()})
    runs.write(path, {name: np.concatenate([one[name] for one in found]) for name in found[0]}, "hash")


def parts_ends(spans: pa.ListArray) -> tuple[runs.Columns, runs.Columns]:
    """The places where passages begin and end, two for each, and which of them are each document's."""
    values = np.asarray(spans.values.to_numpy(zero_copy_only=False), np.int64)
    return values, np.asarray(spans.offsets.to_numpy(zero_copy_only=False), np.int64)
