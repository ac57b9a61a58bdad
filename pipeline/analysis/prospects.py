"""What questions a corpus seems to carry, estimated from a sample of its passages without a model.

A question of N steps needs N documents that lead to each other, and an operation needs linked passages with amounts or
dates, or a phrase that several documents share. Whether a model makes a question of them, and whether it is hard
enough, only a pilot shows.
"""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from pipeline.corpus.seed_passages import explain_refusals, quality
from pipeline.corpus.train_eval_split import Side, side
from pipeline.links.related import Related, SideLinks
from pipeline.links.stored import StoredLinks
from pipeline.operations import operations
from pipeline.text import dates, numbers
from pipeline.types import Data, Passage

_SAMPLE = 200
LONGEST = 6
"""The most steps that are looked for."""
_MOST_VISITS = 40
_SEEDS_PER_PAIR = (3, 10)
"""The seeds that a pair takes: with a strong model on a corpus that suits it, and where `generate` gives up."""
_OFTEN = 0.2
"""The least share of seeds that carry a number of steps or an operation that is named."""
_SET = 3
"""The fewest documents of a set of things."""
GROUPS = {
    "amounts": frozenset(("difference", "extreme", "product", "ratio", "sum")),
    "dates": frozenset(("difference", "extreme")),
    "things in common": frozenset(("count", "filter", "intersect", "list", "yes_no")),
}
"""The operations that linked passages with these contents carry."""


class Prospects(Data):
    passages: int
    seeds: int
    """About how many passages can start a question."""
    refused: dict[str, int]
    """Sampled passages that cannot, by reason."""
    steps: dict[int, float]
    """For each number of steps, the share of seeds that start a walk along links through as many documents."""
    operations: dict[str, float]
    """For each operation, the share of seeds with linked passages that carry it."""

    @property
    def pairs(self) -> tuple[int, int]:
        """Return about how many pairs of several steps the linked seeds may give."""
        linked, (few, many) = round(self.seeds * self.steps[2]), _SEEDS_PER_PAIR
        return linked // many, linked // few

    def describe(self) -> str:
        if not self.seeds:
            return f"No sampled passage can start a question: {explain_refusals(self.refused)}"
        steps = [f"{number} ({share:.0%})" for number, share in self.steps.items() if share >= _OFTEN and number > 1]
        ranked = sorted(self.operations.items(), key=lambda each: (-each[1], each[0]))
        names = [f"{name} ({share:.0%})" for name, share in ranked if share >= _OFTEN]
        few, many = self.pairs
        return (
            f"About {self.seeds:,} of {self.passages:,} passages can start a question, which may give {few:,} to "
            f"{many:,} pairs of several steps. Steps that links carry, with the share of seeds: "
            f"{', '.join(steps) or 'none often'}; operations: {', '.join(names) or 'none often'}. No model was asked: "
            "'digsite pilot' makes a few pairs and says more."
        )


def estimate_prospects(links: StoredLinks) -> Prospects:
    corpus = links.corpus
    places = range(0, len(corpus.passages), len(corpus.passages) // _SAMPLE + 1)
    sample = [corpus.in_order_of_ids(place) for place in places]
    reasons = [quality(passage, corpus.language) for passage in sample]
    seeds = [passage for passage, reason in zip(sample, reasons, strict=True) if reason is None]
    sides = {name: SideLinks(links, name) for name in get_args(Side)}
    steps, groups = Counter[int](), Counter[str]()
    for seed in seeds:
        own_side = sides[side(seed.document_id)]
        steps.update(range(1, _count_steps(seed, own_side) + 1))
        groups.update(_list_contents(seed, own_side.related(seed)))
    share = 1 / max(1, len(seeds))
    offered = {name for name, operation in operations().items() if operation.is_offered}
    by_operation = {
        name: max(groups[group] for group, names in GROUPS.items() if name in names) * share for name in sorted(offered)
    }
    return Prospects(
        passages=len(corpus.passages),
        seeds=round(len(seeds) * len(corpus.passages) / len(sample)),
        refused=dict(Counter(filter(None, reasons))),
        steps={number: round(steps[number] * share, 3) for number in range(1, LONGEST + 1)},
        operations={name: round(value, 3) for name, value in by_operation.items()},
    )


def _count_steps(seed: Passage, links: SideLinks) -> int:
    """Return how many documents a walk along links from a passage passes, `LONGEST` at most."""
    best, visits = 1, 0
    walks = [(seed, frozenset((seed.document_id,)))]
    while walks and best < LONGEST and visits < _MOST_VISITS:
        passage, visited = walks.pop()
        visits += 1
        best = max(best, len(visited))
        for related in reversed(links.related(passage)):
            for target in reversed(related.passages):
                if target.document_id not in visited:
                    walks.append((target, visited | {target.document_id}))
    return best


def _list_contents(seed: Passage, related: Sequence[Related]) -> list[str]:
    """Return the keys of `GROUPS` that a passage and those that it is linked to have in common."""
    texts = [passage.text for phrase in related for passage in phrase.passages]
    has_contents = {
        "amounts": bool(numbers(seed.text)) and any(map(numbers, texts)),
        "dates": bool(dates(seed.text)) and any(map(dates, texts)),
        "things in common": any(phrase.documents >= _SET for phrase in related),
    }
    return [contents for contents, has in has_contents.items() if has]
