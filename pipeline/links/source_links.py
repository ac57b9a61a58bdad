"""Links that a source states: where the words of one stand in a text, and the document that it points to."""

import posixpath
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.corpus.documents import opening
from pipeline.corpus.hashes import hashed, places
from pipeline.links.mentions import STATED, Knowledge
from pipeline.links.sorted_tables import Columns
from pipeline.links.survey import FEWEST
from pipeline.links.titles import NONE, named
from pipeline.links.tokens import U64, mixed
from pipeline.text import Span, sentences, strip_tag, words

_LEADS = 2
"""Documents, at most, that the same words lead to: those of more, as "next page", say nothing of any."""
_ROW = np.uint64(0x5374617465640000)


def own(rows: Any) -> U64:
    """Of documents, by their places, the hashes of phrases that mean them alone, whatever their names are."""
    return mixed(rows.astype(np.uint64) ^ _ROW)


def names(rows: Any) -> Columns:
    """These, as `titles.named` gives names."""
    hashes, none = own(rows), np.zeros(len(rows), np.uint8)
    columns: Columns = {"hash": hashes, "begins": hashes, "whole": hashes, "words": none + np.uint8(1)}
    return columns | {"capitals": none, "tagged": none, "small": none, "row": rows.astype(np.uint32)}


class Stated:
    def __init__(self, corpus: Path, titles: Columns, known: Knowledge) -> None:
        self._numbers, self._known = parts.RowNumbers(corpus / parts.ROWS), known
        self._documents = parts.Parts(corpus, len(list(corpus.glob("part-*.arrow"))))
        order = np.argsort(titles["whole"], kind="stable")
        self._whole, self._rows = titles["whole"][order], titles["row"][order]
        found = [
            (at, row)
            for row, (key, url) in enumerate(self._documents.each("id", "url"))
            for at in (_address("", url) if url else None, hashed(_page(key)) if key.endswith(".md") else None)
            if at
        ]
        addresses = np.array(found, np.uint64).reshape(-1, 2)
        self._addresses, self._at_address = addresses[np.argsort(addresses[:, 0], kind="stable")].T

    def mentions(self, part: pa.Table, *, sections: bool) -> Columns:
        """As `mentions.mentions` gives them, where the sentence says something of what the link points to."""
        ids, urls, texts, stated = (part.column(name).to_pylist() for name in ("id", "url", "text", "links"))
        given = [(at, *line.partition("\t")[::2]) for at, lines in enumerate(stated) for line in lines.splitlines()]
        whole = named([target for _, target, _ in given], sections=sections)["whole"]
        rows = [
            self._row(ids[at], urls[at], target, title) for (at, target, _), title in zip(given, whole, strict=True)
        ]
        names = ["" if row is None else self._documents.value(row, "title") for row in rows]
        own_names = named(names, sections=sections)["hash"]
        leads = {(anchor, row) for (_, _, anchor), row in zip(given, rows, strict=True) if anchor}
        buttons = {anchor for anchor, count in Counter(anchor for anchor, _ in leads).items() if count > _LEADS}
        # A title that means this document alone joins all who mention it; what stands for a title is mentioned by none.
        alone = [
            known and row is not None and name != opening(self._documents.value(row, "text"))
            for known, row, name in zip(self._known.titles.names.holds(own_names), rows, names, strict=True)
        ]
        # Links stand in the order of their documents.
        sentences_of = lru_cache(1)(lambda at: sentences(texts[at]))
        found = [
            (title if only else own(np.array([row]))[0], at, *span)
            for (at, _, anchor), row, name, title, only in zip(given, rows, names, own_names, alone, strict=True)
            if row is not None
            and anchor not in buttons
            and (span := _span(texts[at], sentences_of(at), anchor or strip_tag(name)))
        ]
        kinds = {"hash": np.uint64, "text": np.int64, "start": np.int64, "end": np.int64}
        columns = zip(*found, strict=True) if found else ((), (), (), ())
        table = {name: np.array(values, kind) for (name, kind), values in zip(kinds.items(), columns, strict=True)}
        return table | {"kind": np.full(len(found), STATED, np.uint8)}

    def _row(self, own_id: str, own_url: str, target: str, title: np.uint64) -> int | None:
        """Return the document of that id or of that path beside its own, with `.md` or without, or the only one of
        that address, title or name of a page."""
        address = unquote(target.partition("#")[0].partition("?")[0])
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(own_id), address))
        for name in (target, beside, f"{target}.md", f"{beside}.md"):
            for place in places(self._numbers.hashes, hashed(name)):
                return int(self._numbers.rows[place])
        there = _address(own_url, target) if len(self._addresses) else None
        rows: Any = self._at_address[list(places(self._addresses, there))] if there else ()
        if not len(rows) and title != NONE:
            left, right = (int(np.searchsorted(self._whole, title, side=side)) for side in ("left", "right"))
            rows = np.unique(self._rows[left:right])
        if not len(rows):
            rows = self._at_address[list(places(self._addresses, hashed(_page(f"{address}.md"))))]
        return int(rows[0]) if len(rows) == 1 else None


def _page(path: str) -> str:
    """Return the name that a wiki knows a page by, in whatever folder it lies. No address has its form."""
    return f"page:{posixpath.basename(path)}"


def _address(page: str, target: str) -> int | None:
    """A hash of the address that a link on a page leads to, whatever its scheme and its place there are."""
    try:
        parts = urlsplit(urljoin(page, target))
    except ValueError:
        return None
    path = unquote(parts.path).rstrip("/")
    return hashed(f"{parts.netloc.lower().removeprefix('www.')}{path}?{parts.query}") if parts.netloc else None


def _span(text: str, said: Sequence[Span], words_there: str) -> tuple[int, int] | None:
    """Where the words of a link stand in a text, in one of its sentences that says more."""
    # What comes before is looked at last: a pattern that begins with plain characters is found much faster.
    name = re.escape(words_there)
    found = re.search(rf"{name}(?<!\w{name})(?!\w)", text) if words_there else None
    if found is None:
        return None
    at = bisect_right(said, found.start(), key=lambda span: span.start) - 1
    sentence = text[slice(*said[at])] if at >= 0 and found.start() < said[at].end else ""
    return found.span() if len(words(sentence)) - len(words(words_there)) >= FEWEST else None
