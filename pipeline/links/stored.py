"""Read the links of a prepared corpus: which passages share a phrase. Files are mapped, and read on demand."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.corpus import Corpus
from pipeline.links import sorted_tables as runs
from pipeline.links.mentions import KINDS
from pipeline.links.tokens import LONGEST, U64, phrases, words
from pipeline.text import sentences
from pipeline.types import Passage

FILES = ("phrases.arrow", "mentions.arrow", "passages.arrow", "groups.arrow")


class Mention(NamedTuple):
    """A phrase in a passage."""

    place: int
    """Place of the passage in the corpus."""
    start: int
    end: int
    """Offsets in the document's `stored` text, in code points. Both are 0 if the phrase is the document's title and
    does not occur in the passage."""
    home: bool
    """Whether the phrase is the title of the passage's document."""


class Phrase(NamedTuple):
    number: int
    kind: str
    """`title`, `name`, `identifier`, `word` or `stated`."""
    documents: int
    """Number of documents that contain it or have it as title. Versions count as one."""


class StoredLinks:
    """Links of a corpus. Phrases and passages are numbered; a passage's number is its place in the corpus.

    All methods may be called from any thread.
    """

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.corpus = corpus
        self._phrases, self._mentions, self._passages, groups = (runs.read(folder / name) for name in FILES)
        self._group = groups["group"]
        self.mentions = lru_cache(1 << 16)(self._read_mentions)
        self.places = lru_cache(1 << 16)(self._read_places)
        self.of = lru_cache(1 << 16)(self._read_phrases)

    def __len__(self) -> int:
        return len(self._phrases["hash"])

    @property
    def linked(self) -> int:
        return len(runs.heads(self._passages["place"]))

    def phrase(self, number: int) -> Phrase:
        return Phrase(number, KINDS[self._phrases["kind"][number]], int(self._phrases["documents"][number]))

    def find(self, phrase: str) -> int | None:
        """Return the number of a phrase. Case does not matter."""
        tokens = words([phrase])
        if not 0 < len(tokens) <= LONGEST:
            return None
        hashes = phrases(tokens.hash, np.zeros(1, np.int64), np.array([len(tokens)]))
        number = int(runs.find(self._phrases["hash"], hashes)[0])
        return None if number < 0 else number

    def group(self, place: int) -> int:
        """Return the row of a passage's document, or of the first of its versions."""
        return int(self._group[self.corpus.row(place)])

    def text(self, number: int) -> str:
        """Return a phrase as the first passage that contains it writes it."""
        first = next(mention for mention in self.mentions(number) if mention.end)
        passage = self.passage(first.place)
        return " ".join(passage.text[first.start - passage.start : first.end - passage.start].split())

    def sentence(self, mention: Mention) -> str:
        """Return the sentence that contains the phrase; empty if only the title does."""
        if not mention.end:
            return ""
        passage = self.passage(mention.place)
        offset = mention.start - passage.start
        containing = (passage.text[slice(*span)] for span in sentences(passage.text) if span.start <= offset < span.end)
        return " ".join(next(containing, "").split())

    def mention(self, number: int, place: int) -> Mention:
        return next(mention for mention in self.mentions(number) if mention.place == place)

    def passage(self, place: int) -> Passage:
        return self.corpus.passages[place]

    def _mention_rows(self, number: int) -> slice:
        first = self._phrases["first"]
        return slice(int(first[number]), int(first[number + 1]) if number + 1 < len(first) else None)

    def _read_mentions(self, number: int) -> tuple[Mention, ...]:
        rows = self._mention_rows(number)
        columns = (self._mentions[name][rows].tolist() for name in Mention._fields)
        return tuple(Mention(place, start, end, bool(home)) for place, start, end, home in zip(*columns, strict=True))

    def _read_phrases(self, place: int) -> tuple[int, ...]:
        places, key = self._passages["place"], np.uint32(place)
        rows = slice(np.searchsorted(places, key), np.searchsorted(places, key, side="right"))
        return tuple(self._passages["phrase"][rows].tolist())

    def _read_places(self, number: int) -> tuple[U64, U64]:
        """Return the places of the passages that contain a phrase, and the groups of their documents."""
        passages = self._mentions["place"][self._mention_rows(number)]
        return passages.astype(np.uint64), np.array([self.group(int(place)) for place in passages], np.uint64)
