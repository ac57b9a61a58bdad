"""How connected a corpus is, and which targets it can carry; known before anything is paid for."""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from pipeline.corpus.split import Side, side
from pipeline.errors import UsageError
from pipeline.links.offers import offers
from pipeline.links.stored import Links
from pipeline.links.walks import Walks
from pipeline.retrieval.base import Retriever
from pipeline.types import Data

TARGETS = (2, 3, 4, 6, 8)
_SAMPLE = 100
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
    def too_deep(self) -> list[int]:
        """The numbers of hops that the corpus cannot carry."""
        return [int(hops) for hops, share in (self.offers or self.walks).items() if share < _LEAST]

    def in_words(self) -> dict[str, str]:
        shown = {"links": f"{self.phrases:,} phrases, one or more in {self.linked:.0%} of passages"}
        for name, shares in (("walks", self.walks), ("walks to a hidden end", self.offers)):
            words = ", ".join(f"{hops} hops from {share:.0%}" for hops, share in shares.items())
            shown |= {name: f"{words} of passages" if self.phrases else "none"} if shares else {}
        return shown | {"targets too deep": ", ".join(map(str, self.too_deep)) or "none"}


async def coverage(
    links: Links, retrievers: Sequence[Retriever], k: int, targets: Sequence[int] = TARGETS, sample: int = _SAMPLE
) -> Coverage:
    """From a sample of passages that rests on the ids of documents alone."""
    total = len(links.corpus.passages)
    chosen = np.random.default_rng(0).choice(total, min(sample, total), replace=False)
    passages = [links.corpus.in_order_of_ids(int(place)) for place in chosen]
    walks = {of: Walks(links, "coverage", of) for of in get_args(Side)}
    walked, offered = {str(hops): 0 for hops in targets}, {str(hops): 0 for hops in targets}
    for passage in passages:
        start, own = links.corpus.place(passage.id) or 0, walks[side(passage.document_id)]
        for hops in targets:
            walked[str(hops)] += own.any(start, hops) is not None
            offered[str(hops)] += bool(retrievers and await offers(own, start, hops, retrievers, k, most=1))
    return Coverage(
        phrases=len(links), linked=links.linked / total, sampled=len(passages),
        walks={hops: count / len(passages) for hops, count in walked.items()},
        offers={hops: count / len(passages) for hops, count in offered.items()} if retrievers else {},
    )  # fmt: skip


async def check(links: Links, retrievers: Sequence[Retriever], k: int, targets: Sequence[int]) -> None:
    """Raises UsageError where the corpus has too few walks of a target to make questions of."""
    found = await coverage(links, retrievers, k, targets)
    if found.too_deep:
        hops = found.too_deep[0]
        share = (found.offers or found.walks)[str(hops)]
        raise UsageError(
            f"a target of {hops} is too deep for {links.corpus.manifest.name}: walks of {hops} hops start from "
            f"{share:.0%} of its passages; give a lower --target, or --strategy sage"
        )
