"""Policy models repeat their samples among the distractors of a pair, and the effect is measured."""

import asyncio
from typing import Any

import orjson
import polars as pl
import pytest

from pipeline import prompts
from pipeline.agents.environment_file import environment
from pipeline.analysis.distractor_effect import distractors
from pipeline.analysis.figures import figures
from pipeline.analysis.seed_rows import SCHEMA, row
from pipeline.context import RunContext
from pipeline.distractors.encounters import arms, contrasts
from pipeline.exports.views import robust_pairs
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.loop.stages import run_stages
from pipeline.store.arrow import table
from pipeline.types import Message, Record, Status
from tests.distractors.test_accepted_pair import EDITION
from tests.loop.cast import LINEAGE, SHELF, call, make_seed
from tests.loop.policy_runs import Trained, make_config
from tests.scripted_llm import ScriptedLLM

ON = (
    'distractors.kinds=["doppelganger"]',
    "distractors.rollouts=2",
    "teacher.rollouts=0",
    "retrieval.k=2",
    "loop.audit=false",
)


class Misled(Trained):
    """Plays a `small` that believes 1598 at even samples once it has seen it."""

    def __call__(self, request: Request) -> Message:
        if request.output and request.output.name == "write":
            return Message(role="assistant", content=orjson.dumps({"passages": [EDITION]}).decode())
        passages = (prompts.unfence(request.messages[-1].content) or {}).get("passages", ()) if request.output else ()
        if len(passages) > 3:
            return Message(role="assistant", content='{"answer": "1641"}')
        if request.model == "small" and request.tools:
            was_misled = any("1598" in message.content for message in request.messages if message.role == "tool")
            if was_misled:
                return call("answer", answer="1641" if request.sample % 2 else "1598")
            if len(request.messages) == 2:
                return call("search", query="When was Vessby settled")
        return super().__call__(request)


def run_misled(*sets: str, model: Any = None) -> Record:
    settings = make_config(*ON, *sets)
    return asyncio.run(run_seed(make_seed(), RunContext(settings, model or ScriptedLLM(Misled()), SHELF, LINEAGE)))


@pytest.fixture(scope="module")
def record() -> Record:
    accepted = run_misled("distractors.policies=true")
    assert accepted.status is Status.ACCEPTED
    assert accepted.distractor_eval
    assert accepted.distractor_eval.used
    return accepted


def test_every_policy_repeats_its_samples_among_the_distractors(record: Record) -> None:
    names = [measurement.policy for measurement in record.measurements]
    assert names == ["one", "two", "one/distractors", "two/distractors"]
    for measurement in record.measurements[2:]:
        assert [rollout.sample for rollout in measurement.rollouts] == [*range(FIRST_SAMPLE, FIRST_SAMPLE + 4)]
        assert measurement.closed_book is None
    assert record.missing == ()
    assert record.find_assessment("one") == record.measurements[0].assessment
    assert record.usage["policy"].calls > run_misled().usage["policy"].calls


def test_without_the_setting_no_sample_is_repeated() -> None:
    assert [measurement.policy for measurement in run_misled().measurements] == ["one", "two"]
    assert [*arms(run_misled())] == [""]


def test_what_is_missing_is_made_up_and_nothing_else(record: Record) -> None:
    torn = record.model_copy(update={"measurements": record.measurements[:3], "missing": ("policies",)})
    model = ScriptedLLM(Misled())
    context = RunContext(make_config(*ON, "distractors.policies=true"), model, SHELF, LINEAGE)
    completed = asyncio.run(run_stages(torn, context))
    assert completed == record
    assert {request.model for request in model.requests} == {"large"}


def test_the_harm_is_measured_for_each_policy(record: Record) -> None:
    seeds = pl.from_arrow(table([row(record)], SCHEMA)).lazy()  # type: ignore[union-attr]
    effects = distractors(seeds)
    assert [*effects] == ["", "one", "two"]
    small = arms(record)["one"].pairs
    kind, total = effects["one"]
    assert (kind.kind, kind.policy, total.kind, total.policy) == ("doppelganger", "one", None, "one")
    lost = sum(before.correct - after.correct for before, _, after in small)
    assert kind.pairs == 4
    assert kind.misled == 0.5
    assert kind.points_lost
    assert kind.points_lost.value == pytest.approx(100 * lost / 4)
    summary = figures(seeds, policy="one")
    assert [effect.policy for effect in summary.policy_distractors] == ["one", "one", "two", "two"]
    assert summary.distractors == figures(seeds).distractors == tuple(effects[""])
    assert [*summary.points_lost()] == ["", "one", "two"]


def test_robust_pairs_are_those_of_the_data_sets_policy(record: Record) -> None:
    assert not list(contrasts(record))
    (turn,) = {(contrast.resisting, contrast.misled): contrast for contrast in contrasts(record, "one")}.values()
    assert (turn.agent, turn.measured) == ("policy", record.measurements[2])
    about = environment(make_config(*ON, "gates.policy=one"))
    (pair,) = robust_pairs.rows(record, about)
    assert "1598" in pair["rejected"][0]
    assert "small" in pair["model"]
    assert not list(robust_pairs.rows(record, environment(make_config(*ON))))
