"""The columns of a question are the same in `qa` and in every `rl_*` view, and have a type where they are null."""

from typing import Any

import orjson
import pyarrow as pa
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.exports.question_columns import COLUMNS, question_columns
from pipeline.exports.views import base, qa
from pipeline.reward import reward
from pipeline.store.arrow import columns
from pipeline.types import Assessment, Record
from pipeline.types.model_probe import PriorKnowledge
from tests.analysis.policy_measurements import measure
from tests.answer_types import chosen, decided, divided, listed
from tests.records import accepted

RL = [name for name in base.names() if name.startswith("rl_")]
PLAIN = environment(RunConfig())


def get_columns(record: Record, **gates: Any) -> dict[str, Any]:
    return question_columns(record, environment(build(values={"gates": gates})))


@pytest.mark.parametrize("view", ["qa", *RL])
def test_every_view_has_the_columns_with_their_types(view: str) -> None:
    (row,) = base.load(view).rows(accepted(1, model="qwen"), PLAIN)
    values = orjson.loads(row["info"]) if view == "rl_verifiers" else row
    assert {name: values[name] for name in COLUMNS} == question_columns(accepted(1, model="qwen"), PLAIN)
    if view != "rl_verifiers":
        schema = base.load(view).schema
        assert [field for field in schema if field.name in COLUMNS] == list(columns(**COLUMNS))
        assert not any(pa.types.is_null(field.type) for field in schema)


@pytest.mark.parametrize(
    ("record", "operation", "chance"),
    [
        (accepted(1), "lookup", 0.0),
        (decided(1), "yes_no", 0.5),
        (listed(1), "list", 0.0),
        (chosen(1), "filter", 1 / 14),
        (divided(1), "ratio", 0.0),
    ],
    ids=["lookup", "yes_no", "list", "filter", "ratio"],
)
def test_the_value_of_a_guess_follows_from_the_operation(record: Record, operation: str, chance: float) -> None:
    row = get_columns(record)
    assert (row["operation"], row["chance"]) == (operation, chance)
    assert (row["answer_low"] is None) is (row["answer_high"] is None) is (operation != "ratio")


def test_a_computed_number_has_the_interval_that_the_reward_accepts() -> None:
    row = get_columns(divided(1))
    assert row["answer_low"] < 4 < row["answer_high"]
    inside, outside = row["answer_low"] * 1.0001, row["answer_high"] * 1.0001
    (reward_row,) = base.load("rl_trl").rows(divided(1), PLAIN)
    assert [reward.score(f"{value:.6f}", reward_row["golden_answers"]) for value in (inside, outside)] == [1.0, 0.0]


def test_the_policys_rate_is_next_to_the_solvers_and_null_until_measured() -> None:
    record = accepted(1, model="qwen").model_copy(update={"measurements": (measure("mine", "half"),)})
    names = ("solver_solve_rate", "policy_solve_rate", "policy_tries")
    assert [get_columns(record)[name] for name in names] == [record.solve_rate, None, None]
    assert [get_columns(record, policy="mine")[name] for name in names] == [record.solve_rate, 0.5, 4]
    assert [get_columns(record, policy="other")[name] for name in names] == [record.solve_rate, None, None]


def test_evidence_search_and_memory_are_those_of_the_record() -> None:
    prior = (PriorKnowledge(model="m", tries=3, right=1),)
    record = accepted(1).model_copy(update={"known_to": prior})
    row = get_columns(record)
    assert record.draft
    assert row["evidence_ids"] == [hop.passage_id for hop in record.draft.hops]
    assert (row["retriever"], row["k"]) == (record.lineage.retriever, RunConfig().retrieval.k)
    assert row["known_to"] == [{"model": "m", "tries": 3, "right": 1}]
    (qa_row,) = qa.rows(record, PLAIN)
    assert pa.Table.from_pylist([qa_row], schema=qa.SCHEMA).column("known_to").to_pylist() == [row["known_to"]]


def test_a_pair_that_another_model_solved_is_measured_by_that_model() -> None:
    record = accepted(1)
    solver = Assessment(model="small", retriever="bm25", k=5, rollouts=4, solve_rate=0.0, least_steps=None)
    update = {
        "reason": "beyond_solver",
        "assessments": (solver,),
        "measurements": (measure("mine", "all", model="strong"),),
    }
    opened = record.model_copy(update=update)
    assert opened.opener
    row = get_columns(opened)
    assert (row["measured_by"], row["solver_solve_rate"]) == ("strong", 0.0)
    assert get_columns(opened.model_copy(update={"measurements": ()}))["measured_by"] == "small"
