"""Find the other passages of a corpus that contain the phrases of a passage."""

from functools import lru_cache

import numpy as np

from pipeline.corpus.train_eval_split import Side, side
from pipeline.links.stored import Mention, StoredLinks
from pipeline.links.tokens import U64
from pipeline.types import Data, Passage


class Related(Data):
    """A phrase of a passage, with passages of other documents that hold it."""

    phrase: str
    documents: int
    """Number of documents that contain the phrase."""
    passages: tuple[Passage, ...]
    sentences: tuple[str, ...]
    """For each passage, the sentence that contains the phrase; empty if only its title does."""


class SideLinks:
    """Links between documents of one side of the split, or between all documents if no side is named."""

    def __init__(self, links: StoredLinks, of: Side | None = None) -> None:
        self.stored, self._side = links, of
        self._places = lru_cache(1 << 14)(self._read_places)

    def __len__(self) -> int:
        return len(self.stored)

    def mentions(self, number: int) -> list[Mention]:
        """Return where the documents of this side hold a phrase."""
        return [mention for mention in self.stored.mentions(number) if self._is_here(mention.place)]

    def related(self, passage: Passage, each: int = 3, phrases: int = 8) -> list[Related]:
        """Return what the phrases of a passage lead to, those of the fewest documents first.

        Args:
            passage: the passage whose phrases are looked up; one that the corpus lacks has none.
            each: the most passages of each phrase; every document gives one before any gives a second.
            phrases: the most phrases.
        """
        links, results = self.stored, list[Related]()
        if (place := links.corpus.place(passage.id)) is None:
            return []
        for phrase in sorted(map(links.phrase, links.of(place)), key=lambda phrase: (phrase.documents, phrase.number)):
            places, groups = self._places(phrase.number)
            elsewhere = np.flatnonzero(groups != links.group(place))
            first = np.sort(np.unique(groups[elsewhere], return_index=True)[1])
            if not len(elsewhere) or len(results) == phrases:
                continue
            related_places = places[elsewhere[[*first, *np.delete(np.arange(len(elsewhere)), first)]]].tolist()[:each]
            if related_places:
                sentences = tuple(
                    links.sentence(links.mention(phrase.number, related_place)) for related_place in related_places
                )
                passages = tuple(map(links.passage, related_places))
                text = links.text(phrase.number)
                results.append(Related(phrase=text, documents=phrase.documents, passages=passages, sentences=sentences))
        return results

    def _read_places(self, number: int) -> tuple[U64, U64]:
        places, groups = self.stored.places(number)
        if self._side is None:
            return places, groups
        here = [self._is_here(int(place)) for place in places]
        return places[here], groups[here]

    def _is_here(self, place: int) -> bool:
        return self._side is None or side(self.stored.passage(place).document_id) == self._side
