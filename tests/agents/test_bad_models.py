"""Models that misbehave in one role of an episode: it ends soon, with a true reason and a small record."""

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Cause, Message, Record, Status, Stop, Usage
from tests.agents.conversations import make_calls
from tests.loop.cast import CHECKS, Cast, call, get_role, make_proposal, run

HUGE = "x" * 10_000_000
SMALL = 3_000_000
"""Bytes of a record; one of the answers alone has ten million."""
Say = Callable[[Request], Message | Completion | str]


BAD: dict[str, Say] = {
    "calls rm -rf": lambda request: call("rm -rf /", path="/"),
    "writes rm -rf": lambda request: "rm -rf / --no-preserve-root",
    "says nothing": lambda request: Completion(
        message=Message(role="assistant"), finish=Finish.EMPTY, usage=Usage(calls=1, prompt_tokens=9)
    ),
    "is cut off": lambda request: Completion(
        message=Message(role="assistant", content="I th"), finish=Finish.LENGTH, usage=Usage(calls=1)
    ),
    "says ten megabytes": lambda request: HUGE,
    "calls with ten megabytes": lambda request: make_calls(("search", '{"query": "' + HUGE + '"}')),
    "calls a thousand times": lambda request: Message(
        role="assistant", tool_calls=make_calls(("search", '{"query": "Lantern Bay"}')).tool_calls * 1000
    ),
    "searches for ever": lambda request: call("search", query=f"Lantern {len(request.messages)}"),
}


def run_with_bad_role(role: str, say: Say, steps: int = 3) -> Record:
    """Run an episode in which `say` plays one role and all others are played well."""

    class Bad(Cast):
        def __call__(self, request: Request) -> Any:
            return say(request) if get_role(request) == role else super().__call__(request)

    easy = [make_proposal("Oh, " + make_proposal()["question"])]
    rounds = "loop.rounds=1" if steps else "loop.rounds=0"
    return run(Bad(lambda question, sample: 2 if role == "revise" else steps, easy), CHECKS, rounds)


@pytest.mark.parametrize("how", BAD)
def test_a_bad_solver_solves_nothing_and_its_rollouts_end(how: str) -> None:
    record = run_with_bad_role("answer", BAD[how])
    assert (record.status, record.reason) == (Status.REJECTED, "beyond_solver")
    rollouts = [rollout for past in record.rounds for rollout in past.rollouts]
    assert all(past.rollouts for past in record.rounds)
    stops = {rollout.trajectory.stop for rollout in rollouts}
    assert stops <= {Stop.FORMAT_ERRORS, Stop.MAX_TURNS, Stop.MAX_TOKENS}
    assert not any(rollout.answer for rollout in rollouts)
    assert all(len(rollout.trajectory.messages) < 300 for rollout in rollouts)
    assert len(record.model_dump_json()) < 8 * SMALL


@pytest.mark.parametrize("how", BAD)
def test_a_bad_generator_proposes_nothing(how: str) -> None:
    record = run_with_bad_role("propose", BAD[how])
    end = "limits" if how == "searches for ever" else "format_errors"
    assert (record.status, record.reason) == (Status.REJECTED, f"no_draft:{end}")
    assert len(record.model_dump_json()) < SMALL


@pytest.mark.parametrize("how", BAD)
def test_a_bad_refiner_leaves_the_draft_unchanged(how: str) -> None:
    record = run_with_bad_role("revise", BAD[how])
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert [past.draft is None for past in record.rounds] == [False, True]


@pytest.mark.parametrize("how", BAD)
@pytest.mark.parametrize(("role", "steps"), [("read", 3), ("weigh", 0)])
def test_a_bad_reader_fails_the_seed_without_a_verdict(how: str, role: str, steps: int) -> None:
    record = run_with_bad_role(role, BAD[how], steps=steps)
    assert (record.status, record.reason) == (Status.FAILED, "no_verdict")
