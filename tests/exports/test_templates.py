"""In the model's own chat template, the context of a trained turn equals what the model saw when it sampled the turn.

Rollouts come from the real loop and the real wire. The same template renders a server's request and a trainer's row,
and both are compared as text: no tokenizer is installed, and equal text gives equal tokens. `strict` is left out of the
tools, since some servers render it and others do not.
"""

import json
import os
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import orjson
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.exports.views import base
from tests.consumers import environments
from tests.exports.sampled import MARK, Sampled, sample_records

HERE = Path(__file__).parent / "templates"
RECORDS = 5
"""Each has six rollouts of the solver, so 30 trajectories, and those of the teacher and of branches."""
JOINED = "\n</tool_response>\n<tool_response>\n"
Messages = list[dict[str, Any]]


class Family(NamedTuple):
    name: str
    parallel: bool = True
    """Whether its template takes several calls in a turn."""
    words: bool = True
    """Whether it takes reasoning and text next to a call."""
    whole: bool = True
    """Whether the rendering of a state is the beginning of that of the whole conversation. DeepSeek's closes the tool
    outputs only before text or the end of the conversation."""


FAMILIES = (
    Family("qwen3"), Family("gptoss", parallel=False, words=False), Family("deepseekv3", whole=False),
    Family("llama3_1", parallel=False),
)  # fmt: skip


def _template(name: str) -> jinja2.Template:
    places = [HERE, Path(os.environ.get("DIGSITE_TEMPLATES", HERE))]
    places += environments.HOME.glob("trl-*/lib/python3*/site-packages/trl/chat_templates")
    file = next((found for place in places if (found := place / f"{name}.jinja").is_file()), None)
    if file is None:
        pytest.skip(f"{name}.jinja may not be shipped here: make test-consumers, or DIGSITE_TEMPLATES=FOLDER")
    # transformers renders them with these options.
    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    jinja.filters["tojson"] = _json
    jinja.globals |= {"raise_exception": _refuse, "strftime_now": lambda _: "2026-11-23"}
    return jinja.from_string(file.read_text())


def _json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(why: str) -> None:
    raise jinja2.TemplateError(why)


class Rendering:
    """A family's template with the input of servers and trainers: arguments as objects, or as text if it adds text, and
    reasoning under its own name."""

    def __init__(self, family: Family, sampled: Sampled) -> None:
        self._template, self._family = _template(family.name), family
        self._tools = orjson.loads(sampled.environment.offered)

    def __call__(self, messages: Messages, *, state: bool = True) -> str:
        """Render a state, ready for the model's turn, or a whole conversation."""
        return self._template.render(
            messages=[self._message(message) for message in messages],
            tools=self._tools, add_generation_prompt=state, bos_token="<s>", eos_token="</s>",
        )  # fmt: skip

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        converted = {key: value for key, value in message.items() if key not in ("reasoning", "tool_calls")}
        converted["content"] = converted.get("content") or ""
        if self._family.name == "gptoss" and "reasoning_content" in converted:
            converted["thinking"] = converted.pop("reasoning_content")
            # The template refuses both in one turn.
            converted["content"] = ""
        if calls := message.get("tool_calls"):
            converted["tool_calls"] = [self._call(call) for call in calls]
        return converted

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        raw = call["function"]["arguments"]
        arguments = orjson.loads(raw) if isinstance(raw, str) else raw
        if self._family.name == "deepseekv3":
            arguments = _json(arguments)
        return {**call, "function": {**call["function"], "arguments": arguments}}


class Trained(NamedTuple):
    """A turn that a row trains on, and its context."""

    view: str
    context: Messages
    target: dict[str, Any]
    row: Messages
    """The whole conversation of the turn."""


def list_trained_turns(sampled: Sampled) -> Iterator[Trained]:
    """Yield every turn that any view trains on."""
    record, environment = sampled.record, sampled.environment
    for view in ("sft", "sft_masked", "sft_sharegpt", "dpo", "dpo_steps", "kto", "robust_pairs", "steps", "adp"):
        for row in base.load(view).rows(record, environment):
            if view == "sft":
                yield from _learnt(view, _load(row["messages"]), row["loss"])
            elif view in ("sft_sharegpt", "adp"):
                opening = orjson.loads(environment.opening)
                messages = [opening, *(_sharegpt(row) if view == "sft_sharegpt" else _adp(row))]
                is_trained = [m["role"] == "assistant" for m in messages]
                if view == "sft_sharegpt" and sum("reasoning_content" in m for m in messages) == 1:
                    is_trained = [*[False] * (len(messages) - 1), True]  # mask_history
                yield from _learnt(view, messages, is_trained)
            elif view == "steps":
                context = _load(row["prompt"])
                yield Trained(view, context, {"role": "assistant", "content": row["target_action"]}, context)
            else:
                context = _load(row["prompt"])
                for name in ("completion", "chosen", "rejected"):
                    for target in _load(row.get(name, ())):
                        yield Trained(view, context, target, [*context, target])


