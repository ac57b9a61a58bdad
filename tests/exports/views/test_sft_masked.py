from itertools import pairwise

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import sft_masked
from pipeline.types import Fork
from tests.forks import branched
from tests.records import accepted, confirmed, draft, round_, world

ENVIRONMENT = environment(RunConfig())


def rows(record):
    return list(sft_masked.rows(record, ENVIRONMENT))


def test_a_solved_rollout_is_a_row_for_each_of_its_turns():
    found = rows(accepted(1))
    assert [row["label"] for row in found] == ["solved"] * 4
    assert [len(row["prompt"]) for row in found] == [2, 4, 6, 8]
    for row in found:
        (turn,) = map(orjson.loads, row["completion"])
        assert turn["role"] == "assistant"
        assert turn["tool_calls"]


def test_a_completion_is_the_very_turn_that_follows_in_the_next_prompt():
    found = rows(accepted(1))
    for row, following in pairwise(found):
        assert following["prompt"][: len(row["prompt"]) + 1] == [*row["prompt"], *row["completion"]]


def test_no_completion_holds_an_observation():
    for row in rows(branched()):
        told = [orjson.loads(text)["content"] for text in row["prompt"] if orjson.loads(text)["role"] == "tool"]
        assert not any(text in row["completion"][0] for text in told)


def test_of_a_failed_rollout_only_what_leads_to_a_solvable_state_is_trained():
    found = [row for row in rows(branched()) if row["label"] != "solved"]
    assert [(row["label"], row["solved"], row["tried"], len(row["prompt"])) for row in found] == [
        ("beneficial", 2, 2, 2),
        ("beneficial", 1, 2, 4),
        ("own", 1, 2, 6),
        ("own", 1, 2, 8),
    ]
    assert {row["source"] for row in found} == {1}


@pytest.mark.parametrize("spacing", ["", " "])
def test_failed_rollouts_that_begin_alike_share_their_rows(spacing):
    record = branched()
    same = {rollout.sample for rollout in record.confirmation if rollout.trajectory == _failed(record).trajectory}
    forks = [Fork.model_validate_json(f.model_dump_json().replace('y\\":', f'y\\":{spacing}')) for f in record.forks]
    again = [f.model_copy(update={"source": min(same)}) for f in forks if f.method == "eef"]
    assert (again[0].branches == record.forks[1].branches) is (spacing == "")
    assert rows(record.model_copy(update={"forks": (*record.forks, *again)})) == rows(record)


def _failed(record):
    return next(rollout for rollout in record.last.rollouts if rollout.sample == 1)


def test_a_record_without_a_fit_rollout_has_no_row():
    w = world(1)
    record = accepted(1).model_copy(update={"rounds": (round_(w, draft(w), 0, ["wrong", "repeats"]),)})
    assert rows(confirmed(record, w, ["forced"])) == []
