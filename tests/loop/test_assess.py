"""Verdicts, labels and causes are read off the traces alone."""

from collections.abc import Sequence

import orjson
import pytest

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.agents.tools import render
from pipeline.loop import assess
from pipeline.text import normalise
from pipeline.types import (
    AnswerType,
    Call,
    Cause,
    Draft,
    Feedback,
    Finding,
    Label,
    Message,
    Passage,
    Rollout,
    Stop,
    ToolCall,
    Trajectory,
    Verdict,
)
from tests.graphs import chained
from tests.shelf import hop, passage

FILM = passage("f", "Lantern Bay", "It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was born in Vessby.")
TOWN = passage("v", "Vessby", "Vessby was founded in 1641.")
BOTH = passage("b", "Notes", "Ada Holm of Vessby made Lantern Bay.")
PAGE = passage("w", "Vessby (town)", "A town on a river.")
THREE = assess.Threshold(3)
DRAFT = chained(
    question="In what year was the birthplace of the director of Lantern Bay founded?",
    answer="1641",
    answer_type=AnswerType.DATE,
    answer_precision="year",
    hops=(hop(FILM, "Ada Holm"), hop(HOLM, "Vessby"), hop(TOWN, "1641")),
)


def rollout(
    *results: Sequence[Passage], answer: str = "1641", sample: int = 0, repeats: int = 0, queries: Sequence[str] = ()
) -> Rollout:
    """A rollout whose calls brought `results`; the last `repeats` of them are repeats."""
    calls, messages = [], []
    for n, passages in enumerate(results):
        ids = tuple(passage.id for passage in passages)
        repeat = n >= len(results) - repeats
        query = queries[n] if queries else f"q{n}"
        calls.append(Call(id=f"c{n}", tool="search", argument=query, passage_ids=ids, repeat=repeat))
        made = ToolCall(id=f"c{n}", name="search", arguments=orjson.dumps({"query": query}).decode())
        messages.append(Message(role="assistant", tool_calls=(made,)))
        messages.append(Message(role="tool", content=render(passages), tool_call_id=made.id))
    trajectory = Trajectory(messages=tuple(messages), calls=tuple(calls), stop=Stop.ANSWERED, final="{}")
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)


def judged(draft: Draft, *rollouts: Rollout) -> list[tuple[Rollout, Verdict]]:
    return [
        (
            r,
            grading.build_verdict(
                draft, r, Grade(right=normalise(r.answer) == normalise(draft.answer), method="exact")
            ),
        )
        for r in rollouts
    ]


def test_a_repeat_is_a_call_and_no_step() -> None:
    ((_, verdict),) = judged(DRAFT, rollout([FILM], [HOLM], [TOWN], [TOWN], repeats=1))
    assert (verdict.steps, verdict.calls, verdict.hit_step, verdict.found_at) == (3, 4, 3, (1, 2, 3))
    assert verdict.correct


def test_a_right_answer_without_its_support_is_not_correct() -> None:
    ((_, verdict),) = judged(DRAFT, rollout([FILM], [HOLM]))
    assert verdict.right
    assert not verdict.correct
    assert verdict.hit_step is None


def test_other_evidence_that_names_subject_and_answer_supports_too() -> None:
    elsewhere = TOWN.model_copy(update={"id": "x#3", "title": "History", "text": "In 1641 Vessby was founded."})
    ((_, verdict),) = judged(DRAFT, rollout([FILM], [elsewhere]))
    assert verdict.correct


