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


def make_search(arguments: str) -> Message:
    return Message(role="assistant", tool_calls=(ToolCall(id="call00000", name="search", arguments=arguments),))


def dump_messages(messages: list[Message]) -> list[str]:
    texts = chat.dump_messages(messages)
    assert texts is not None
    return texts


def test_a_message_has_no_empty_fields():
    (text,) = dump_messages([Message(role="user", content="Who?")])
    assert orjson.loads(text) == {"role": "user", "content": "Who?"}


def test_arguments_are_objects():
    (text,) = dump_messages([make_search('{"query": "1969"}')])
    assert orjson.loads(text)["tool_calls"][0]["function"] == {"name": "search", "arguments": {"query": "1969"}}


@pytest.mark.parametrize("arguments", ["", "x", '"text"', "[1]", '{"query": NaN}', '{"query": "\\ud800"}'])
def test_a_conversation_with_broken_arguments_is_dropped(arguments):
    assert chat.dump_messages([make_search(arguments)]) is None


@pytest.mark.parametrize("text", ["1969", "true", "null", "1e5", "a\u2028b", "nul\x00", "x" * (1 << 20)])
def test_datasets_returns_the_same_objects(tmp_path, text):
    messages = [Message(role="user", content=text), make_search(orjson.dumps({"query": text}).decode())]
    schema = pa.schema([("messages", chat.MESSAGES), ("tools", chat.JSON)])
    row = {"messages": dump_messages(messages), "tools": environment(RunConfig()).offered}
    pq.write_table(table([row], schema), tmp_path / "x.parquet")
    (loaded,) = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path / "cache"))
    assert loaded["messages"] == [orjson.loads(message) for message in row["messages"]]
    assert loaded["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"query": text}
    names = [list(tool["function"]["parameters"]["properties"]) for tool in loaded["tools"]]
    assert names == [["query"], ["passage_id"], ["answer"]]


def test_tools_are_as_a_server_gives_them_to_a_chat_template():
    request = Request(model="m", messages=(), tools=environment(RunConfig()).tools)
    sent = chat_body.body(request, run_seed=0)["tools"]
    for tool, served in zip(orjson.loads(environment(RunConfig()).offered), sent, strict=True):
        assert list(tool) == list(served)
        assert list(tool["function"]) == [key for key in served["function"] if key != "strict"]


def test_a_lone_surrogate_is_in_no_journal_and_in_no_row():
    with pytest.raises(ValueError, match="Invalid JSON"):
        TypeAdapter(Message).validate_json(b'{"role": "user", "content": "\\ud800"}')
    assert chat.dump_messages([Message(role="user", content="\ud800")]) is None


def test_tokens_are_estimated_as_a_third_of_the_bytes():
    assert chat.tokens(["In 1969, yes.", "é"]) == 5
    assert chat.tokens([]) == 0


def test_server_fields_are_in_no_view() -> None:
    call = ToolCall(id="call00000", name="search", arguments='{"query":"x"}', server_fields='{"id":"SECRET"}')
    turn = Message(role="assistant", content="a", tool_calls=(call,), server_fields='{"reasoning_details":["SECRET"]}')
    texts = chat.dump_messages((turn,))
    assert texts
    assert "SECRET" not in texts[0]
    plain = Message(role="assistant", content="a", tool_calls=(call.model_copy(update={"server_fields": ""}),))
    assert chat.normalise_calls((turn,)) == chat.normalise_calls((plain,))
    assert "server_fields" not in records.SCHEMA.to_string()
    assert "SECRET" not in chat.nemo_gym((turn,), turn, ())
