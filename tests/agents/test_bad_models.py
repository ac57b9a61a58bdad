"""Models that do what no model should, in every role of a whole episode: it ends for a true reason, soon, and small."""

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Cause, Message, Record, Status, Stop, ToolCall, Usage
from tests.loop.cast import CHECKS, Cast, call, make_proposal, run

HUGE = "x" * 10_000_000
SMALL = 3_000_000
"""Bytes of a record; one of the answers alone has ten million."""
Say = Callable[[Request], Message | Completion | str]


def raw(arguments: str, name: str = "search") -> Message:
    return Message(role="assistant", tool_calls=(ToolCall(id="x", name=name, arguments=arguments),))


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
    "calls with ten megabytes": lambda request: raw('{"query": "' + HUGE + '"}'),
    "calls a thousand times": lambda request: Message(
        role="assistant", tool_calls=raw('{"query": "Lantern Bay"}').tool_calls * 1000
    ),
    "searches for ever": lambda request: call("search", query=f"Lantern {len(request.messages)}"),
}


def role(request: Request) -> str:
    return request.output.name if request.output else request.tools[-1].name


def episode(where: str, say: Say) -> Record:
    """An episode in which one role is played by `say` and all others well."""

    class Bad(Cast):
        def __call__(self, request: Request) -> Any:
            return say(request) if role(request) == where else super().__call__(request)

    easy = [make_proposal("Oh, " + make_proposal()["question"])]
    return run(Bad(lambda question, sample: 2 if where == "revise" else 3, easy), CHECKS, "loop.rounds=1")


@pytest.mark.parametrize("how", BAD)
def test_as_a_solver_it_solves_nothing_and_its_rollouts_end(how: str) -> None:
    record = episode("answer", BAD[how])
    assert (record.status, record.reason) == (Status.REJECTED, "beyond_solver")
    rollouts = [rollout for past in record.rounds for rollout in past.rollouts]
    assert all(past.rollouts for past in record.rounds)
    stops = {rollout.trajectory.stop for rollout in rollouts}
    assert stops <= {Stop.FORMAT_ERRORS, Stop.MAX_TURNS, Stop.MAX_TOKENS}
    assert not any(rollout.answer for rollout in rollouts)
    assert all(len(rollout.trajectory.messages) < 300 for rollout in rollouts)
    assert len(record.model_dump_json()) < 8 * SMALL


@pytest.mark.parametrize("how", BAD)
def test_as_a_generator_it_proposes_nothing(how: str) -> None:
    record = episode("propose", BAD[how])
    ended = "limits" if how == "searches for ever" else "format_errors"
    assert (record.status, record.reason) == (Status.REJECTED, f"no_draft:{ended}")
    assert len(record.model_dump_json()) < SMALL


@pytest.mark.parametrize("how", BAD)
def test_as_a_refiner_it_leaves_the_draft_as_it_was(how: str) -> None:
    record = episode("revise", BAD[how])
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert [past.draft is None for past in record.rounds] == [False, True]


@pytest.mark.parametrize("how", BAD)
@pytest.mark.parametrize("where", ["read", "weigh"])
def test_as_a_reader_it_fails_the_seed_and_says_why(how: str, where: str) -> None:
    """A verdict that cannot be read is no verdict."""
    agreeing = where == "weigh"
    record = run(_agreeing(BAD[how]), CHECKS, "loop.rounds=0") if agreeing else episode(where, BAD[how])
    assert (record.status, record.reason) == (Status.FAILED, "no_verdict")


def _agreeing(say: Say) -> Any:
    class Bad(Cast):
        def __call__(self, request: Request) -> Any:
            return say(request) if role(request) == "weigh" else super().__call__(request)

    return Bad(lambda question, sample: 0)