def verdicts(steps: list[int | None]) -> list[Verdict]:
    return [
        Verdict(
            sample=n,
            right=s is not None,
            supported=True,
            method="exact",
            steps=s or 9,
            calls=9,
            hit_step=None,
            found_at=(),
        )
        for n, s in enumerate(steps)
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
def test_a_label_is_of_the_easiest_correct_rollout(steps: list[int | None], label: Label) -> None:
    assert assess.choose_label(verdicts(steps), THREE) is label


@pytest.mark.parametrize(
    ("steps", "screen", "count"),
    [
        ([3, None, None, None], None, 4),
        ([3, 2, 3, 3], None, 2),
        ([3, 3, 3], None, None),
        ([None] * 3, None, None),
        ([None] * 4, None, 4),
        ([], None, None),
        ([None], 2, None),
        ([None, None, 3, 3], 2, 2),
        ([3, 2, 3, 3], 2, 1),
        ([None, 2, 3, 3], 2, 2),
        ([], 2, None),
    ],
)
def test_a_label_stands_as_soon_as_it_cannot_change(
    steps: list[int | None], screen: int | None, count: int | None
) -> None:
    decided = [
        assess.have_decided(verdicts(steps[:n]), THREE, rollouts=4, screen=screen) for n in range(len(steps) + 1)
    ]
    assert (decided.index(True) if True in decided else None) == count


@pytest.mark.parametrize(
    ("results", "cause", "hops"),
    [
        ([[FILM, TOWN], [HOLM]], Cause.OVER_SPECIFIED, (2,)),
        ([[FILM, BOTH], [TOWN]], Cause.CO_LOCATED, (0, 1)),
        ([[FILM], [HOLM, TOWN]], Cause.QUERY_COLLAPSE, (1, 2)),
        ([[FILM], [TOWN]], Cause.SUPERFICIAL, (1,)),
        # One search brings both cited passages, though another names all: that search is what saved a step.
        ([[FILM, HOLM, BOTH], [TOWN]], Cause.QUERY_COLLAPSE, (0, 1)),
        # What was shown before is not found again.
        ([[FILM], [FILM, TOWN]], Cause.SUPERFICIAL, (1,)),
        # A page that no hop cites, in the place of the one that does.
        ([[FILM, PAGE], [TOWN]], Cause.QUERY_COLLAPSE, (0, 1)),
    ],
)
def test_too_easy_has_the_cause_that_the_shortest_correct_rollout_shows(
    results: list[list[Passage]], cause: Cause, hops: tuple[int, ...]
) -> None:
    longer = rollout([FILM], [HOLM], [BOTH], [TOWN], sample=1)
    given = assess.explain_rollouts(DRAFT, judged(DRAFT, longer, rollout(*results)), THREE)
    assert given is not None
    assert (given.label, given.cause, given.hops) == (Label.TOO_EASY, cause, hops)


def test_what_stood_in_the_place_of_a_cited_passage_is_named() -> None:
    given = assess.explain_rollouts(DRAFT, judged(DRAFT, rollout([FILM, PAGE], [TOWN])), THREE)
    assert given is not None
    assert "'Vessby (town)' in the place of a passage that they cite" in given.message


def test_who_searches_with_a_hop_that_no_passage_has_shown_knows_it_by_heart() -> None:
    for results, queries in (([[FILM], [TOWN]], ["Lantern Bay", "Vessby"]), ([[TOWN]], ["Vessby founded"])):
        given = assess.explain_rollouts(DRAFT, judged(DRAFT, rollout(*results, queries=queries)), THREE)
        assert given is not None
        assert (given.cause, given.hops) == (Cause.PRIOR_KNOWLEDGE, (1,))
        assert "'Vessby' before any passage had shown it" in given.message
    found = assess.explain_rollouts(
        DRAFT, judged(DRAFT, rollout([FILM], [TOWN], queries=["Lantern Bay", "Tarn"])), THREE
    )
    assert found is not None
    assert found.cause is Cause.SUPERFICIAL


def test_feedback_names_one_thing_to_change_and_what_may_stay() -> None:
    easy = assess.explain_rollouts(DRAFT, judged(DRAFT, rollout([FILM], [HOLM, TOWN], queries=["film", "Holm"])), THREE)
    assert easy is not None
    assert "the search 'Holm' found the passages that give 'Vessby' and '1641' together" in easy.message
    assert easy.message.endswith("The hops that give 'Ada Holm' may stay.")
    findings = [
        Finding(check="wording", cause=Cause.OVER_SPECIFIED, detail="it names 'Vessby'"),
        Finding(check="graph", cause=Cause.GENERATOR_ERROR, detail="step 'a': unstated. To do: cite another."),
    ]
    feedback = assess.feedback_from_findings(findings)
    assert (feedback.label, feedback.cause) == (Label.UNSOUND, Cause.GENERATOR_ERROR), "the gravest"
    assert feedback.message == "wording: it names 'Vessby'. graph: step 'a': unstated. To do: cite another."


@pytest.mark.parametrize("cause", sorted({*Cause} - {Cause.GENERATOR_ERROR, Cause.UNNATURAL, Cause.UNDATED}))
def test_every_cause_that_rollouts_show_says_what_to_change(cause: Cause) -> None:
    assert assess.give_advice(DRAFT, cause, (1,))


def test_unsolved_because_nothing_was_found() -> None:
    given = assess.explain_rollouts(
        DRAFT, judged(DRAFT, rollout([FILM], answer=""), rollout([BOTH], answer="1700")), THREE
    )
    assert given is not None
    assert (given.cause, given.hops) == (Cause.RETRIEVAL_MISS, (2,)), "another passage told of the second hop"


def unsolved(*said: str, refuted: bool = False) -> Feedback:
    tried = [rollout([FILM], [HOLM], [TOWN], answer=answer, sample=n) for n, answer in enumerate(said)]
    given = assess.explain_rollouts(DRAFT, judged(DRAFT, *tried), THREE, refuted=refuted)
    assert given is not None
    return given


def test_unsolved_because_most_agree_on_another_answer() -> None:
    given = unsolved("1700", "1805", "in 1700")
    assert given.cause is Cause.AMBIGUOUS
    assert "2 of 3 solvers settled on '1700', the key says '1641'. Add the one clue" in given.message
    refuted = unsolved("1700", "1700", refuted=True)
    assert refuted.cause is Cause.SOLVER_ERROR
    assert "2 of 2 solvers settled on '1700', the key says '1641', which a reader did not find" in refuted.message


def test_one_wrong_rollout_alone_says_nothing_of_the_question() -> None:
    alone = unsolved("1700")
    assert alone.cause is Cause.SOLVER_ERROR
    assert "settled" not in alone.message


def test_unsolved_although_all_was_found() -> None:
    tried = [rollout([FILM], [HOLM], [TOWN], answer=str(1700 + n), sample=n) for n in range(4)]
    given = assess.explain_rollouts(DRAFT, judged(DRAFT, *tried), THREE)
    assert given is not None
    assert given.cause is Cause.SOLVER_ERROR
