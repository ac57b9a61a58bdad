from itertools import pairwise

import orjson
import pytest

from pipeline.exports.views import sft_masked
from pipeline.types import Fork
from tests.exports.rollouts import make_record, make_rows
from tests.fork_records import branched
from tests.records import accepted


def rows(record):
    return make_rows(sft_masked, record)


def test_a_solved_rollout_is_a_row_for_each_of_its_turns():
    solved_rows = rows(accepted(1))
    assert [row["label"] for row in solved_rows] == ["solved"] * 4
    assert [len(row["prompt"]) for row in solved_rows] == [2, 4, 6, 8]
    for row in solved_rows:
        (turn,) = map(orjson.loads, row["completion"])
        assert turn["role"] == "assistant"
        assert turn["tool_calls"]


def test_a_completion_is_the_turn_that_follows_in_the_next_prompt():
    solved_rows = rows(accepted(1))
    for row, following in pairwise(solved_rows):
        assert following["prompt"][: len(row["prompt"]) + 1] == [*row["prompt"], *row["completion"]]


def test_no_completion_holds_an_observation():
    for row in rows(branched()):
        observations = [orjson.loads(text)["content"] for text in row["prompt"] if orjson.loads(text)["role"] == "tool"]
        assert not any(text in row["completion"][0] for text in observations)


def test_only_turns_to_a_solvable_state_of_a_failed_rollout_are_trained():
    failed_rows = [row for row in rows(branched()) if row["label"] != "solved"]
    assert [(row["label"], row["solved"], row["tried"], len(row["prompt"])) for row in failed_rows] == [
        ("beneficial", 2, 2, 2),
        ("beneficial", 1, 2, 4),
        ("own", 1, 2, 6),
        ("own", 1, 2, 8),
    ]
    assert {row["source"] for row in failed_rows} == {1}


@pytest.mark.parametrize("spacing", ["", " "])
def test_failed_rollouts_that_begin_alike_share_their_rows(spacing):
    record = branched()
    same = {rollout.sample for rollout in record.confirmation if rollout.trajectory == _get_failed(record).trajectory}
    forks = [Fork.model_validate_json(f.model_dump_json().replace('y\\":', f'y\\":{spacing}')) for f in record.forks]
    copies = [f.model_copy(update={"source": min(same)}) for f in forks if f.method == "eef"]
    assert (copies[0].branches == record.forks[1].branches) is (spacing == "")
    assert rows(record.model_copy(update={"forks": (*record.forks, *copies)})) == rows(record)


def _get_failed(record):
    return next(rollout for rollout in record.last.rollouts if rollout.sample == 1)


def test_a_record_without_a_fit_rollout_has_no_row():
    assert rows(make_record("forced", in_round=("wrong", "repeats"))) == []
