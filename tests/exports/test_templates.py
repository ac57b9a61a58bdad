"""What a view trains on is, in the model's own chat template, what the model was shown when it sampled the turn.

Rollouts come from the real loop and the real wire. What a server makes of a request and what a trainer makes of a row
are rendered by the same template and compared as text: no tokenizer is installed, and equal text gives equal tokens.
`strict` is left out of the tools, which some servers render and others do not.
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
from tests.exports.sampled import MARK, Sampled, each

HERE = Path(__file__).parent / "templates"
RECORDS = 5
"""Times six rollouts of the solver: 30 trajectories, beside those of the teacher and of branches."""
JOINED = "\n</tool_response>\n<tool_response>\n"
Messages = list[dict[str, Any]]


class Family(NamedTuple):
    name: str
    parallel: bool = True
    """Does its template take several calls in a turn?"""
    words: bool = True
    """Does it take thoughts and text beside a call?"""
    whole: bool = True
    """Is what it makes of a state the beginning of what it makes of the whole conversation? DeepSeek's closes the tool
    outputs only where nothing but text or the end of the conversation follows."""


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
    # As transformers renders them.
    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    jinja.filters["tojson"] = _json
    jinja.globals |= {"raise_exception": _refuse, "strftime_now": lambda _: "2026-11-23"}
    return jinja.from_string(file.read_text())


def _json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(why: str) -> None:
    raise jinja2.TemplateError(why)


class Rendering:
    """A family's template, as servers and trainers feed it: arguments as objects, or as text where it adds texts, and
    thoughts under its own name."""

    def __init__(self, family: Family, sampled: Sampled) -> None:
        self._template, self._family = _template(family.name), family
        self._tools = orjson.loads(sampled.environment.offered)

    def __call__(self, messages: Messages, *, state: bool = True) -> str:
        """Of a state, ready for the model's turn, or of a whole conversation."""
        return self._template.render(
            messages=[self._message(message) for message in messages],
            tools=self._tools, add_generation_prompt=state, bos_token="<s>", eos_token="</s>",
        )  # fmt: skip

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        made = {key: value for key, value in message.items() if key not in ("reasoning", "tool_calls")}
        made["content"] = made.get("content") or ""
        if self._family.name == "gptoss" and "reasoning_content" in made:
            made["thinking"] = made.pop("reasoning_content")
            # Both in one turn are refused.
            made["content"] = ""
        if calls := message.get("tool_calls"):
            made["tool_calls"] = [self._call(call) for call in calls]
        return made

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        given = call["function"]["arguments"]
        arguments = orjson.loads(given) if isinstance(given, str) else given
        if self._family.name == "deepseekv3":
            arguments = _json(arguments)
        return {**call, "function": {**call["function"], "arguments": arguments}}


class Trained(NamedTuple):
    """A turn that a row trains on, and what stands before it."""

    view: str
    context: Messages
    target: dict[str, Any]
    row: Messages
    """The whole conversation that it stands in."""


def trained(sampled: Sampled) -> Iterator[Trained]:
    """Every turn that any view trains on."""
    record, environment = sampled.record, sampled.environment
    for view in ("sft", "sft_masked", "sft_sharegpt", "dpo", "dpo_steps", "kto", "robust_pairs", "steps", "adp"):
        for row in base.load(view).rows(record, environment):
            if view == "sft":
                yield from _learnt(view, _loaded(row["messages"]), row["loss"])
            elif view in ("sft_sharegpt", "adp"):
                opening = orjson.loads(environment.opening)
                messages = [opening, *(_sharegpt(row) if view == "sft_sharegpt" else _adp(row))]
                places = [m["role"] == "assistant" for m in messages]
                if view == "sft_sharegpt" and sum("reasoning_content" in m for m in messages) == 1:
                    places = [*[False] * (len(messages) - 1), True]  # mask_history
                yield from _learnt(view, messages, places)
            elif view == "steps":
                context = _loaded(row["prompt"])
                yield Trained(view, context, {"role": "assistant", "content": row["target_action"]}, context)
            else:
                context = _loaded(row["prompt"])
                for name in ("completion", "chosen", "rejected"):
                    for target in _loaded(row.get(name, ())):
                        yield Trained(view, context, target, [*context, target])


def _learnt(view: str, messages: Messages, learnt: list[bool]) -> Iterator[Trained]:
    for place, target in enumerate(messages):
        if learnt[place]:
            yield Trained(view, messages[:place], target, messages)


