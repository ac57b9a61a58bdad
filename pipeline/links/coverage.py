"""How many passages of a corpus are linked to others. This is known before a run costs anything."""

from pipeline.links.stored import StoredLinks
from pipeline.types import Data


class Coverage(Data):
    phrases: int
    """Number of phrases that link documents."""
    linked: float
    """Fraction of passages that contain such a phrase."""

    def in_words(self) -> dict[str, str]:
        return {"links": f"{self.phrases:,} phrases, one or more in {self.linked:.0%} of passages"}


def coverage(links: StoredLinks) -> Coverage:
    return Coverage(phrases=len(links), linked=links.linked / len(links.corpus.passages))
