"""Verdicts, labels and causes follow from the traces alone."""

import pytest

from pipeline.loop import assess
from pipeline.types import (
    Cause,
    Feedback,
    Finding,
    Label,
    Passage,
    Verdict,
)
from tests.loop.rollouts import DRAFT, FILM, HOLM, TOWN, grade_rollouts, make_rollout
from tests.passages import passage

BOTH = passage("b", "Notes", "Ada Holm of Vessby made Lantern Bay.")
PAGE = passage("w", "Vessby (town)", "A town on a river.")
THREE = assess.Threshold(3)


def test_a_repeat_is_a_call_and_no_step() -> None:
    ((_, verdict),) = grade_rollouts(DRAFT, make_rollout([FILM], [HOLM], [TOWN], [TOWN], repeats=1))
    assert (verdict.steps, verdict.calls, verdict.hit_step, verdict.found_at) == (3, 4, 3, (1, 2, 3))
    assert verdict.correct


def test_a_right_answer_without_its_support_is_not_correct() -> None:
    ((_, verdict),) = grade_rollouts(DRAFT, make_rollout([FILM], [HOLM]))
    assert verdict.right
    assert not verdict.correct
    assert verdict.hit_step is None


def test_other_evidence_that_names_subject_and_answer_supports_too() -> None:
    elsewhere = TOWN.model_copy(update={"id": "x#3", "title": "History", "text": "In 1641 Vessby was founded."})
    ((_, verdict),) = grade_rollouts(DRAFT, make_rollout([FILM], [elsewhere]))
    assert verdict.correct


def make_verdicts(steps: list[int | None]) -> list[Verdict]:
    base = Verdict(sample=0, right=False, supported=True, method="exact", steps=9, calls=9, hit_step=None, found_at=())
    return [
        base.model_copy(update={"sample": n, "right": count is not None, "steps": count or 9})
        for n, count in enumerate(steps)
    ]


@pytest.mark.parametrize(
    ("steps", "label"),
    [
        ([3, None, None, None], Label.CANDIDATE),
        ([2], Label.TOO_EASY),
        ([3, 2], Label.TOO_EASY),
        ([None] * 4, Label.UNSOLVED),
    ],
)
def test_the_easiest_correct_rollout_decides_the_label(steps: list[int | None], label: Label) -> None:
    assert assess.choose_label(make_verdicts(steps), THREE) is label


@pytest.mark.parametrize(
    ("results", "cause", "hops"),
    [
        ([[FILM, TOWN], [HOLM]], Cause.OVER_SPECIFIED, (2,)),
        ([[FILM, BOTH], [TOWN]], Cause.CO_LOCATED, (0, 1)),
        ([[FILM], [HOLM, TOWN]], Cause.QUERY_COLLAPSE, (1, 2)),
        ([[FILM], [TOWN]], Cause.SUPERFICIAL, (1,)),
        # One search brings both cited passages, and another passage states all: that search is what saved a step.
        ([[FILM, HOLM, BOTH], [TOWN]], Cause.QUERY_COLLAPSE, (0, 1)),
        # A passage that an earlier call returned does not count again.
        ([[FILM], [FILM, TOWN]], Cause.SUPERFICIAL, (1,)),
        # A page that no hop cites replaces the one that does.
        ([[FILM, PAGE], [TOWN]], Cause.QUERY_COLLAPSE, (0, 1)),
    ],
)
def test_too_easy_has_the_cause_that_the_shortest_correct_rollout_shows(
    results: list[list[Passage]], cause: Cause, hops: tuple[int, ...]
) -> None:
    longer = make_rollout([FILM], [HOLM], [BOTH], [TOWN], sample=1)
    feedback = assess.explain_rollouts(DRAFT, grade_rollouts(DRAFT, longer, make_rollout(*results)), THREE)
    assert feedback is not None
    assert (feedback.label, feedback.cause, feedback.hops) == (Label.TOO_EASY, cause, hops)


def test_feedback_names_the_page_that_replaced_a_cited_passage() -> None:
    feedback = assess.explain_rollouts(DRAFT, grade_rollouts(DRAFT, make_rollout([FILM, PAGE], [TOWN])), THREE)
    assert feedback is not None
    assert "'Vessby (town)' in the place of a passage that they cite" in feedback.message


