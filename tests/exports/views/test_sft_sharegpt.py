"""LLaMA-Factory's own conditions, as code: alternating turns, an even number of them, readable calls."""

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import sft
from pipeline.exports.views import sft_sharegpt as view
from pipeline.types import ToolCall
from tests.records import accepted
from tests.teacher_rollouts import taught

ENVIRONMENT = environment(RunConfig())


def rows(record):
    return list(view.rows(record, ENVIRONMENT))


def changed(record, place, **values):
    """The record, all of whose trajectories have another message at `place`."""

    def other(rollout):
        messages = list(rollout.trajectory.messages)
        messages[place] = messages[place].model_copy(update=values)
        trajectory = rollout.trajectory.model_copy(update={"messages": tuple(messages)})
        return rollout.model_copy(update={"trajectory": trajectory})

    last = record.rounds[-1]
    last = last.model_copy(update={"rollouts": tuple(map(other, last.rollouts))})
    confirmation = tuple(map(other, record.confirmation))
    return record.model_copy(update={"rounds": (*record.rounds[:-1], last), "confirmation": confirmation})


def test_turns_alternate_and_are_even():
    (row,) = rows(accepted(1))
    kinds = [turn["from"] for turn in row["conversations"]]
    assert kinds == ["human", "function_call", *["observation", "function_call"] * 3]


def test_its_rollouts_are_those_of_sft_the_teacher_s_too():
    record = taught()
    twice = record.model_copy(update={"teacher_rollouts": (*record.teacher_rollouts, *record.teacher_rollouts)})
    ours, theirs = rows(twice), list(sft.rows(twice, ENVIRONMENT))
    assert [row["agent"] for row in ours] == ["solver", "teacher", "teacher"]
    for name in ("agent", "resisted"):
        assert [row[name] for row in ours] == [row[name] for row in theirs]
    assert {row["system"] for row in ours} == {ENVIRONMENT.system}
    dropped = tuple(made.model_copy(update={"kept": False}) for made in record.teacher_rollouts)
    assert len(rows(record.model_copy(update={"teacher_rollouts": dropped}))) == 1


def test_calls_read_as_the_formatter_reads_them():
    (row,) = rows(accepted(1))
    values = [turn["value"] for turn in row["conversations"] if turn["from"] == "function_call"]
    words, call = values[0].split("<tool_call>")
    assert words.startswith("I look for: ")
    assert orjson.loads(call.removesuffix("</tool_call>"))["name"] == "search"
    # Nothing was said beside the last call, so it is JSON alone.
    assert orjson.loads(values[-1]) == {"name": "answer", "arguments": {"answer": accepted(1).draft.answer}}


def test_thoughts_stand_before_the_call():
    (row,) = rows(changed(accepted(1), -1, reasoning="It is so."))
    thought, _, call = row["conversations"][-1]["value"].partition("\n</think>\n\n")
    assert thought == "<think>\nIt is so."
    assert orjson.loads(call)["name"] == "answer"


def test_parallel_calls_are_a_list_and_their_observations_one_turn():
    record = accepted(1)
    messages = record.confirmation[0].trajectory.messages
    two = (*messages[2].tool_calls, ToolCall(id="call-x", name="open", arguments='{"passage_id": "p1"}'))
    answered = messages[3].model_copy(update={"tool_call_id": "call-x"})
    both = (messages[2].model_copy(update={"tool_calls": two, "content": ""}), messages[3], answered)
    trajectory = record.confirmation[0].trajectory.model_copy(
        update={"messages": (*messages[:2], *both, *messages[4:])}
    )
    first = record.confirmation[0].model_copy(update={"trajectory": trajectory})
    bare = record.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    (row,) = rows(record.model_copy(update={"confirmation": (first, *record.confirmation[1:]), "rounds": (bare,)}))
    assert [call["name"] for call in orjson.loads(row["conversations"][1]["value"])] == ["search", "open"]
    assert row["conversations"][2]["value"].count(messages[3].content) == 2
    assert len(row["conversations"]) == 8


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<tool_call>", "</tool_call>"])
def test_a_mark_of_the_formatter_in_a_models_words_leaves_the_row_out(tag):
    assert rows(changed(accepted(1), 2, content=f"so {tag}")) == []
    assert len(rows(changed(accepted(1), 3, content=f"a passage with {tag}"))) == 1


def test_the_entry_names_the_columns_there_are():
    entries = orjson.loads(view.VIEW.options.extra_files["dataset_info.json"])
    assert {entry["split"] for entry in entries.values()} == {"train", "eval"}
    assert set(entries["digsite"]["columns"].values()) <= set(view.SCHEMA.names)
