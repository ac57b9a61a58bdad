"""LLaMA-Factory's own conditions: turns alternate, their number is even, calls are readable."""

import orjson
import pytest

from pipeline.exports.views import sft
from pipeline.exports.views import sft_sharegpt as view
from pipeline.types import ToolCall
from tests.exports.rollouts import ENVIRONMENT, make_rows
from tests.records import accepted
from tests.teacher_rollouts import taught


def rows(record):
    return make_rows(view, record)


def change_message(record, index, **values):
    """Return the record with another message at this index of all its trajectories."""

    def change(rollout):
        messages = list(rollout.trajectory.messages)
        messages[index] = messages[index].model_copy(update=values)
        trajectory = rollout.trajectory.model_copy(update={"messages": tuple(messages)})
        return rollout.model_copy(update={"trajectory": trajectory})

    last = record.rounds[-1]
    last = last.model_copy(update={"rollouts": tuple(map(change, last.rollouts))})
    confirmation = tuple(map(change, record.confirmation))
    return record.model_copy(update={"rounds": (*record.rounds[:-1], last), "confirmation": confirmation})


def test_turns_alternate_and_their_number_is_even():
    (row,) = rows(accepted(1))
    kinds = [turn["from"] for turn in row["conversations"]]
    assert kinds == ["human", "function_call", *["observation", "function_call"] * 3]


def test_its_rollouts_are_those_of_sft_including_the_teachers():
    record = taught()
    twice = record.model_copy(update={"teacher_rollouts": (*record.teacher_rollouts, *record.teacher_rollouts)})
    rows_here, sft_rows = rows(twice), list(sft.rows(twice, ENVIRONMENT))
    assert [row["agent"] for row in rows_here] == ["solver", "teacher", "teacher"]
    for name in ("agent", "resisted"):
        assert [row[name] for row in rows_here] == [row[name] for row in sft_rows]
    assert {row["system"] for row in rows_here} == {ENVIRONMENT.system}


def test_calls_read_as_the_formatter_reads_them():
    (row,) = rows(accepted(1))
    values = [turn["value"] for turn in row["conversations"] if turn["from"] == "function_call"]
    words, call = values[0].split("<tool_call>")
    assert words.startswith("I look for: ")
    assert orjson.loads(call.removesuffix("</tool_call>"))["name"] == "search"
    # The last turn has no text next to its call, so it is JSON alone.
    assert orjson.loads(values[-1]) == {"name": "answer", "arguments": {"answer": accepted(1).draft.answer}}


def test_reasoning_comes_before_the_call():
    (row,) = rows(change_message(accepted(1), -1, reasoning="It is so."))
    thought, _, call = row["conversations"][-1]["value"].partition("\n</think>\n\n")
    assert thought == "<think>\nIt is so."
    assert orjson.loads(call)["name"] == "answer"


def test_parallel_calls_are_a_list_and_their_observations_one_turn():
    record = accepted(1)
    messages = record.confirmation[0].trajectory.messages
    two = (*messages[2].tool_calls, ToolCall(id="call-x", name="open", arguments='{"passage_id": "p1"}'))
    second_result = messages[3].model_copy(update={"tool_call_id": "call-x"})
    exchange = (messages[2].model_copy(update={"tool_calls": two, "content": ""}), messages[3], second_result)
    trajectory = record.confirmation[0].trajectory.model_copy(
        update={"messages": (*messages[:2], *exchange, *messages[4:])}
    )
    first = record.confirmation[0].model_copy(update={"trajectory": trajectory})
    bare = record.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    (row,) = rows(record.model_copy(update={"confirmation": (first, *record.confirmation[1:]), "rounds": (bare,)}))
    assert [call["name"] for call in orjson.loads(row["conversations"][1]["value"])] == ["search", "open"]
    assert row["conversations"][2]["value"].count(messages[3].content) == 2
    assert len(row["conversations"]) == 8


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<tool_call>", "</tool_call>"])
def test_a_row_with_a_tag_of_the_formatter_in_a_models_text_is_left_out(tag):
    assert rows(change_message(accepted(1), 2, content=f"so {tag}")) == []
    assert len(rows(change_message(accepted(1), 3, content=f"a passage with {tag}"))) == 1


def test_the_entry_names_existing_columns():
    entries = orjson.loads(view.VIEW.options.extra_files["dataset_info.json"])
    assert {entry["split"] for entry in entries.values()} == {"train", "eval"}
    assert set(entries["digsite"]["columns"].values()) <= set(view.SCHEMA.names)
