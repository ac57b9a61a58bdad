"""Seeds run through the real loop over a few passages, with models that answer as each test needs."""

import asyncio
from typing import Any

import pytest

from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import Cause, Label, Message, Status
from tests.loop.cast import CHECKS, QUESTION, Cast, get_role, make_context, make_proposal, make_seed, run
from tests.scripted_llm import ScriptedLLM


@pytest.mark.parametrize("early_stop", ["true", "false"])
def test_a_draft_at_its_target_is_accepted_by_k_rollouts_that_are_made_once(early_stop: str) -> None:
    llm = ScriptedLLM(Cast(lambda question, sample: [0, 3, 4, 0][sample]))
    record = asyncio.run(run_seed(make_seed(), make_context(llm, f"loop.early_stop={early_stop}")))
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]
    assert record.confirmation == ()
    assert (record.difficulty, record.solve_rate) == (3, 0.5)
    assert record.usage["generator"].calls == 3
    turns = [(request.sample, len(request.messages)) for request in llm.requests if get_role(request) == "answer"]
    assert len(turns) == len(set(turns)) == record.usage["solver"].calls
    assert len(turns) == sum(len(rollout.trajectory.calls) + 1 for rollout in record.rounds[0].rollouts)


def test_rollouts_stop_at_the_first_correct_one_if_it_is_too_short() -> None:
    record = run(Cast(lambda question, sample: [0, 2, 3, 3][sample]), "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert len(record.rounds[0].rollouts) == 2
    assert record.confirmation == ()


@pytest.mark.parametrize(("last", "status"), [(3, Status.ACCEPTED), (0, Status.REJECTED)])
def test_a_draft_is_tried_until_one_of_k_rollouts_is_correct(last: int, status: Status) -> None:
    record = run(Cast(lambda question, sample: [0, 0, 0, last][sample]), "loop.rounds=0", "checks.enabled=[]")
    assert record.status is status
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]


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


@pytest.mark.parametrize("paths", [[3, 0, 3, 0], [0, 3, 3, 0]], ids=["both in the rest", "one in the rest"])
@pytest.mark.parametrize("fits", [True, False])
def test_a_rival_that_only_the_rest_of_the_rollouts_shows_counts_too(paths: list[int], fits: bool) -> None:
    cast = Cast(lambda question, sample: paths[sample])
    cast.fits = fits
    record = run(cast, CHECKS)
    assert record.status is (Status.REJECTED if fits else Status.ACCEPTED)
    assert record.reason == (Cause.AMBIGUOUS if fits else "")
    assert len(record.rounds[-1].rollouts) == 4
    assert (record.rounds[-1].probes[-1].check, record.solve_rate) == ("alternatives", 0.5)


def test_a_reader_is_asked_once_about_a_rival_to_which_the_rest_adds_no_vote() -> None:
    record = run(Cast(lambda question, sample: [0, 0, 3, 3][sample]), CHECKS)
    assert record.status is Status.ACCEPTED
    assert [probe.check for probe in record.rounds[0].probes].count("alternatives") == 1


def test_rollouts_are_kept_if_the_reader_of_their_answers_cannot_be_read() -> None:
    cast = Cast(lambda question, sample: [3, 0, 3, 0][sample])

    def model(request: Request) -> Message:
        return Message(role="assistant", content="hm") if get_role(request) == "weigh" else cast(request)

    record = run(model, CHECKS)
    assert (record.status, record.reason) == (Status.FAILED, "no_verdict")
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]


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


def test_a_pair_that_one_of_the_rest_solves_in_too_few_steps_is_rejected_and_kept() -> None:
    record = run(Cast(lambda question, sample: [3, 3, 2, 0][sample]))
    assert (record.status, record.reason, record.difficulty) == (Status.REJECTED, "below_target", 2)
    assert len(record.rounds) == 1, "it is not sent back"
    assert len(record.rounds[0].rollouts) == 4


def test_a_hop_that_one_of_the_rest_skips_is_kept() -> None:
    record = run(Cast(lambda question, sample: 5 if sample == 3 else 3))
    assert (record.status, record.skippable_hops) == (Status.ACCEPTED, (1,))
    assert run(Cast(lambda question, sample: 3)).skippable_hops == ()


def test_the_papers_loop_has_no_audit_and_no_stop() -> None:
    easy = Cast(lambda question, sample: 2, revisions=[make_proposal(f"{QUESTION[:-1]} {n}?") for n in range(9)])
    easy.first = make_proposal(question=f"{QUESTION[:-1]}, in 1641?")
    record = run(easy, preset="sage")
    assert all(len(r.rollouts) == 4 and not r.findings for r in record.rounds)
    assert (record.status, record.reason) == (Status.ACCEPTED, "relaxed")
    long_enough = run(Cast(lambda question, sample: 3), preset="sage")
    assert (long_enough.reason, len(long_enough.rounds[0].rollouts), long_enough.confirmation) == ("", 4, ())


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


@pytest.mark.parametrize(("path", "judged"), [(0, 4), (-1, 0)])
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
