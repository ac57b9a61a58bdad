"""Seeds run through the real loop over a few passages, with models that answer as each test needs."""

import asyncio
from typing import Any

import pytest

from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import Cause, Label, Message, Status
from tests.loop.cast import CHECKS, QUESTION, Cast, make_context, make_proposal, make_seed, run


def test_a_draft_at_its_target_is_accepted_on_fresh_rollouts() -> None:
    record = run(Cast(lambda question, sample: [0, 3, 4, 3, 3, 0, 4, 0][sample]))
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1]
    assert [rollout.sample for rollout in record.confirmation] == [4, 5, 6, 7]
    assert (record.difficulty, record.solve_rate) == (3, 0.5)
    assert record.usage["generator"].calls == 3
    rollouts = (*record.rounds[0].rollouts, *record.confirmation)
    assert record.usage["solver"].calls == sum(len(r.trajectory.calls) + 1 for r in rollouts)


def test_rollouts_stop_as_soon_as_the_verdict_cannot_change() -> None:
    record = run(Cast(lambda question, sample: [0, 2, 3, 3][sample % 4]), "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert len(record.rounds[0].rollouts) == 2
    assert record.confirmation == ()


def test_a_longer_screen_accepts_what_is_seldom_solved() -> None:
    late = Cast(lambda question, sample: [0, 0, 3, 0][sample % 4])
    assert run(late, "loop.rounds=0").status is Status.REJECTED
    record = run(late, "loop.rounds=0", "loop.screen=4")
    assert record.status is Status.ACCEPTED
    assert len(record.rounds[0].rollouts) == 3


def test_a_fatal_finding_is_sent_back_without_a_rollout() -> None:
    cast = Cast(lambda question, sample: 3, revisions=[make_proposal()])
    cast.first = make_proposal(question=f"{QUESTION[:-1]}, in 1641?")
    record = run(cast)
    assert record.rounds[0].rollouts == ()
    assert cast.feedback[0]["cause"] == Cause.GENERATOR_ERROR
    assert record.status is Status.ACCEPTED
    assert len(record.rounds) == 2


def test_probes_of_readers_are_kept_and_paid_for() -> None:
    record = run(Cast(lambda question, sample: 3), CHECKS)
    assert record.status is Status.ACCEPTED
    checks = [probe.check for probe in record.rounds[0].probes]
    assert checks == ["closed_book", "oracle"]
    assert record.usage["reader"].calls == 4
    assert [(prior.tries, prior.right) for prior in record.known_to] == [(3, 0)]


def test_a_draft_that_a_reader_cannot_answer_from_its_evidence_is_sent_back_without_a_rollout() -> None:
    cast = Cast(lambda question, sample: 3)
    cast.reads = lambda passages: "nobody knows"
    record = run(cast, CHECKS, "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.GENERATOR_ERROR)
    assert record.rounds[0].rollouts == ()


@pytest.mark.parametrize(("fits", "reason"), [(True, Cause.AMBIGUOUS), (False, "beyond_solver")])
def test_a_wrong_answer_on_which_all_agree_is_ambiguous_or_beyond_the_solver(fits: bool, reason: str) -> None:
    cast = Cast(lambda question, sample: 0)
    cast.fits = fits
    record = run(cast, CHECKS, "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, reason)
    assert record.rounds[0].probes[-1].answers == ("in 1999",)


@pytest.mark.parametrize("fits", [True, False])
def test_a_rival_that_only_the_confirmation_shows_counts_too(fits: bool) -> None:
    cast = Cast(lambda question, sample: [3, 3, 3, 3, 3, 0, 3, 0][sample])
    cast.fits = fits
    record = run(cast, CHECKS)
    assert record.status is (Status.REJECTED if fits else Status.ACCEPTED)
    assert record.reason == (Cause.AMBIGUOUS if fits else "")
    assert (record.rounds[-1].probes[-1].check, record.solve_rate) == ("alternatives", 0.5)


def test_a_question_that_is_too_easy_is_revised_until_it_is_not() -> None:
    harder = [make_proposal(f"{QUESTION[:-1]}, roughly?"), make_proposal(f"{QUESTION[:-1]}, in years?")]
    steps = {QUESTION: 2, harder[0]["question"]: 1, harder[1]["question"]: 3}
    cast = Cast(lambda question, sample: steps[question], revisions=harder)
    record = run(cast)
    assert record.status is Status.ACCEPTED
    assert [r.feedback.label if r.feedback else None for r in record.rounds] == [Label.TOO_EASY, Label.TOO_EASY, None]
    assert record.rounds[-1].draft == record.draft
    assert record.draft is not None
    assert record.draft.question == harder[1]["question"]


def test_revisions_are_bounded() -> None:
    cast = Cast(lambda question, sample: 0, revisions=[make_proposal(f"{QUESTION[:-1]} {n}?") for n in range(9)])
    record = run(cast, "loop.rounds=2", "checks.enabled=[]")
    assert len(record.rounds) == 3
    assert (record.status, record.reason) == (Status.REJECTED, Cause.AMBIGUOUS)


def test_the_refiner_is_told_when_its_revision_changes_nothing() -> None:
    cast = Cast(
        lambda question, sample: 2 if question == QUESTION else 3,
        revisions=[make_proposal(), make_proposal("Oh, when " + QUESTION[5:])],
    )
    record = run(cast)
    assert record.rounds[1].agent.format_errors == 1
    assert record.status is Status.ACCEPTED


@pytest.mark.parametrize(
    ("fresh", "reason", "difficulty"), [([3, 3, 2, 0], "below_target", 2), ([0, 0, 0, 0], "unconfirmed", None)]
)
def test_a_pair_that_fresh_rollouts_do_not_confirm_is_rejected_and_kept(
    fresh: list[int], reason: str, difficulty: int | None
) -> None:
    record = run(Cast(lambda question, sample: ([3] * 4 + fresh)[sample]))
    assert (record.status, record.reason, record.difficulty) == (Status.REJECTED, reason, difficulty)
    assert len(record.confirmation) == 4


def test_a_hop_that_a_fresh_rollout_skips_is_kept() -> None:
    record = run(Cast(lambda question, sample: 5 if sample == 6 else 3))
    assert (record.status, record.skippable_hops) == (Status.ACCEPTED, (1,))
    assert run(Cast(lambda question, sample: 3)).skippable_hops == ()


def test_the_papers_loop_has_no_audit_stop_or_confirmation() -> None:
    easy = Cast(lambda question, sample: 2, revisions=[make_proposal(f"{QUESTION[:-1]} {n}?") for n in range(9)])
    easy.first = make_proposal(question=f"{QUESTION[:-1]}, in 1641?")
    record = run(easy, preset="sage")
    assert all(len(r.rollouts) == 4 and not r.findings for r in record.rounds)
    assert (record.status, record.reason) == (Status.ACCEPTED, "relaxed")
    assert run(Cast(lambda question, sample: 3), preset="sage").reason == ""


def test_a_slow_model_fails_the_seed_after_a_second_attempt() -> None:
    class Slow:
        calls = 0

        async def complete(self, request: Request) -> Any:
            self.calls += 1
            await asyncio.sleep(5)

    slow = Slow()
    context = make_context(slow, "runtime.rollout_seconds=0.01")
    record = asyncio.run(run_seed(make_seed(), context))
    assert (record.status, record.reason, slow.calls) == (Status.FAILED, "deadline", 2)


@pytest.mark.parametrize(("path", "judged"), [(0, 2), (-1, 0)])
def test_no_judge_is_paid_for_an_answer_without_support(path: int, judged: int) -> None:
    record = run(Cast(lambda question, sample: path), "loop.rounds=0")
    assert record.usage["judge"].calls == judged == len([v for v in record.rounds[0].verdicts if v.method == "judge"])
    assert record.status is Status.REJECTED


def test_an_unreadable_judge_gives_no_verdict() -> None:
    cast = Cast(lambda question, sample: 0)

    def model(request: Request) -> Message:
        return Message(role="assistant", content="hm") if request.output else cast(request)

    record = run(model)
    assert (record.status, record.reason) == (Status.FAILED, "no_verdict")
