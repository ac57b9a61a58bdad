"""What a model answered in a check of a draft, and what that says of who knows the answer and how it is worded."""

from collections.abc import Iterable
from statistics import median_low

from pipeline.types.data import Data
from pipeline.types.rollout import Usage


class Searched(Data):
    """One search that a check made, and the corpus ids of what it found, best first."""

    query: str
    passage_ids: tuple[str, ...]
    retriever: str = ""
    """Which of `retrieval.audit` it searched; empty: the run's own retriever."""


class OneSearch(Data):
    """Which of a question's passages one search finds, among as many as agents see, for one retriever of the audit."""

    retriever: str
    question_hops: tuple[int, ...]
    """The hops, counted from 0, whose passages a search with the question finds."""
    sub_question_hops: tuple[int, ...]
    """The hops whose passages a search with their own sub-question finds."""


class Probe(Data):
    """What a model answered in one check of a draft, passed or not; without searching, but for `seeker`."""

    check: str
    """`closed_book`, `contested` (can what most of its tries say be defended?), `end`, `oracle`, `trace` (which hop is
    misread?), `leave_one_out`, `naturalness` (its answers are the grades), `undated` (asked in the first of its calls),
    `complete_list`, `clues` (what fits these of them), `alternatives`, `same_name` (of one hop: is it about the answer
    before it?), `seeker` (one for each try)."""
    model: str
    answers: tuple[str, ...]
    """One for each try, of a `trace` for each hop; empty where there was none. Of `complete_list` the items that were
    found, of `clues` all things that fit."""
    right: int
    """Tries that gave the known answer; for `alternatives` and `contested`, whether the other one fits; for
    `naturalness`, the grades that are enough."""
    hops: tuple[int, ...] = ()
    """Hops whose passages were held back; of a `trace` those that were misread; of `clues` those asked about; of `end`
    the needless ones; of `seeker` those whose answers it searched with before it was shown them."""
    evidence: bool = False
    """Did what it was shown hold the evidence of the last hop? What is right without it is known by heart."""
    uncited: tuple[str, ...] = ()
    """The facts that the reader named as needed and that no passage shown to it states; of several tries those of the
    last right one, or else of the last."""
    searches: tuple[Searched, ...] = ()
    """The searches whose results it was shown; of `end` all that were made, with their first hits; of `seeker` its
    steps."""
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

    @property
    def shortcut(self) -> bool:
        """Of `seeker`: did it come to the evidence of the answer in fewer steps, without recalling what leads there?"""
        return self.right > 0 and self.evidence and not self.hops


def beyond_chance(right: int, tries: int, chance: float) -> float:
    """The share of right tries beyond what guessing gives: 0 where all may be guesses, 1 where all are right."""
    return max(0.0, right / tries - chance) / (1 - chance) if tries else 0.0


class PriorKnowledge(Data):
    """How often a model gave the right answer without having been shown the evidence of the last hop."""

    model: str
    tries: int
    right: int
    bridges: int = 0
    """Tries of the shortcut seeker in which it searched with what a hop gives before it was shown it; none of them is
    in `tries`."""


def known_to(probes: Iterable[Probe]) -> tuple[PriorKnowledge, ...]:
    """What each model that was asked knows by heart, in the order in which they were asked."""
    asked: dict[str, PriorKnowledge] = {}
    for probe in probes:
        before = asked.get(probe.model, PriorKnowledge(model=probe.model, tries=0, right=0))
        if probe.check == "closed_book" and not probe.evidence:
            sums = {"tries": before.tries + probe.tries, "right": before.right + probe.right}
            asked[probe.model] = before.model_copy(update=sums)
        elif probe.check == "seeker" and probe.hops:
            asked[probe.model] = before.model_copy(update={"bridges": before.bridges + 1})
    return tuple(asked.values())


def seeker(probes: Iterable[Probe]) -> dict[str, int | None]:
    """How the shortcut seeker did: its tries, how many of them found a shortcut, and the least steps of these."""
    tries = [probe for probe in probes if probe.check == "seeker"]
    steps = [len(probe.searches) for probe in tries if probe.shortcut]
    return {"seeker_tries": len(tries), "seeker_solved": len(steps), "seeker_steps": min(steps, default=None)}


def naturalness(probes: Iterable[Probe]) -> int | None:
    """The median of the grades that a reader gave to the wording, 1 to 5; None where none was asked."""
    return next((median_low(map(int, probe.answers)) for probe in probes if probe.check == "naturalness"), None)


def undated(probes: Iterable[Probe]) -> bool | None:
    """Did a reader find that the answer changes with time and the question names no date? None where none said."""
    return next((probe.right == 0 for probe in probes if probe.check == "undated"), None)
