"""The answers of a model in a check of a draft, and measures of prior knowledge and naturalness."""

from collections.abc import Iterable

from pipeline.types.data import Data
from pipeline.types.rollout import Usage


class Searched(Data):
    """A search of a check, and the corpus ids of its hits, best first."""

    query: str
    passage_ids: tuple[str, ...]


class OneSearch(Data):
    """The passages of a question that one search with one retriever finds, among as many hits as agents see."""

    retriever: str
    question_hops: tuple[int, ...]
    """The hops, counted from 0, whose passages a search with the question finds."""
    sub_question_hops: tuple[int, ...]
    """The hops whose passages a search with their own sub-question finds."""


class Probe(Data):
    """The answers of a model in one check of a draft, passed or not, without searching."""

    check: str
    """`closed_book`, `contested` (can the answer of most tries be defended?), `oracle`, `graph` (the faults of steps),
    `wording` (the writer's text), `naturalness` (the answers are the grades), `alternatives`."""
    model: str
    answers: tuple[str, ...]
    """One answer for each try; empty if the model gave none."""
    right: int
    """The number of tries with the known answer; for `alternatives` and `contested`, whether the other answer fits; for
    `naturalness`, whether a grade is high enough."""
    evidence: bool = False
    """Whether the model saw the evidence of the last hop. A right answer without it comes from memory."""
    uncited: tuple[str, ...] = ()
    """The facts that the reader needed and that none of its passages states: those of the last right try, or else of
    the last try."""
    usage: Usage = Usage()
    judged: Usage = Usage()
    """The usage of the judges."""
    second: Usage = Usage()
    """The part of `judged` that the second judge used."""

    @property
    def tries(self) -> int:
        return len(self.answers)

    @property
    def grounded(self) -> bool:
        """Return whether the passages support the right answer.

        With an uncited fact it comes from memory or a guess.
        """
        return self.right > 0 and not self.uncited


def beyond_chance(right: int, tries: int, chance: float) -> float:
    """Return the share of right tries beyond chance: 0 if all may be guesses, 1 if all are right."""
    return max(0.0, right / tries - chance) / (1 - chance) if tries else 0.0


class PriorKnowledge(Data):
    """How often a model gave the right answer without seeing the evidence of the last hop."""

    model: str
    tries: int
    right: int


def known_to(probes: Iterable[Probe]) -> tuple[PriorKnowledge, ...]:
    """Return what each model knows from memory, in the order of the probes."""
    by_model: dict[str, PriorKnowledge] = {}
    for probe in probes:
        before = by_model.get(probe.model, PriorKnowledge(model=probe.model, tries=0, right=0))
        if probe.check == "closed_book" and not probe.evidence:
            sums = {"tries": before.tries + probe.tries, "right": before.right + probe.right}
            by_model[probe.model] = before.model_copy(update=sums)
    return tuple(by_model.values())


def naturalness(probes: Iterable[Probe]) -> int | None:
    """Return the last grade of the wording, 1 to 5, or None if no reader graded it."""
    grades = [max(map(int, probe.answers)) for probe in probes if probe.check == "naturalness" and probe.answers]
    return grades[-1] if grades else None
