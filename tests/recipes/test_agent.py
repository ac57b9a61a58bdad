"""The recipe for an agent trains on exactly the text that its server is later sent, and on nothing else.

The weights need another environment: `tests/consumers` runs a step of the recipe with TRL's own code.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jinja2 import Environment, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.exports.views.records import record
from pipeline.llm import written_calls
from pipeline.llm.base import Request
from pipeline.llm.chat_body import body
from pipeline.types import Trajectory
from tests.replays import generate_run

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes" / "agent"
BEGIN, END = "\ue000", "\ue001"
"""What stands in these tests around what is learnt."""


class Generation(Extension):
    """The tag by which templates mark what is learnt."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja's own extensions declare it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        inner = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_mark"), [], [], inner).set_lineno(line)

    def _mark(self, caller: Callable[[], str]) -> str:
        return f"{BEGIN}{caller()}{END}"


class Words:
    """A tokenizer's one method that is needed, with the settings that transformers gives templates."""

    def __init__(self) -> None:
        jinja = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation])
        jinja.filters["tojson"] = lambda tree: json.dumps(tree, ensure_ascii=False)
        self.template = jinja.from_string((RECIPE / "template.jinja").read_text(encoding="utf-8"))

    def apply_chat_template(self, messages: list[Any], tools: list[Any] | None = None, **settings: Any) -> str:
        return self.template.render(messages=messages, tools=tools, **settings)


@pytest.fixture(scope="module")
def recipe() -> dict[str, ModuleType]:
    """Its modules, which import one another as scripts do."""
    sys.path.insert(0, str(RECIPE))
    try:
        return {name: __import__(name) for name in ("train", "serve")}
    finally:
        sys.path.remove(str(RECIPE))
        for name in ("train", "serve"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Trajectory]]:
    """Return the rows of a run's view, each with the trajectory that it was made from."""
    settings = "--pairs 3 --steps 1-2 --retriever bm25".split()
    out = generate_run(tmp_path_factory.mktemp("agent"), "tiny", *settings)
    data = next(out.glob("*/latest/dataset"))
    stored_records = [
        record(row) for file in (data / "records").glob("*.parquet") for row in pq.read_table(file).to_pylist()
    ]
    trajectories = {
        (
            stored_record.key,
            rollout.answer,
            rollout.trajectory.calls[0].argument,
            rollout.trajectory.steps,
        ): rollout.trajectory
        for stored_record in stored_records
        for rollout in (*stored_record.confirmation, *(r for past in stored_record.rounds for r in past.rollouts))
    }
    row_pairs = []
    for file in (data / "sft").glob("*.parquet"):
        for row in pq.read_table(file).to_pylist():
            messages = [orjson.loads(text) for text in row["messages"]]
            row |= {"messages": messages, "tools": orjson.loads(row["tools"])}
            matching = [
                trajectory
                for trajectory in trajectories.values()
                if [m.content for m in trajectory.messages] == [m["content"] for m in messages]
            ]
            row_pairs.append((row, matching[0]))
    return row_pairs


def request(trajectory: Trajectory, turns: int, choice: str = "auto") -> Request:
    return Request(model="m", messages=trajectory.messages[:turns], tools=SOLVER_TOOLS, tool_choice=choice)


@pytest.mark.slow
def test_the_server_is_sent_what_was_trained_on(recipe: Any, rows: list[tuple[dict[str, Any], Trajectory]]) -> None:
    words = Words()
    for row, trajectory in rows:
        conversation = words.apply_chat_template(row["messages"], tools=row["tools"])
        turns = [number for number, message in enumerate(row["messages"]) if message["role"] == "assistant"]
        assert len(turns) > 1
        for turn in turns:
            prompt, call_start = recipe["serve"].prompt(words, body(request(trajectory, turn), 0))
            assert conversation.startswith(prompt + BEGIN)
            assert call_start == ""


def test_calls_and_answers_alone_are_learnt(rows: list[tuple[dict[str, Any], Trajectory]]) -> None:
    offered = written_calls.OfferedTools(SOLVER_TOOLS)
    for row, trajectory in rows:
        text = Words().apply_chat_template(row["messages"], tools=row["tools"])
        parts = [part.partition(END)[0] for part in text.split(BEGIN)[1:]]
        assistant_messages = [message for message in trajectory.messages if message.role == "assistant"]
        assert len(parts) == len(assistant_messages)
        for part, message in zip(parts, assistant_messages, strict=True):
            assert part.endswith("<|im_end|>")
            before, calls = written_calls.extract_calls(part.removesuffix("<|im_end|>"), offered)
            assert before == message.content
            read = [(call.name, orjson.loads(call.arguments), call.repaired) for call in calls]
            assert read == [(call.name, orjson.loads(call.arguments), False) for call in message.tool_calls]


def test_a_call_that_must_be_made_is_begun(recipe: Any, rows: list[tuple[dict[str, Any], Trajectory]]) -> None:
    prompt, call_start = recipe["serve"].prompt(Words(), body(request(rows[0][1], 2, "answer"), 0))
    assert prompt.endswith("<|im_start|>assistant\n" + call_start)
    _, calls = written_calls.extract_calls(
        call_start + '{"answer": "1874"}}</tool_call>', written_calls.OfferedTools(SOLVER_TOOLS)
    )
    assert [(call.name, orjson.loads(call.arguments)) for call in calls] == [("answer", {"answer": "1874"})]


def test_rows_that_must_not_be_trained_on_are_left_out(
    recipe: Any, rows: list[tuple[dict[str, Any], Trajectory]]
) -> None:
    usable, (row, _) = recipe["train"].usable, rows[0]
    assert not usable(row, demo=False), "made with the demo model"
    assert usable(row, demo=True)
    assert usable(row | {"trainable": True}, demo=False)
    last = [False] * (len(row["loss"]) - 1) + [True]
    assert not usable(row | {"trainable": True, "loss": last}, demo=True), "its earlier turns would be learnt again"


def test_a_gguf_file_is_named_by_its_folder(recipe: Any) -> None:
    assert recipe["train"].source("/w/m.gguf") == {"pretrained_model_name_or_path": "/w", "gguf_file": "m.gguf"}
    assert recipe["train"].source("org/m") == {"pretrained_model_name_or_path": "org/m"}


def test_what_is_kept_to_evaluate_is_not_learnt(recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "sft").mkdir()
    for split in ("train-00000", "eval-00000"):
        messages = [{"role": "user", "content": split}, {"role": "assistant", "content": "1874"}]
        row = {"id": split, "messages": messages, "loss": [False, True], "trainable": True}
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "sft" / f"{split}.parquet")
    assert recipe["train"].to_learn(tmp_path, demo=False)["id"] == ["train-00000"]
