"""The links of a prepared corpus: which passages share a phrase. Opened at once, and read where they are asked for."""

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
    """Where a passage holds a phrase."""

    place: int
    """The place of the passage in the corpus."""
    start: int
    end: int
    """Code points of the document's `stored` text; both 0 where the phrase is the document's title and stands nowhere
    in the passage."""
    home: bool
    """Is the phrase the title of the passage's document?"""


class Phrase(NamedTuple):
    number: int
    kind: str
    """`title`, `name`, `identifier`, `word` or `stated`."""
    documents: int
    """That hold it, or have it for a title; versions count as one."""


class StoredLinks:
    """Phrases and passages are given by their numbers: a passage's is its place in the corpus. All methods may be
    called from any thread."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.corpus = corpus
        self._phrases, self._mentions, self._passages, groups = (runs.read(folder / name) for name in FILES)
        self._group = groups["group"]
        self.mentions = lru_cache(1 << 16)(self._read_mentions)
        self.places = lru_cache(1 << 16)(self._read_places)
        self.of = lru_cache(1 << 16)(self._read_of)

    def __len__(self) -> int:
        """The number of phrases."""
        return len(self._phrases["hash"])

    @property
    def linked(self) -> int:
        """The number of passages that hold a phrase."""
        return len(runs.heads(self._passages["place"]))

    def phrase(self, number: int) -> Phrase:
        return Phrase(number, KINDS[self._phrases["kind"][number]], int(self._phrases["documents"][number]))

    def find(self, phrase: str) -> int | None:
        """The number of a phrase, however its letters are written."""
        read = words([phrase])
        if not 0 < len(read) <= LONGEST:
            return None
        asked = phrases(read.hash, np.zeros(1, np.int64), np.array([len(read)]))
        number = int(runs.find(self._phrases["hash"], asked)[0])
        return None if number < 0 else number

    def group(self, place: int) -> int:
        """The document of a passage, or the first of its versions."""
        return int(self._group[self.corpus.row(place)])

    def text(self, number: int) -> str:
        """As the first passage that holds it writes it."""
        first = next(mention for mention in self.mentions(number) if mention.end)
        passage = self.passage(first.place)
        return " ".join(passage.text[first.start - passage.start : first.end - passage.start].split())

    def sentence(self, mention: Mention) -> str:
        """The sentence that holds the phrase; empty where only the title does."""
        if not mention.end:
            return ""
        passage = self.passage(mention.place)
        at = mention.start - passage.start
        found = (passage.text[slice(*span)] for span in sentences(passage.text) if span.start <= at < span.end)
        return " ".join(next(found, "").split())

    def mention(self, number: int, place: int) -> Mention:
        return next(mention for mention in self.mentions(number) if mention.place == place)

    def passage(self, place: int) -> Passage:
        return self.corpus.passages[place]

    def _held(self, number: int) -> slice:
        """Where the mentions of a phrase stand."""
        first = self._phrases["first"]
        return slice(int(first[number]), int(first[number + 1]) if number + 1 < len(first) else None)

    def _read_mentions(self, number: int) -> tuple[Mention, ...]:
        cut = self._held(number)
        columns = (self._mentions[name][cut].tolist() for name in Mention._fields)
        return tuple(Mention(place, start, end, bool(home)) for place, start, end, home in zip(*columns, strict=True))

    def _read_of(self, place: int) -> tuple[int, ...]:
        """The phrases of a passage."""
        places, asked = self._passages["place"], np.uint32(place)
        cut = slice(np.searchsorted(places, asked), np.searchsorted(places, asked, side="right"))
        return tuple(self._passages["phrase"][cut].tolist())

    def _read_places(self, number: int) -> tuple[U64, U64]:
        """Of the passages that hold a phrase, their places and the groups of their documents."""
        at = self._mentions["place"][self._held(number)]
        return at.astype(np.uint64), np.array([self.group(int(place)) for place in at], np.uint64)
