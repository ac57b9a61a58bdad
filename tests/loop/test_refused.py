"""A request that the server refuses is no answer: it ends the seed as refused, or leaves its stage missing."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.afterwards.missing_stages import complete
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import RequestRefused
from pipeline.llm.base import Request
from pipeline.llm.ledger import counting
from pipeline.loop.episode import run_seed
from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.store.amendments import Completions
from pipeline.types import Status
from tests.afterwards import test_missing_stages as stages
from tests.loop import policy_runs as policies
from tests.loop import twins
from tests.loop.cast import CHECKS, LINEAGE, QUESTION, SHELF, Cast, get_role, make_context, make_proposal, make_seed
from tests.scripted_llm import ScriptedLLM

WORDS = "http://there/v1 refused a request (400: the message at position 5 must not be empty)"
Play = Callable[[Request], Any]


def refuse(play: Play, refuses: Callable[[Request], bool]) -> ScriptedLLM:
    return ScriptedLLM(lambda request: RequestRefused(WORDS) if refuses(request) else play(request))


def mentions(request: Request, words: str) -> bool:
    return any(words in message.content for message in request.messages)


def make_easy_cast() -> Cast:
    """Make a cast whose first draft is too easy and whose revision is long enough."""
    longer = make_proposal(f"Or so: {QUESTION}")
    return Cast(lambda question, sample: 3 if "Or so" in question else 2, [longer])


@pytest.mark.parametrize(
    ("play", "refuses"),
    [
        (Cast(lambda question, sample: 3), lambda request: get_role(request) == "propose"),
        (make_easy_cast(), lambda request: get_role(request) == "revise"),
        (Cast(lambda question, sample: 3), lambda request: get_role(request) == "answer"),
        (Cast(lambda question, sample: 3), lambda request: get_role(request) == "answer" and len(request.messages) > 5),
        (Cast(lambda question, sample: 3), lambda request: get_role(request) == "answer" and request.sample == 2),
        (Cast(lambda question, sample: 0), lambda request: get_role(request) == "verdict"),
        (Cast(lambda question, sample: 3), lambda request: get_role(request) == "read"),
        (Cast(lambda question, sample: 0), lambda request: get_role(request) == "weigh"),
    ],
    ids=["generator", "refiner", "solver", "solver late", "one of the rest", "judge", "reader", "weighing reader"],
)
def test_a_refusal_ends_the_seed_as_refused_in_every_role(play: Play, refuses: Callable[[Request], bool]) -> None:
    with counting() as ledger:
        record = asyncio.run(run_seed(make_seed(), make_context(refuse(play, refuses), CHECKS)))
    assert (record.status, record.reason) == (Status.FAILED, "refused")
    assert ledger.end_cause == WORDS
    assert WORDS not in record.model_dump_json(), "what a server said is no fact of the record"
    assert [rollout.sample for past in record.rounds for rollout in past.rollouts] in ([], [0])
    assert all(rollout.answered for past in record.rounds for rollout in past.rollouts)


@pytest.mark.parametrize(
    ("refuses", "missing"),
    [
        (lambda request: get_role(request) == "write", ("distractors",)),
        (lambda request: get_role(request) == "answer" and 4 <= request.sample < 5, ("distractors",)),
        (lambda request: mentions(request, stages.TEACHER), ("teacher",)),
    ],
    ids=["writer", "one rollout among distractors", "teacher"],
)
def test_a_refusal_in_an_optional_stage_costs_no_pair_and_is_made_up(
    tmp_path: Path, refuses: Callable[[Request], bool], missing: tuple[str, ...]
) -> None:
    play = stages.Faulty("nobody")
    complete_record = asyncio.run(run_seed(make_seed(), stages.context(ScriptedLLM(play))))
    assert (complete_record.status, complete_record.missing) == (Status.ACCEPTED, ())
    record = asyncio.run(run_seed(make_seed(), stages.context(refuse(play, refuses))))
    assert (record.status, record.reason, record.missing) == (Status.ACCEPTED, "", missing)
    assert (record.rounds, record.confirmation) == (complete_record.rounds, complete_record.confirmation)
    assert stages.run_complete(record, ScriptedLLM(play), tmp_path).missing == {}
    assert Completions(tmp_path).join(record) == complete_record


@pytest.mark.parametrize("refused_role", ["change", "absent"])
def test_a_refused_twin_costs_no_pair_and_is_made_up(tmp_path: Path, refused_role: str) -> None:
    def make_twin_context(llm: ScriptedLLM) -> RunContext:
        return RunContext(config=build(sets=list(twins.SETS)), llm=llm, retriever=SHELF, lineage=LINEAGE)

    complete_record = asyncio.run(run_seed(make_seed(), make_twin_context(ScriptedLLM(twins.Playing()))))
    assert complete_record.twin is not None
    refused = refuse(twins.Playing(), lambda request: get_role(request) == refused_role)
    record = asyncio.run(run_seed(make_seed(), make_twin_context(refused)))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("unanswerable",))
    retry = make_twin_context(ScriptedLLM(twins.Playing()))
    assert asyncio.run(complete([record], retry, tmp_path, lambda ended: None)).missing == {}
    joined = Completions(tmp_path).join(record)
    assert joined.twin is not None
    assert joined.twin.used == complete_record.twin.used


@pytest.mark.parametrize(
    "refuses",
    [
        lambda request: request.model == "small" and get_role(request) == "answer" and request.sample == FIRST_SAMPLE,
        lambda request: request.model == "small" and get_role(request) == "read",
    ],
    ids=["one rollout", "from memory"],
)
def test_a_refused_policy_is_missing_and_neither_wrong_nor_ignorant(refuses: Callable[[Request], bool]) -> None:
    complete_record = policies.run_policies(ScriptedLLM(policies.Trained()))
    record = policies.run_policies(refuse(policies.Trained(), refuses))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("policies",))
    for measurement, expected in zip(record.measurements, complete_record.measurements, strict=True):
        assert {*measurement.verdicts} <= {*expected.verdicts}
        assert measurement.closed_book in (None, expected.closed_book)
