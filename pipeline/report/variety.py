"""How unlike each other the accepted pairs are: what they are made of, how they begin, and what they rest on."""

import math
from collections import Counter

from pipeline.gates.overused_opening import opening
from pipeline.report.figures import Diversity, counted
from pipeline.text import normalise
from pipeline.types import Record, Status

MOST_SHOWN = 8
"""Of what may be different in every pair."""


class Variety:
    """Counts one record at a time."""

    def __init__(self) -> None:
        self._pairs = 0
        self._families: Counter[str] = Counter()
        self._answer_types: Counter[str] = Counter()
        self._openings: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._spelled: dict[str, str] = {}
        """An answer by its normal form: as it was first spelled."""
        self._relations: Counter[str] = Counter()
        self._passages: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        draft = record.draft
        if record.status is not Status.ACCEPTED:
            return
        self._pairs += 1
        if draft:
            self._families[draft.family] += 1
            self._answer_types[draft.answer_type] += 1
            self._openings[opening(draft.question)] += 1
            self._answers[self._spelled.setdefault(normalise(draft.answer), draft.answer)] += 1
            self._relations.update({hop.relation for hop in draft.hops if hop.relation})
            self._passages.update({f"{hop.title} [{hop.passage_id}]" for hop in draft.hops})

    def row(self) -> Diversity:
        return Diversity(
            pairs=self._pairs,
            families=counted(self._families),
            answer_types=counted(self._answer_types),
            relations=counted(self._relations)[:MOST_SHOWN],
            openings=counted(self._openings)[:MOST_SHOWN],
            answers=counted(self._answers)[:MOST_SHOWN],
            passages=counted(self._passages)[:MOST_SHOWN],
            relation_entropy=entropy(self._relations),
            answer_type_entropy=entropy(self._answer_types),
        )


def entropy(counts: Counter[str]) -> float:
    """In bits; 0 where there is nothing, or only one thing."""
    whole = counts.total()
    return -sum(n / whole * math.log2(n / whole) for n in counts.values() if n) + 0.0
