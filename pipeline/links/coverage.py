"""How many of a corpus' passages are linked to others; known before anything is paid for."""

from pipeline.links.stored import StoredLinks
from pipeline.types import Data


class Coverage(Data):
    phrases: int
    """Phrases that link documents."""
    linked: float
    """The share of passages that hold one."""

    def in_words(self) -> dict[str, str]:
        return {"links": f"{self.phrases:,} phrases, one or more in {self.linked:.0%} of passages"}


def coverage(links: StoredLinks) -> Coverage:
    return Coverage(phrases=len(links), linked=links.linked / len(links.corpus.passages))
