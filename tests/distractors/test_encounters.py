"""What a rollout did with a distractor that it was shown."""

import pytest

from pipeline.distractors.encounters import encounters
from pipeline.types import Encounter, Outcome
from pipeline.types.distractor import Kind
from tests.records import World, draft, world
from tests.teacher_rollouts import Searches, lie, played

W: World = world(3)
DRAFT = draft(W)
LIE = lie(W)


def find_encounters(searches: Searches, answer: str, thought: str = "") -> tuple[Encounter, ...]:
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
def test_a_distractor_is_met_resisted_believed_or_recovered_from(
    searches: Searches, answer: str, outcome: Outcome, cited_at: int | None, disproved_at: int | None
) -> None:
    (encounter,) = find_encounters(searches, answer)
    assert (encounter.outcome, encounter.cited_at, encounter.disproved_at) == (outcome, cited_at, disproved_at)
    assert encounter.step == 1 + next(n for n, (_, passages) in enumerate(searches) if LIE.passage in passages)


def test_a_distractor_that_was_not_shown_was_not_met() -> None:
    assert find_encounters([BRIDGE, ENGINEER, TRUTH], "1399") == ()


def test_a_repeated_search_is_no_step() -> None:
    (encounter,) = find_encounters([BRIDGE, BRIDGE, SHOWN], W.year)
    assert encounter.step == 2


def test_weighing_a_claim_in_the_reasoning_is_no_citation() -> None:
    (encounter,) = find_encounters([BRIDGE, SHOWN], W.year, thought="The guide says 1399, but it is of 1911.")
    assert encounter.outcome is Outcome.RESISTED


def test_a_claim_that_was_searched_for_before_is_not_cited() -> None:
    (encounter,) = find_encounters([TAKEN, SHOWN], "1399")
    assert encounter.cited_at is None


def test_another_passage_with_the_truth_disproves_a_claim_and_the_distractor_itself_does_not() -> None:
    true_source = W.noise[3].model_copy(update={"text": f"{W.town.title} dates from {W.year}."})
    (encounter,) = find_encounters([BRIDGE, SHOWN, ("another source", [true_source])], W.year)
    assert encounter.disproved_at == 3
    honest_lie = LIE.model_copy(update={"text": f"{W.town.title} was founded in 1399, not in {W.year}."})
    searches = [("one", [honest_lie.passage]), ("two", [honest_lie.passage])]
    (encounter,) = encounters(DRAFT, [honest_lie], played(DRAFT.question, searches, W.year), correct=True)
    assert encounter.disproved_at is None


def test_encounters_are_in_the_order_of_the_rollout() -> None:
    early = LIE.model_copy(update={"kind": Kind.SUBJECTIVE_FALLACY, "title": "I say"})
    searches = [("one", [early.passage]), SHOWN]
    in_order = encounters(DRAFT, [LIE, early], played(DRAFT.question, searches, W.year), correct=True)
    assert [(e.distractor, e.step) for e in in_order] == [(early.id, 1), (LIE.id, 2)]