def _learnt(view: str, messages: Messages, is_learnt: list[bool]) -> Iterator[Trained]:
    for index, target in enumerate(messages):
        if is_learnt[index]:
            yield Trained(view, messages[:index], target, messages)


def _load(texts: list[str]) -> Messages:
    return [orjson.loads(text) for text in texts]


def _sharegpt(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for turn in row["conversations"]:
        value = turn["value"]
        if turn["from"] == "human":
            yield {"role": "user", "content": value}
        elif turn["from"] == "observation":
            yield from ({"role": "tool", "content": text} for text in value.split(JOINED))
        else:
            thought, output = re.fullmatch(r"(?:<think>\n(.*?)\n</think>\n\n)?(.*)", value, re.DOTALL).groups()
            words, _, tail = output.partition("<tool_call>")
            calls = orjson.loads(tail.removesuffix("</tool_call>") or words)
            calls = calls if isinstance(calls, list) else [calls]
            tool_calls = {"tool_calls": [{"type": "function", "function": call} for call in calls]}
            yield {"role": "assistant", "content": words if tail else "", **tool_calls, **_thought(thought)}


def _adp(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    items = _load(row["content"])
    for is_action, group in groupby(items, key=lambda item: item["class_"] != "text_observation"):
        group_items = list(group)
        if not is_action:
            yield from (
                {"role": "user" if item["source"] == "user" else "tool", "content": item["content"]}
                for item in group_items
            )
            continue
        calls = [
            {"type": "function", "function": {"name": item["function"], "arguments": item["kwargs"]}}
            if item["class_"] == "api_action"
            else {"type": "function", "function": {"name": "answer", "arguments": {"answer": item["content"]}}}
            for item in group_items
        ]
        first = group_items[0]
        words = first.get("description", "")
        yield {
            "role": "assistant", "content": words, "tool_calls": calls, **_thought(first.get("reasoning_content")),
        }  # fmt: skip


def _thought(text: str | None) -> dict[str, str]:
    return {"reasoning_content": text} if text else {}


def _key(turn: Trained) -> tuple[int, int]:
    """Identify a turn by its own reasoning, or by the calls before it and their number."""
    if mark := MARK.search(turn.target.get("reasoning_content", "")):
        return int(mark[1]), int(mark[2])
    earlier = [
        int(match[1]) for match in MARK.finditer(_json([m.get("tool_calls") for m in turn.context])) if int(match[2])
    ]
    mark = MARK.search(_json(turn.target))
    turns = sum(message["role"] == "assistant" for message in turn.context)
    return (earlier or [int(mark[1]) if mark else 0])[-1], turns


@pytest.mark.slow
@pytest.mark.parametrize("reasoning", ["strip", "keep"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_turn_is_trained_in_the_context_in_which_it_was_sampled(family: Family, reasoning: str) -> None:
    keys_by_view: dict[str, set[Any]] = {}
    for sampled in sample_records(
        reasoning, parallel=family.parallel, words=family.words, records_=RECORDS, per_pair=9
    ):
        render = Rendering(family, sampled)
        for turn in list_trained_turns(sampled):
            key = _key(turn)
            expected = [orjson.loads(sampled.environment.opening), *sampled.shown[key][1:]]
            assert render(turn.context) == render(expected), (turn.view, key)
            if turn.view == "sft" and family.whole:
                assert render(turn.row, state=False).startswith(render(expected)), (turn.view, key)
            keys_by_view.setdefault(turn.view, set()).add((sampled.record.key, key))
    assert len(keys_by_view) == 9
    assert len(keys_by_view["sft"]) >= RECORDS * 10
    assert len(keys_by_view["kto"]) >= RECORDS * 5


@pytest.mark.parametrize("thinking", ["all", "last", "none"])
def test_reasoning_that_was_not_sent_back_is_in_no_context(thinking: str) -> None:
    learnt_thoughts = 0
    for sampled in sample_records("strip", parallel=True, words=True, records_=RECORDS, thinking=thinking):
        for turn in list_trained_turns(sampled):
            assert not any("reasoning_content" in message for message in turn.context), turn.view
            assert "Thought" not in _json(turn.context), turn.view
            learnt_thoughts += "reasoning_content" in turn.target
    assert bool(learnt_thoughts) is (thinking != "none")


def test_reasoning_that_was_sent_back_is_in_one_row_per_trajectory() -> None:
    for sampled in sample_records("keep", parallel=True, words=True, records_=4):
        solved, teacher_row = base.load("sft").rows(sampled.record, sampled.environment)
        for row in (solved, teacher_row):
            turns = [m for m in _load(row["messages"]) if m["role"] == "assistant"]
            assert all("Thought" in message["reasoning_content"] for message in turns)
            assert sum(row["loss"]) == len(turns) > 2
