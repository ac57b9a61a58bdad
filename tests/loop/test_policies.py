"""Each accepted pair is measured for every policy model: fresh rollouts, and answers from memory that are paid once."""

import asyncio
from pathlib import Path

from pipeline.afterwards.missing_stages import complete
from pipeline.agents.environment_file import environment
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.cached import Cached
from pipeline.loop.episode import run_seed
from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.store.amendments import Completions
from pipeline.store.cache import Cache
from pipeline.types import Share, Status
from tests.loop.cast import LINEAGE, SHELF, make_seed
from tests.loop.policy_runs import POLICIES, Trained, make_config, run_policies
from tests.scripted_llm import ScriptedLLM


def test_an_accepted_pair_carries_a_measurement_of_each_policy() -> None:
    cast = Trained()
    record = run_policies(ScriptedLLM(cast))
    assert (record.status, record.missing, record.solve_rate) == (Status.ACCEPTED, (), 1.0)
    small, large = record.find_assessment("one"), record.find_assessment("two")
    assert small is not None
    assert large is not None
    assert (small.model, small.rollouts, small.solve_rate, small.least_steps, small.median_steps) == (
        "small",
        4,
        0.5,
        3,
        3.5,
    )
    assert (large.model, large.rollouts, large.solve_rate, large.least_steps, large.median_steps) == (
        "large",
        4,
        1.0,
        2,
        3.0,
    )
    assert small.solve_rate_interval == Share(part=2, whole=4).interval
    assert [(assessment.known, assessment.known_tries) for assessment in (small, large)] == [(0.0, 3), (2 / 3, 3)]
    assert (small.retriever, small.k, small.date) == ("shelf", 1, "")
    # The first keeps its reasoning, so its environment differs from that of the solver and the second.
    solver = record.find_assessment()
    assert solver is not None
    assert solver.environment == large.environment == environment(make_config()).digest != small.environment
    assert {rollout.sample for measurement in record.measurements for rollout in measurement.rollouts} == {
        *range(FIRST_SAMPLE, FIRST_SAMPLE + 4)
    }
    assert (record.hardness_for("one"), record.hardness_for("two"), record.hardness_for()) == (
        (3, 0.5),
        (3, 1.0),
        (3, 1.0),
    )
    assert (record.find_assessment("three"), record.hardness_for("three")) == (None, (3, None))
    assert record.usage["policy"].calls == cast.counts["small", "answer"] + cast.counts["large", "answer"] + 6


def test_answers_from_memory_are_taken_from_the_audit() -> None:
    cast = Trained()
    record = run_policies(ScriptedLLM(cast), 'checks.enabled=["closed_book"]')
    # The audit does not ask the second policy, since the first knows nothing.
    assert (cast.counts["small", "read"], cast.counts["large", "read"]) == (3, 3)
    assert [(probe.model, probe.tries) for probe in record.rounds[0].probes] == [("embedded", 3), ("small", 3)]
    assert [measurement.closed_book.model for measurement in record.measurements if measurement.closed_book] == [
        "small",
        "large",
    ]
    assert record.usage["policy"].calls == cast.counts["small", "answer"] + cast.counts["large", "answer"] + 3


def test_each_sampling_of_a_model_is_measured_on_its_own() -> None:
    policies = {"policies": {**POLICIES, "cold": {**POLICIES["one"], "sampling": {"temperature": 0.0}}}}
    built = build(
        values={"strategy": "sage", "models": policies, "retrieval": {"k": 1}, "difficulty": {"adversarial": False}},
        sets=['checks.enabled=["closed_book"]'],
    )
    cast = Trained()
    record = asyncio.run(run_seed(make_seed(), RunContext(built, ScriptedLLM(cast), SHELF, LINEAGE)))
    assert [measurement.policy for measurement in record.measurements] == ["one", "two", "cold"]
    assert len({measurement.identity for measurement in record.measurements}) == 3
    assert cast.counts["small", "read"] == 3 + 1, "the audit's answers are kept, and without sampling there is one"


def test_a_rollout_that_an_unreadable_judge_cost_is_made_up(tmp_path: Path) -> None:
    cast, cache = Trained(bad=True), Cache(tmp_path / "cache.sqlite")
    record = run_policies(Cached(ScriptedLLM(cast), cache))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("policies",))
    measurement = record.measurement("one")
    assert measurement is not None
    assert (measurement.assessment.rollouts, measurement.assessment.solve_rate) == (2, 0.0)
    cast.bad, before = False, cast.counts.copy()
    context = RunContext(make_config(), Cached(ScriptedLLM(cast), cache), SHELF, LINEAGE)
    completion = asyncio.run(complete([record], context, tmp_path, lambda ended: None))
    assert (completion.completed, completion.missing) == (1, {})
    joined = Completions(tmp_path).join(record)
    assert joined.missing == ()
    assert [
        (assessment.policy, assessment.rollouts, assessment.solve_rate)
        for assessment in (policy.assessment for policy in joined.measurements)
    ] == [("one", 4, 0.5), ("two", 4, 1.0)]
    # Their rollouts are paid for already.
    requests = cast.counts - before
    assert {role for _, role in requests} == {"verdict"}


def test_a_rejected_draft_is_measured_for_no_policy() -> None:
    cast = Trained()
    cast.first = {**cast.first, "steps": [cast.first["steps"][2] | {"needs": []}]}
    record = run_policies(ScriptedLLM(cast), "loop.rounds=0")
    assert (record.status, record.measurements) == (Status.REJECTED, ())
    assert not cast.counts["small", "answer"]
