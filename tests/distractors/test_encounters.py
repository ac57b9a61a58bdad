"""What a rollout did with a distractor that it was shown, read off the rollout."""

import pytest

from pipeline.distractors.encounters import encounters
from pipeline.types import Encounter, Outcome
from pipeline.types.distractor import Kind
from tests.records import World, draft, world
from tests.teacher_rollouts import Searches, lie, played

W: World = world(3)
DRAFT = draft(W)
LIE = lie(W)


def met(searches: Searches, answer: str, thought: str = "") -> tuple[Encounter, ...]:
    return encounters(
        DRAFT, [LIE], played(DRAFT.question, searches, answer, thought=thought), correct=answer == DRAFT.answer
    )


BRIDGE, ENGINEER = ("the crossing", [W.bridge]), ("the engineer", [W.engineer, W.noise[0]])
SHOWN = ("founding of the town", [W.noise[1], LIE.passage])
TRUTH = ("town fells monks", [W.town])
TAKEN = ("town of 1399", [W.noise[2]])


@pytest.mark.parametrize(
    ("searches", "answer", "outcome", "cited_at", "disproved_at"),
    [
        ([BRIDGE, ENGINEER, SHOWN, TRUTH], W.year, Outcome.RESISTED, None, 4),
        ([BRIDGE, SHOWN], W.year, Outcome.RESISTED, None, None),
        ([BRIDGE, ENGINEER, SHOWN], "1399", Outcome.MISLED, 8, None),
        ([BRIDGE, SHOWN, TRUTH], "1399", Outcome.MISLED, 8, 3),
        ([BRIDGE, SHOWN, TAKEN], "", Outcome.MISLED, 6, None),
        ([BRIDGE, SHOWN, TAKEN, TRUTH], W.year, Outcome.RECOVERED, 6, 4),
        ([BRIDGE, SHOWN], "1850", Outcome.MET, None, None),
        ([BRIDGE, SHOWN], "the year 1399", Outcome.MISLED, 6, None),
    ],
)
def test_it_is_met_resisted_believed_or_recovered_from(
    searches: Searches, answer: str, outcome: Outcome, cited_at: int | None, disproved_at: int | None
) -> None:
    (found,) = met(searches, answer)
    assert (found.outcome, found.cited_at, found.disproved_at) == (outcome, cited_at, disproved_at)
    assert found.step == 1 + next(n for n, (_, passages) in enumerate(searches) if LIE.passage in passages)


def test_what_was_not_shown_was_not_met() -> None:
    assert met([BRIDGE, ENGINEER, TRUTH], "1399") == ()


def test_a_repeated_search_is_no_step() -> None:
    (found,) = met([BRIDGE, BRIDGE, SHOWN], W.year)
    assert found.step == 2


def test_weighing_a_claim_in_thought_is_no_citation() -> None:
    (found,) = met([BRIDGE, SHOWN], W.year, thought="The guide says 1399, but it is of 1911.")
    assert found.outcome is Outcome.RESISTED


def test_a_claim_that_was_searched_for_before_the_meeting_came_from_elsewhere() -> None:
    (found,) = met([TAKEN, SHOWN], "1399")
    assert found.cited_at is None


def test_another_passage_with_the_truth_disproves_it_but_not_the_distractor_itself() -> None:
    other = W.noise[3].model_copy(update={"text": f"{W.town.title} dates from {W.year}."})
    (found,) = met([BRIDGE, SHOWN, ("another source", [other])], W.year)
    assert found.disproved_at == 3
    teller = LIE.model_copy(update={"text": f"{W.town.title} was founded in 1399, not in {W.year}."})
    searches = [("one", [teller.passage]), ("two", [teller.passage])]
    (found,) = encounters(DRAFT, [teller], played(DRAFT.question, searches, W.year), correct=True)
    assert found.disproved_at is None


def test_several_are_told_in_the_order_in_which_they_were_met() -> None:
    early = LIE.model_copy(update={"kind": Kind.SUBJECTIVE_FALLACY, "title": "I say"})
    searches = [("one", [early.passage]), SHOWN]
    found = encounters(DRAFT, [LIE, early], played(DRAFT.question, searches, W.year), correct=True)
    assert [(e.distractor, e.step) for e in found] == [(early.id, 1), (LIE.id, 2)]
