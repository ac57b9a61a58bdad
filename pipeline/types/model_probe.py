"""What a model answered in a check of a draft, and what that says of who knows the answer and how it is worded."""

from collections.abc import Iterable

from pipeline.types.data import Data
from pipeline.types.rollout import Usage


class Searched(Data):
    """One search that a check made, and the corpus ids of what it found, best first."""

    query: str
    passage_ids: tuple[str, ...]


class OneSearch(Data):
    """Which of a question's passages one search finds, among as many as agents see, for one retriever of the audit."""

    retriever: str
    question_hops: tuple[int, ...]
    """The hops, counted from 0, whose passages a search with the question finds."""
    sub_question_hops: tuple[int, ...]
    """The hops whose passages a search with their own sub-question finds."""


class Probe(Data):
    """What a model answered in one check of a draft, passed or not, without searching."""

    check: str
    """`closed_book`, `contested` (can what most of its tries say be defended?), `oracle`, `graph` (the faults of
    steps), `wording` (what the writer wrote), `naturalness` (its answers are the grades), `alternatives`."""
    model: str
    answers: tuple[str, ...]
    """One for each try; empty where there was none."""
    right: int
    """Tries that gave the known answer; for `alternatives` and `contested`, whether the other one fits; for
    `naturalness`, whether a grade is enough."""
    evidence: bool = False
    """Did what it was shown hold the evidence of the last hop? What is right without it is known by heart."""
    uncited: tuple[str, ...] = ()
    """The facts that the reader named as needed and that no passage shown to it states; of several tries those of the
    last right one, or else of the last."""
    usage: Usage = Usage()
    judged: Usage = Usage()
    """What the judges took."""
    second: Usage = Usage()
    """Of that, the second judge."""

    @property
    def tries(self) -> int:
        return len(self.answers)

    @property
    def grounded(self) -> bool:
        """Is the right answer borne out by what was shown? One with an uncited fact rests on memory or a guess."""
        return self.right > 0 and not self.uncited


def beyond_chance(right: int, tries: int, chance: float) -> float:
    """The share of right tries beyond what guessing gives: 0 where all may be guesses, 1 where all are right."""
    return max(0.0, right / tries - chance) / (1 - chance) if tries else 0.0


class PriorKnowledge(Data):
    """How often a model gave the right answer without having been shown the evidence of the last hop."""

    model: str
    tries: int
    right: int


def known_to(probes: Iterable[Probe]) -> tuple[PriorKnowledge, ...]:
    """What each model that was asked knows by heart, in the order in which they were asked."""
    asked: dict[str, PriorKnowledge] = {}
    for probe in probes:
        before = asked.get(probe.model, PriorKnowledge(model=probe.model, tries=0, right=0))
        if probe.check == "closed_book" and not probe.evidence:
            sums = {"tries": before.tries + probe.tries, "right": before.right + probe.right}
            asked[probe.model] = before.model_copy(update=sums)
    return tuple(asked.values())


def naturalness(probes: Iterable[Probe]) -> int | None:
    """Return the grade of the wording, 1 to 5, by the reader who was asked last; None if none was asked."""
    grades = [max(map(int, probe.answers)) for probe in probes if probe.check == "naturalness" and probe.answers]
    return grades[-1] if grades else None
