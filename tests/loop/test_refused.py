"""A request that the server refused is no answer of any role: it ends the seed as refused, or its stage as missing."""

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
from tests.loop import test_policies as policies
from tests.loop import test_unanswerable as twins
from tests.loop.test_episode import CHECKS, LINEAGE, QUESTION, SHELF, Cast, proposal, seeded
from tests.scripted import ScriptedLLM

WORDS = "http://there/v1 refused a request (400: the message at position 5 must not be empty)"
Play = Callable[[Request], Any]


def role(request: Request) -> str:
    return request.output.name if request.output else request.tools[-1].name


def refusing(play: Play, refuses: Callable[[Request], bool]) -> ScriptedLLM:
    return ScriptedLLM(lambda request: RequestRefused(WORDS) if refuses(request) else play(request))


def context(llm: ScriptedLLM, *sets: str) -> RunContext:
    settings = build(sets=["strategy='sage'", "difficulty.adversarial=false", "retrieval.k=1", *sets])
    return RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)


def mentioned(request: Request, words: str) -> bool:
    return any(words in message.content for message in request.messages)


def easy() -> Cast:
    """Its first draft is too easy, and what it revises it to is as long as its target."""
    longer = proposal(f"Or so: {QUESTION}")
    return Cast(lambda question, sample: 3 if "Or so" in question else 2, [longer])


@pytest.mark.parametrize(
    ("play", "refuses"),
    [
        (Cast(lambda question, sample: 3), lambda request: role(request) == "propose"),
        (easy(), lambda request: role(request) == "revise"),
        (Cast(lambda question, sample: 3), lambda request: role(request) == "answer"),
        (Cast(lambda question, sample: 3), lambda request: role(request) == "answer" and len(request.messages) > 5),
        (Cast(lambda question, sample: 3), lambda request: role(request) == "answer" and request.sample == 6),
        (Cast(lambda question, sample: 0), lambda request: role(request) == "verdict"),
        (Cast(lambda question, sample: 3), lambda request: role(request) == "read"),
        (Cast(lambda question, sample: 0), lambda request: role(request) == "weigh"),
    ],
    ids=["generator", "refiner", "solver", "solver late", "one confirmation", "judge", "reader", "weighing reader"],
)
def test_a_refusal_ends_the_seed_as_refused_whoever_met_it(play: Play, refuses: Callable[[Request], bool]) -> None:
    with counting() as ledger:
        record = asyncio.run(run_seed(seeded(), context(refusing(play, refuses), CHECKS)))
    assert (record.status, record.reason) == (Status.FAILED, "refused")
    assert ledger.end_cause == WORDS
    assert WORDS not in record.model_dump_json(), "what a server said is no fact of the record"
    assert record.confirmation == ()
    assert all(rollout.answered for past in record.rounds for rollout in past.rollouts)


@pytest.mark.parametrize(
    ("refuses", "missing"),
    [
        (lambda request: role(request) == "write", ("distractors",)),
        (lambda request: role(request) == "answer" and 4 <= request.sample < 5, ("distractors",)),
        (lambda request: mentioned(request, stages.TEACHER), ("teacher",)),
    ],
    ids=["writer", "one rollout among distractors", "teacher"],
)
def test_a_refusal_in_an_optional_stage_costs_no_pair_and_is_made_up(
    tmp_path: Path, refuses: Callable[[Request], bool], missing: tuple[str, ...]
) -> None:
    play = stages.Faulty("nobody")
    whole = asyncio.run(run_seed(seeded(), stages.context(ScriptedLLM(play))))
    assert (whole.status, whole.missing) == (Status.ACCEPTED, ())
    record = asyncio.run(run_seed(seeded(), stages.context(refusing(play, refuses))))
    assert (record.status, record.reason, record.missing) == (Status.ACCEPTED, "", missing)
    assert (record.rounds, record.confirmation) == (whole.rounds, whole.confirmation)
    assert stages.run_complete(record, ScriptedLLM(play), tmp_path).missing == {}
    assert Completions(tmp_path).join(record) == whole


@pytest.mark.parametrize("refused_role", ["change", "absent"])
def test_a_refused_twin_costs_no_pair_and_is_made_up(tmp_path: Path, refused_role: str) -> None:
    def made(llm: ScriptedLLM) -> RunContext:
        return RunContext(config=build(sets=list(twins.SETS)), llm=llm, retriever=SHELF, lineage=LINEAGE)

    whole = asyncio.run(run_seed(seeded(), made(ScriptedLLM(twins.Playing()))))
    assert whole.twin is not None
    refused = refusing(twins.Playing(), lambda request: role(request) == refused_role)
    record = asyncio.run(run_seed(seeded(), made(refused)))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("unanswerable",))
    again = made(ScriptedLLM(twins.Playing()))
    assert asyncio.run(complete([record], again, tmp_path, lambda ended: None)).missing == {}
    joined = Completions(tmp_path).join(record)
    assert joined.twin is not None
    assert joined.twin.used == whole.twin.used


@pytest.mark.parametrize(
    "refuses",
    [
        lambda request: request.model == "small" and role(request) == "answer" and request.sample == FIRST_SAMPLE,
        lambda request: request.model == "small" and role(request) == "read",
    ],
    ids=["one rollout", "from memory"],
)
def test_a_refused_policy_is_missing_and_neither_wrong_nor_ignorant(refuses: Callable[[Request], bool]) -> None:
    whole = policies.tried(ScriptedLLM(policies.Trained()))
    record = policies.tried(refusing(policies.Trained(), refuses))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("policies",))
    for found, wanted in zip(record.measurements, whole.measurements, strict=True):
        assert {*found.verdicts} <= {*wanted.verdicts}
        assert found.closed_book in (None, wanted.closed_book)
