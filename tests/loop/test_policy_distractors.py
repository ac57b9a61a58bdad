"""The models to be trained among the distractors of a pair: the same samples again, and what is made of them."""

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
from pipeline.loop.episode import enrich, run_seed
from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.store.arrow import table
from pipeline.types import Message, Record, Status
from tests.distractors.test_accepted_pair import EDITION
from tests.loop.test_episode import LINEAGE, SHELF, call, seeded
from tests.loop.test_policies import Trained, config
from tests.scripted import ScriptedLLM

ON = (
    'distractors.kinds=["doppelganger"]',
    "distractors.rollouts=2",
    "teacher.rollouts=0",
    "retrieval.k=2",
    "loop.audit=false",
)


class Misled(Trained):
    """As its parent, but `small` believes 1598 at even samples once it was shown it."""

    def __call__(self, request: Request) -> Message:
        if request.output and request.output.name == "write":
            return Message(role="assistant", content=orjson.dumps({"passages": [EDITION]}).decode())
        given = (prompts.unfence(request.messages[-1].content) or {}).get("passages", ()) if request.output else ()
        if len(given) > 3:
            return Message(role="assistant", content='{"answer": "1641"}')
        if request.model == "small" and request.tools:
            shown = any("1598" in message.content for message in request.messages if message.role == "tool")
            if shown:
                return call("answer", answer="1641" if request.sample % 2 else "1598")
            if len(request.messages) == 2:
                return call("search", query="When was Vessby settled")
        return super().__call__(request)


def made(*sets: str, model: Any = None) -> Record:
    held = config(*ON, *sets)
    return asyncio.run(run_seed(seeded(), RunContext(held, model or ScriptedLLM(Misled()), SHELF, LINEAGE)))


@pytest.fixture(scope="module")
def record() -> Record:
    found = made("distractors.policies=true")
    assert found.status is Status.ACCEPTED
    assert found.distractor_eval
    assert found.distractor_eval.used
    return found


def test_every_policy_makes_its_samples_again_among_the_distractors(record: Record) -> None:
    names = [one.policy for one in record.measurements]
    assert names == ["one", "two", "one/distractors", "two/distractors"]
    for among in record.measurements[2:]:
        assert [rollout.sample for rollout in among.rollouts] == [*range(FIRST_SAMPLE, FIRST_SAMPLE + 4)]
        assert among.closed_book is None
    assert record.missing == ()
    assert record.find_assessment("one") == record.measurements[0].assessment
    assert record.usage["policy"].calls > made().usage["policy"].calls


def test_without_the_setting_nothing_is_tried_twice() -> None:
    assert [one.policy for one in made().measurements] == ["one", "two"]
    assert [*arms(made())] == [""]


def test_what_is_missing_is_made_up_and_nothing_else(record: Record) -> None:
    torn = record.model_copy(update={"measurements": record.measurements[:3], "missing": ("policies",)})
    model = ScriptedLLM(Misled())
    held = RunContext(config(*ON, "distractors.policies=true"), model, SHELF, LINEAGE)
    again = asyncio.run(enrich(torn, held))
    assert again == record
    assert {request.model for request in model.requests} == {"large"}


def test_the_harm_is_that_of_each_policy(record: Record) -> None:
    seeds = pl.from_arrow(table([row(record)], SCHEMA)).lazy()  # type: ignore[union-attr]
    found = distractors(seeds)
    assert [*found] == ["", "one", "two"]
    small = arms(record)["one"].pairs
    kind, whole = found["one"]
    assert (kind.kind, kind.policy, whole.kind, whole.policy) == ("doppelganger", "one", None, "one")
    lost = sum(before.correct - after.correct for before, _, after in small)
    assert kind.pairs == 4
    assert kind.misled == 0.5
    assert kind.points_lost
    assert kind.points_lost.value == pytest.approx(100 * lost / 4)
    shown = figures(seeds, policy="one")
    assert [one.policy for one in shown.policy_distractors] == ["one", "one", "two", "two"]
    assert shown.distractors == figures(seeds).distractors == tuple(found[""])
    assert [*shown.points_lost()] == ["", "one", "two"]


def test_robust_pairs_are_of_the_policy_that_the_data_set_is_for(record: Record) -> None:
    assert not list(contrasts(record))
    (turn,) = {(met.resisting, met.misled): met for met in contrasts(record, "one")}.values()
    assert (turn.agent, turn.measured) == ("policy", record.measurements[2])
    about = environment(config(*ON, "gates.policy=one"))
    (found,) = robust_pairs.rows(record, about)
    assert "1598" in found["rejected"][0]
    assert "small" in found["model"]
    assert not list(robust_pairs.rows(record, environment(config(*ON))))
