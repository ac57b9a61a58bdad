"""How unlike each other the accepted pairs are: what they are made of, how they begin, and what they rest on."""

import math
from collections import Counter

from pipeline.dataset.gates.quota import opening
from pipeline.text import normalise
from pipeline.types import Record, Status


class Variety:
    """Counts one record at a time."""

    def __init__(self) -> None:
        self.pairs = 0
        self.families: Counter[str] = Counter()
        self.answer_types: Counter[str] = Counter()
        self.openings: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.relations: Counter[str] = Counter()
        self.passages: Counter[str] = Counter()
        self._spelled: dict[str, str] = {}
        """An answer by its normal form: as it was first spelled."""

    def add(self, record: Record) -> None:
        draft = record.draft
        if record.status is not Status.ACCEPTED:
            return
        self.pairs += 1
        if draft:
            self.families[draft.family] += 1
            self.answer_types[draft.answer_type] += 1
            self.openings[opening(draft.question)] += 1
            self.answers[self._spelled.setdefault(normalise(draft.answer), draft.answer)] += 1
            self.relations.update({hop.relation for hop in draft.hops if hop.relation})
            self.passages.update({f"{hop.title} [{hop.passage_id}]" for hop in draft.hops})


def entropy(counts: Counter[str]) -> float:
    """In bits; 0 where there is nothing, or only one thing."""
    whole = counts.total()
    return -sum(n / whole * math.log2(n / whole) for n in counts.values() if n) + 0.0