def _loaded(texts: list[str]) -> Messages:
    return [orjson.loads(text) for text in texts]


def _sharegpt(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for turn in row["conversations"]:
        value = turn["value"]
        if turn["from"] == "human":
            yield {"role": "user", "content": value}
        elif turn["from"] == "observation":
            yield from ({"role": "tool", "content": text} for text in value.split(JOINED))
        else:
            thought, said = re.fullmatch(r"(?:<think>\n(.*?)\n</think>\n\n)?(.*)", value, re.DOTALL).groups()
            words, _, rest = said.partition("<tool_call>")
            calls = orjson.loads(rest.removesuffix("</tool_call>") or words)
            calls = calls if isinstance(calls, list) else [calls]
            made = {"tool_calls": [{"type": "function", "function": call} for call in calls]}
            yield {"role": "assistant", "content": words if rest else "", **made, **_thought(thought)}


def _adp(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    items = _loaded(row["content"])
    for acts, group in groupby(items, key=lambda item: item["class_"] != "text_observation"):
        found = list(group)
        if not acts:
            yield from (
                {"role": "user" if item["source"] == "user" else "tool", "content": item["content"]} for item in found
            )
            continue
        calls = [
            {"type": "function", "function": {"name": item["function"], "arguments": item["kwargs"]}}
            if item["class_"] == "api_action"
            else {"type": "function", "function": {"name": "answer", "arguments": {"answer": item["content"]}}}
            for item in found
        ]
        first = found[0]
        words = first.get("description", "")
        yield {
            "role": "assistant", "content": words, "tool_calls": calls, **_thought(first.get("reasoning_content")),
        }  # fmt: skip


def _thought(text: str | None) -> dict[str, str]:
    return {"reasoning_content": text} if text else {}


def _key(turn: Trained) -> tuple[int, int]:
    """Whose turn it is, by its own thought, or by the calls before it and their number."""
    if own := MARK.search(turn.target.get("reasoning_content", "")):
        return int(own[1]), int(own[2])
    earlier = [
        int(found[1]) for found in MARK.finditer(_json([m.get("tool_calls") for m in turn.context])) if int(found[2])
    ]
    own = MARK.search(_json(turn.target))
    turns = sum(message["role"] == "assistant" for message in turn.context)
    return (earlier or [int(own[1]) if own else 0])[-1], turns


@pytest.mark.parametrize("reasoning", ["strip", "keep"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_turn_is_trained_in_the_context_in_which_it_was_sampled(family: Family, reasoning: str) -> None:
    seen: dict[str, set[Any]] = {}
    for sampled in each(reasoning, parallel=family.parallel, words=family.words, records_=RECORDS, per_pair=9):
        render = Rendering(family, sampled)
        for turn in trained(sampled):
            key = _key(turn)
            shown = [orjson.loads(sampled.environment.opening), *sampled.shown[key][1:]]
            assert render(turn.context) == render(shown), (turn.view, key)
            if turn.view == "sft" and family.whole:
                assert render(turn.row, state=False).startswith(render(shown)), (turn.view, key)
            seen.setdefault(turn.view, set()).add((sampled.record.key, key))
    assert len(seen) == 9
    assert len(seen["sft"]) >= RECORDS * 10
    assert len(seen["kto"]) >= RECORDS * 5


@pytest.mark.parametrize("thinking", ["all", "last", "none"])
def test_a_thought_that_was_not_sent_back_is_in_no_context(thinking: str) -> None:
    learnt = 0
    for sampled in each("strip", parallel=True, words=True, records_=RECORDS, thinking=thinking):
        for turn in trained(sampled):
            assert not any("reasoning_content" in message for message in turn.context), turn.view
            assert "Thought" not in _json(turn.context), turn.view
            learnt += "reasoning_content" in turn.target
    assert bool(learnt) is (thinking != "none")


def test_thoughts_that_were_sent_back_are_in_one_row_for_each_trajectory() -> None:
    for sampled in each("keep", parallel=True, words=True, records_=4):
        solved, taught = base.load("sft").rows(sampled.record, sampled.environment)
        for row in (solved, taught):
            said = [m for m in _loaded(row["messages"]) if m["role"] == "assistant"]
            assert all("Thought" in message["reasoning_content"] for message in said)
            assert sum(row["loss"]) == len(said) > 2