def test_searching_for_a_hop_that_no_passage_has_shown_is_prior_knowledge() -> None:
    for results, queries in (([[FILM], [TOWN]], ["Lantern Bay", "Vessby"]), ([[TOWN]], ["Vessby founded"])):
        feedback = assess.explain_rollouts(DRAFT, grade_rollouts(DRAFT, make_rollout(*results, queries=queries)), THREE)
        assert feedback is not None
        assert (feedback.cause, feedback.hops) == (Cause.PRIOR_KNOWLEDGE, (1,))
        assert "'Vessby' before any passage had shown it" in feedback.message
    superficial = assess.explain_rollouts(
        DRAFT, grade_rollouts(DRAFT, make_rollout([FILM], [TOWN], queries=["Lantern Bay", "Tarn"])), THREE
    )
    assert superficial is not None
    assert superficial.cause is Cause.SUPERFICIAL


def test_feedback_names_one_thing_to_change_and_the_hops_that_may_stay() -> None:
    too_easy = assess.explain_rollouts(
        DRAFT, grade_rollouts(DRAFT, make_rollout([FILM], [HOLM, TOWN], queries=["film", "Holm"])), THREE
    )
    assert too_easy is not None
    assert "the search 'Holm' found the passages that give 'Vessby' and '1641' together" in too_easy.message
    assert too_easy.message.endswith("The hops that give 'Ada Holm' may stay.")
    findings = [
        Finding(check="wording", cause=Cause.OVER_SPECIFIED, detail="it names 'Vessby'"),
        Finding(check="graph", cause=Cause.GENERATOR_ERROR, detail="step 'a': unstated. To do: cite another."),
    ]
    feedback = assess.feedback_from_findings(findings)
    assert (feedback.label, feedback.cause) == (Label.UNSOUND, Cause.GENERATOR_ERROR), "the gravest"
    assert feedback.message == "wording: it names 'Vessby'. graph: step 'a': unstated. To do: cite another."


@pytest.mark.parametrize("cause", sorted({*Cause} - {Cause.GENERATOR_ERROR, Cause.UNNATURAL, Cause.UNDATED}))
def test_every_cause_of_rollouts_has_advice(cause: Cause) -> None:
    assert assess.give_advice(DRAFT, cause, (1,))


def test_unsolved_because_no_rollout_retrieved_a_hop() -> None:
    feedback = assess.explain_rollouts(
        DRAFT, grade_rollouts(DRAFT, make_rollout([FILM], answer=""), make_rollout([BOTH], answer="1700")), THREE
    )
    assert feedback is not None
    assert (feedback.cause, feedback.hops) == (Cause.RETRIEVAL_MISS, (2,)), "another passage states the second hop"


def explain_unsolved(*answers: str, refuted: bool = False) -> Feedback:
    rollouts = [make_rollout([FILM], [HOLM], [TOWN], answer=answer, sample=n) for n, answer in enumerate(answers)]
    feedback = assess.explain_rollouts(DRAFT, grade_rollouts(DRAFT, *rollouts), THREE, refuted=refuted)
    assert feedback is not None
    return feedback


def test_unsolved_because_most_agree_on_another_answer() -> None:
    ambiguous = explain_unsolved("1700", "1805", "in 1700")
    assert ambiguous.cause is Cause.AMBIGUOUS
    assert "2 of 3 solvers settled on '1700', the key says '1641'. Add the one clue" in ambiguous.message
    refuted = explain_unsolved("1700", "1700", refuted=True)
    assert refuted.cause is Cause.SOLVER_ERROR
    assert "2 of 2 solvers settled on '1700', the key says '1641', which a reader did not find" in refuted.message


def test_one_wrong_rollout_does_not_blame_the_question() -> None:
    feedback = explain_unsolved("1700")
    assert feedback.cause is Cause.SOLVER_ERROR
    assert "settled" not in feedback.message


def test_different_wrong_answers_over_the_full_evidence_are_solver_errors() -> None:
    assert explain_unsolved(*(str(1700 + n) for n in range(4))).cause is Cause.SOLVER_ERROR
