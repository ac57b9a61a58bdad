"""Each accepted pair, measured for every model to be trained: fresh rollouts, and tries from memory paid once."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from pipeline.afterwards.missing_stages import complete
from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.llm.cached import Cached
from pipeline.loop.episode import run_seed
from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.store.amendments import Completions
from pipeline.store.cache import Cache
from pipeline.types import Message, Record, Share, Status
from tests.loop.test_episode import LINEAGE, SHELF, Cast, call, seeded
from tests.scripted import ScriptedLLM

STEPS = {"embedded": [3] * 4, "small": [0, 3, 4, 0], "large": [2, 3, 3, 3]}
"""What each model needs in its fresh rollouts; 0 for a wrong answer."""
POLICIES = {
    "one": {"provider": "openai", "model": "small", "reasoning": "keep"},
    "two": {"provider": "openai", "model": "large"},
}


class Trained(Cast):
    """As its parent, and the models to be trained fare as `STEPS` says. `large` knows the answer in two of three tries;
    of a right answer of `small` no judge can be read on while `bad`."""

    def __init__(self, *, bad: bool = False) -> None:
        super().__init__(lambda question, sample: 3)
        self.bad, self.asked, self.model = bad, Counter[tuple[str, str]](), ""

    def __call__(self, request: Request) -> Message:
        role = request.output.name if request.output else request.tools[-1].name
        self.asked[request.model, role] += 1
        self.paths = lambda question, sample: STEPS[request.model][sample % 4]
        self.reads = lambda shown: (
            "1641" if shown == 3 or (shown, request.model) == (0, "large") and request.sample < 6 else ""
        )
        if role == "verdict":
            right = "the year 1641" in request.messages[1].content
            verdict = orjson.dumps({"correct": right}).decode()
            return Message(role="assistant", content="hm" if right and self.bad else verdict)
        said = super().__call__(request)
        if request.model == "small" and said.tool_calls and said.tool_calls[0].name == "answer":
            answer = orjson.loads(said.tool_calls[0].arguments)["answer"]
            return call("answer", answer="the year 1641") if answer == "1641" else said
        return said


def config(*sets: str) -> RunConfig:
    values = {
        "strategy": "sage",
        "models": {"policies": POLICIES},
        "retrieval": {"k": 1},
        "difficulty": {"adversarial": False},
    }
    return build(values=values, sets=sets)


def tried(llm: Any, *sets: str) -> Record:
    return asyncio.run(run_seed(seeded(), RunContext(config(*sets), llm, SHELF, LINEAGE)))


def test_an_accepted_pair_carries_what_each_policy_makes_of_it() -> None:
    cast = Trained()
    record = tried(ScriptedLLM(cast))
    assert (record.status, record.missing, record.solve_rate) == (Status.ACCEPTED, (), 1.0)
    one, two = record.find_assessment("one"), record.find_assessment("two")
    assert one is not None
    assert two is not None
    assert (one.model, one.rollouts, one.solve_rate, one.least_steps, one.median_steps) == ("small", 4, 0.5, 3, 3.5)
    assert (two.model, two.rollouts, two.solve_rate, two.least_steps, two.median_steps) == ("large", 4, 1.0, 2, 3.0)
    assert one.solve_rate_interval == Share(part=2, whole=4).interval
    assert [(a.known, a.known_tries) for a in (one, two)] == [(0.0, 3), (2 / 3, 3)]
    assert (one.retriever, one.k, one.date) == ("shelf", 1, "")
    # The first keeps its thoughts, and so is in another environment than the solver and the second.
    own = record.find_assessment()
    assert own is not None
    assert own.environment == two.environment == environment(config()).digest != one.environment
    assert {rollout.sample for measured in record.measurements for rollout in measured.rollouts} == {
        *range(FIRST_SAMPLE, FIRST_SAMPLE + 4)
    }
    assert (record.hardness_for("one"), record.hardness_for("two"), record.hardness_for()) == (
        (3, 0.5),
        (3, 1.0),
        (3, 1.0),
    )
    assert (record.find_assessment("three"), record.hardness_for("three")) == (None, (3, None))
    assert record.usage["policy"].calls == cast.asked["small", "answer"] + cast.asked["large", "answer"] + 6


def test_what_the_audit_was_told_from_memory_is_not_asked_for_again() -> None:
    cast = Trained()
    record = tried(ScriptedLLM(cast), 'checks.enabled=["closed_book"]')
    # The second is not asked by the audit, since the first knows nothing.
    assert (cast.asked["small", "read"], cast.asked["large", "read"]) == (3, 3)
    assert [(probe.model, probe.tries) for probe in record.rounds[0].probes] == [("embedded", 3), ("small", 3)]
    assert [one.closed_book.model for one in record.measurements if one.closed_book] == ["small", "large"]
    assert record.usage["policy"].calls == cast.asked["small", "answer"] + cast.asked["large", "answer"] + 3


def test_another_sampling_of_one_model_is_asked_for_itself() -> None:
    policies = {"policies": {**POLICIES, "cold": {**POLICIES["one"], "sampling": {"temperature": 0.0}}}}
    built = build(
        values={"strategy": "sage", "models": policies, "retrieval": {"k": 1}, "difficulty": {"adversarial": False}},
        sets=['checks.enabled=["closed_book"]'],
    )
    cast = Trained()
    record = asyncio.run(run_seed(seeded(), RunContext(built, ScriptedLLM(cast), SHELF, LINEAGE)))
    assert [one.policy for one in record.measurements] == ["one", "two", "cold"]
    assert len({one.identity for one in record.measurements}) == 3
    assert cast.asked["small", "read"] == 3 + 1, "the audit's answers are kept, and without sampling there is one"


def test_an_unreadable_judge_costs_a_policy_its_rollout_and_it_is_made_up(tmp_path: Path) -> None:
    cast, cache = Trained(bad=True), Cache(tmp_path / "cache.sqlite")
    record = tried(Cached(ScriptedLLM(cast), cache))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("policies",))
    one = record.measurement("one")
    assert one is not None
    assert (one.assessment.rollouts, one.assessment.solve_rate) == (2, 0.0)
    cast.bad, before = False, cast.asked.copy()
    context = RunContext(config(), Cached(ScriptedLLM(cast), cache), SHELF, LINEAGE)
    done = asyncio.run(complete([record], context, tmp_path, lambda ended: None))
    assert (done.completed, done.missing) == (1, {})
    whole = Completions(tmp_path).join(record)
    assert whole.missing == ()
    assert [(a.policy, a.rollouts, a.solve_rate) for a in (m.assessment for m in whole.measurements)] == [
        ("one", 4, 0.5),
        ("two", 4, 1.0),
    ]
    # What they did was paid for, and is not paid for again.
    asked = cast.asked - before
    assert {role for _, role in asked} == {"verdict"}


def test_what_was_not_accepted_is_measured_for_nobody() -> None:
    cast = Trained()
    cast.first = {**cast.first, "steps": [cast.first["steps"][2] | {"needs": []}]}
    record = tried(ScriptedLLM(cast), "loop.rounds=0")
    assert (record.status, record.measurements) == (Status.REJECTED, ())
    assert not cast.asked["small", "answer"]
