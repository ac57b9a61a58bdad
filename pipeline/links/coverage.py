"""How connected a corpus is, and which targets it can carry; known before anything is paid for."""

from collections.abc import Sequence
from typing import cast, get_args

import numpy as np

from pipeline.corpus.split import Side, side
from pipeline.links.offered_walks import offers
from pipeline.links.stored import StoredLinks
from pipeline.links.walks import Walks
from pipeline.retrieval.base import Retriever
from pipeline.types import Data

TARGETS = (2, 3, 4, 6, 8)
SAMPLE = 100
"""Passages from which walks are looked for."""
_LEAST = 0.05
"""The share of passages that a target needs an offer from; of fewer, most seeds would be passed over."""


class Coverage(Data):
    phrases: int
    """That link documents."""
    linked: float
    """The share of passages that hold one."""
    sampled: int
    """Passages from which walks were looked for."""
    walks: dict[str, float]
    """For each number of hops the share of these that a walk starts from."""
    offers: dict[str, float]
    """The share that a walk starts from whose end a search for its own words does not find; empty where no retriever
    was at hand."""

    @property
    def scarce(self) -> list[int]:
        """The numbers of hops for which most seeds would be passed over."""
        return [int(hops) for hops, share in (self.offers or self.walks).items() if share < _LEAST]

    def in_words(self) -> dict[str, str]:
        shown = {"links": f"{self.phrases:,} phrases, one or more in {self.linked:.0%} of passages"}
        for name, shares in (("walks", self.walks), ("walks to a hidden end", self.offers)):
            words = ", ".join(f"{hops} hops from {share:.0%}" for hops, share in shares.items())
            shown |= {name: f"{words} of passages" if self.phrases else "none"} if shares else {}
        return shown | {"targets with few walks": ", ".join(map(str, self.scarce)) or "none"}


async def coverage(
    links: StoredLinks, retrievers: Sequence[Retriever], k: int, targets: Sequence[int] = TARGETS, sample: int = SAMPLE
) -> Coverage:
    """From a sample of passages that rests on the ids of documents alone."""
    starts = _starts(links, sample)
    walked, offered = {str(hops): 0 for hops in targets}, {str(hops): 0 for hops in targets}
    for start, own in starts:
        for hops in targets:
            walked[str(hops)] += own.any(start, hops) is not None
            offered[str(hops)] += bool(retrievers and await offers(own, start, hops, retrievers, k, most=1))
    return Coverage(
        phrases=len(links), linked=links.linked / len(links.corpus.passages), sampled=len(starts),
        walks={hops: count / len(starts) for hops, count in walked.items()},
        offers={hops: count / len(starts) for hops, count in offered.items()} if retrievers else {},
    )  # fmt: skip


def deepest(links: StoredLinks, most: int) -> int:
    """The longest walk of so many hops at most that starts from the sample; 0 where there is none of two."""
    sample = _starts(links, SAMPLE)
    return next((hops for hops in range(most, 1, -1) if any(own.any(start, hops) for start, own in sample)), 0)


def _starts(links: StoredLinks, sample: int) -> list[tuple[int, Walks]]:
    """Passages by their places, each with the walks of its side."""
    total = len(links.corpus.passages)
    chosen = np.random.default_rng(0).choice(total, min(sample, total), replace=False)
    passages = [links.corpus.in_order_of_ids(int(place)) for place in chosen]
    walks = {of: Walks(links, "coverage", of) for of in get_args(Side)}
    return [(cast(int, links.corpus.place(passage.id)), walks[side(passage.document_id)]) for passage in passages]
