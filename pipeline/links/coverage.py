"""How connected a corpus is, and for which targets it has walks; known before anything is paid for."""

import numpy as np

from pipeline.links.stored import Links
from pipeline.links.walks import Walks
from pipeline.types import Data

TARGETS = (2, 3, 4, 6, 8)
_SAMPLE = 100


class Coverage(Data):
    phrases: int
    """That link documents."""
    linked: float
    """The share of passages that hold one."""
    sampled: int
    """Passages from which walks were looked for."""
    walks: dict[str, float]
    """For each number of hops the share of these that a walk starts from."""

    def in_words(self) -> dict[str, str]:
        shares = ", ".join(f"{hops} hops from {share:.0%}" for hops, share in self.walks.items())
        return {
            "links": f"{self.phrases:,} phrases, one or more in {self.linked:.0%} of passages",
            "walks": f"{shares} of passages" if self.phrases else "none",
        }


def coverage(links: Links) -> Coverage:
    """From a sample of passages that rests on the ids of documents alone."""
    sample, walks = starts(links), Walks(links, "coverage")
    found = {str(hops): sum(walks.any(start, hops) is not None for start in sample) / len(sample) for hops in TARGETS}
    linked = links.linked / len(links.corpus.passages)
    return Coverage(phrases=len(links), linked=linked, sampled=len(sample), walks=found)


def deepest(links: Links, most: int) -> int:
    """The longest walk of so many hops at most that starts from the sample; 0 where there is none of two."""
    sample, walks = starts(links), Walks(links, "coverage")
    return next((hops for hops in range(most, 1, -1) if any(walks.any(start, hops) for start in sample)), 0)


def starts(links: Links) -> list[int]:
    """The sample, by the places of its passages."""
    total = len(links.corpus.passages)
    chosen = np.random.default_rng(0).choice(total, min(_SAMPLE, total), replace=False)
    ids = [links.corpus.in_order_of_ids(int(place)).id for place in chosen]
    return [place for place in map(links.corpus.place, ids) if place is not None]
