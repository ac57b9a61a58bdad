import datasets
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.trajectories import chat
from pipeline.exports.views import records
from pipeline.llm import chat_body
from pipeline.llm.base import Request
from pipeline.store.arrow import table
from pipeline.types import Message, ToolCall


def asking(arguments: str) -> Message:
    return Message(role="assistant", tool_calls=(ToolCall(id="call00000", name="search", arguments=arguments),))


def dumped(messages: list[Message]) -> list[str]:
    texts = chat.dump_messages(messages)
    assert texts is not None
    return texts


def test_a_message_holds_what_it_says_and_nothing_else():
    (text,) = dumped([Message(role="user", content="Who?")])
    assert orjson.loads(text) == {"role": "user", "content": "Who?"}


def test_arguments_are_objects():
    (text,) = dumped([asking('{"query": "1969"}')])
    assert orjson.loads(text)["tool_calls"][0]["function"] == {"name": "search", "arguments": {"query": "1969"}}


@pytest.mark.parametrize("arguments", ["", "x", '"text"', "[1]", '{"query": NaN}', '{"query": "\\ud800"}'])
def test_a_conversation_with_broken_arguments_is_none(arguments):
    assert chat.dump_messages([asking(arguments)]) is None


@pytest.mark.parametrize("text", ["1969", "true", "null", "1e5", "a\u2028b", "nul\x00", "x" * (1 << 20)])
def test_datasets_gives_the_very_objects_back(tmp_path, text):
    said = [Message(role="user", content=text), asking(orjson.dumps({"query": text}).decode())]
    schema = pa.schema([("messages", chat.MESSAGES), ("tools", chat.JSON)])
    row = {"messages": dumped(said), "tools": environment(RunConfig()).offered}
    pq.write_table(table([row], schema), tmp_path / "x.parquet")
    (loaded,) = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path / "cache"))
    assert loaded["messages"] == [orjson.loads(message) for message in row["messages"]]
    assert loaded["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"query": text}
    assert [list(tool["function"]["parameters"]["properties"]) for tool in loaded["tools"]] == [
        ["query"],
        ["passage_id"],
        ["answer"],
    ]


def test_tools_stand_as_a_server_gives_them_to_a_chat_template():
    asked = Request(model="m", messages=(), tools=environment(RunConfig()).tools)
    sent = chat_body.body(asked, run_seed=0)["tools"]
    for tool, served in zip(orjson.loads(environment(RunConfig()).offered), sent, strict=True):
        assert list(tool) == list(served)
        assert list(tool["function"]) == [key for key in served["function"] if key != "strict"]


def test_a_lone_surrogate_comes_from_no_journal_and_into_no_row():
    with pytest.raises(ValueError, match="Invalid JSON"):
        TypeAdapter(Message).validate_json(b'{"role": "user", "content": "\\ud800"}')
    assert chat.dump_messages([Message(role="user", content="\ud800")]) is None


def test_tokens_are_a_third_of_the_bytes():
    assert chat.tokens(["In 1969, yes.", "é"]) == 5
    assert chat.tokens([]) == 0


def test_no_view_holds_what_was_meant_for_the_server() -> None:
    call = ToolCall(id="call00000", name="search", arguments='{"query":"x"}', server_fields='{"id":"SECRET"}')
    turn = Message(role="assistant", content="a", tool_calls=(call,), server_fields='{"reasoning_details":["SECRET"]}')
    texts = chat.dump_messages((turn,))
    assert texts
    assert "SECRET" not in texts[0]
    plain = Message(role="assistant", content="a", tool_calls=(call.model_copy(update={"server_fields": ""}),))
    assert chat.normalise_calls((turn,)) == chat.normalise_calls((plain,))
    assert "server_fields" not in records.SCHEMA.to_string()
    assert "SECRET" not in chat.nemo_gym((turn,), turn, ())
