"""Resolve the links that a source contains: the range of their words in a text, and the document they point to."""

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
from pipeline.corpus.hashes import hash_text, places
from pipeline.links.mentions import STATED, Knowledge
from pipeline.links.sorted_tables import Columns
from pipeline.links.survey import FEWEST
from pipeline.links.titles import NONE, hash_names
from pipeline.links.tokens import U64, mix_bits
from pipeline.text import Span, sentences, strip_tag, words

_LEADS = 2
"""Most documents that the same words may link to. Words with more targets, such as "next page", describe none."""
_ROW = np.uint64(0x5374617465640000)


def document_hashes(rows: Any) -> U64:
    """Return the hashes of phrases that mean only the documents in these rows, whatever their names are."""
    return mix_bits(rows.astype(np.uint64) ^ _ROW)


def name_documents(rows: Any) -> Columns:
    """Return these hashes in the format of `titles.hash_names`."""
    hashes, none = document_hashes(rows), np.zeros(len(rows), np.uint8)
    columns: Columns = {"hash": hashes, "begins": hashes, "whole": hashes, "words": none + np.uint8(1)}
    return columns | {"capitals": none, "tagged": none, "small": none, "row": rows.astype(np.uint32)}


class SourceLinks:
    def __init__(self, corpus: Path, titles: Columns, knowledge: Knowledge) -> None:
        self._numbers, self._knowledge = parts.RowNumbers(corpus / parts.ROWS), knowledge
        self._documents = parts.Parts(corpus, len(list(corpus.glob("part-*.arrow"))))
        order = np.argsort(titles["whole"], kind="stable")
        self._whole, self._rows = titles["whole"][order], titles["row"][order]
        pairs = [
            (at, row)
            for row, (key, url) in enumerate(self._documents.iterate_columns("id", "url"))
            for at in (
                _hash_address("", url) if url else None,
                hash_text(_page_name(key)) if key.endswith(".md") else None,
            )
            if at
        ]
        addresses = np.array(pairs, np.uint64).reshape(-1, 2)
        self._addresses, self._at_address = addresses[np.argsort(addresses[:, 0], kind="stable")].T

    def mentions(self, part: pa.Table, *, sections: bool) -> Columns:
        """Find the links of a part, in the format of `mentions.find_mentions`.

        A link counts only if its sentence says something about its target.
        """
        ids, urls, texts, stated = (part.column(name).to_pylist() for name in ("id", "url", "text", "links"))
        links = [(at, *line.partition("\t")[::2]) for at, lines in enumerate(stated) for line in lines.splitlines()]
        title_hashes = hash_names([target for _, target, _ in links], sections=sections)["whole"]
        rows = [
            self._find_target(ids[at], urls[at], target, title)
            for (at, target, _), title in zip(links, title_hashes, strict=True)
        ]
        name_documents = ["" if row is None else self._documents.value(row, "title") for row in rows]
        name_hashes = hash_names(name_documents, sections=sections)["hash"]
        targets = {(anchor, row) for (_, _, anchor), row in zip(links, rows, strict=True) if anchor}
        buttons = {anchor for anchor, count in Counter(anchor for anchor, _ in targets).items() if count > _LEADS}
        # A title that means only this document also joins documents that mention it without a link.
        # An opening that stands in for a missing title does not.
        is_unique_title = [
            is_known and row is not None and name != opening(self._documents.value(row, "text"))
            for is_known, row, name in zip(
                self._knowledge.titles.names.holds(name_hashes), rows, name_documents, strict=True
            )
        ]
        # Links are sorted by document, so a cache of one text is enough.
        sentences_of = lru_cache(1)(lambda at: sentences(texts[at]))
        mentions = [
            (title if is_unique else document_hashes(np.array([row]))[0], at, *span)
            for (at, _, anchor), row, name, title, is_unique in zip(
                links, rows, name_documents, name_hashes, is_unique_title, strict=True
            )
            if row is not None
            and anchor not in buttons
            and (span := _find_span(texts[at], sentences_of(at), anchor or strip_tag(name)))
        ]
        kinds = {"hash": np.uint64, "text": np.int64, "start": np.int64, "end": np.int64}
        columns = zip(*mentions, strict=True) if mentions else ((), (), (), ())
        table = {name: np.array(values, kind) for (name, kind), values in zip(kinds.items(), columns, strict=True)}
        return table | {"kind": np.full(len(mentions), STATED, np.uint8)}

    def _find_target(self, own_id: str, own_url: str, target: str, title: np.uint64) -> int | None:
        """Return the document that a link points to, or None.

        It is the document with that id, or with that path relative to the linking document, with or without `.md`.
        Otherwise it is the only document with that address, title or page name.
        """
        address = unquote(target.partition("#")[0].partition("?")[0])
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(own_id), address))
        for name in (target, relative, f"{target}.md", f"{relative}.md"):
            for index in places(self._numbers.hashes, hash_text(name)):
                return int(self._numbers.rows[index])
        address_hash = _hash_address(own_url, target) if len(self._addresses) else None
        rows: Any = self._at_address[list(places(self._addresses, address_hash))] if address_hash else ()
        if not len(rows) and title != NONE:
            left, right = (int(np.searchsorted(self._whole, title, side=side)) for side in ("left", "right"))
            rows = np.unique(self._rows[left:right])
        if not len(rows):
            rows = self._at_address[list(places(self._addresses, hash_text(_page_name(f"{address}.md"))))]
        return int(rows[0]) if len(rows) == 1 else None


def _page_name(path: str) -> str:
    """Return the name by which a wiki knows a page in any folder. No address has this form."""
    return f"page:{posixpath.basename(path)}"


def _hash_address(page: str, target: str) -> int | None:
    """Return a hash of the address that a link on a page points to, without its scheme and fragment."""
    try:
        parts = urlsplit(urljoin(page, target))
    except ValueError:
        return None
    path = unquote(parts.path).rstrip("/")
    return hash_text(f"{parts.netloc.lower().removeprefix('www.')}{path}?{parts.query}") if parts.netloc else None


def _find_span(text: str, sentence_spans: Sequence[Span], anchor: str) -> tuple[int, int] | None:
    """Return the range of a link's words in a text, or None if their sentence says nothing else."""
    # Check the preceding character last: a pattern that begins with plain characters is much faster.
    name = re.escape(anchor)
    match = re.search(rf"{name}(?<!\w{name})(?!\w)", text) if anchor else None
    if match is None:
        return None
    at = bisect_right(sentence_spans, match.start(), key=lambda span: span.start) - 1
    sentence = text[slice(*sentence_spans[at])] if at >= 0 and match.start() < sentence_spans[at].end else ""
    return match.span() if len(words(sentence)) - len(words(anchor)) >= FEWEST else None
