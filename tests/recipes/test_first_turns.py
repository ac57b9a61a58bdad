"""The first turn of every RL view over our own tools is that of its SFT view, as the trainers render both.

What TRL and verl do with tools is transcribed here. `tests/consumers` renders the rows with their own code.
"""

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import pytest

from pipeline import registry
from pipeline.agents.environment_file import Environment, environment
from pipeline.config import build
from pipeline.exports.views import base
from pipeline.reward import reward
from pipeline.store.files import write_json
from tests.fork_records import branched

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "default": [],
    "long documents": ["environment.pages=true", "environment.find=true"],
    "in words": ["models.solver.tools=text"],
    "bare JSON": ["models.solver.tools=schema"],
}
FIXED_FORMATS = {"rl_search_r1"}
"""Views whose trainer has a prompt and tags of its own."""
Turn = tuple[list[dict[str, Any]], list[dict[str, Any]] | None]
"""The messages and tools that a trainer passes to the chat template."""


def render(turn: Turn) -> str:
    jinja = jinja2.Environment()
    jinja.filters["tojson"] = lambda tree: json.dumps(tree, ensure_ascii=False)
    template = jinja.from_string((ROOT / "tests/recipes/chatml.jinja").read_text())
    return template.render(messages=turn[0], tools=turn[1], add_generation_prompt=True)


def load_turn_of_trl(row: dict[str, Any], dataset: Path) -> Turn:
    tools = importlib.import_module("environment").of(dataset)()
    members = [name for name, _ in inspect.getmembers(type(tools), inspect.isfunction)]
    methods = [getattr(tools, name) for name in members if name not in {"reset", "get_reward"} and name[0] != "_"]
    return row["prompt"], list(map(read_schema, methods))


def read_schema(method: Callable[..., str]) -> dict[str, Any]:
    """Follow `get_json_schema` of transformers."""
    description, _, arguments = (inspect.getdoc(method) or "").partition("\n\nArgs:\n")
    descriptions = dict(re.findall(r"^\s*(\w+): (.*)$", arguments, re.MULTILINE))
    parameters = inspect.signature(method).parameters.values()
    kinds = {str: "string", int: "integer"}
    properties = {p.name: {"type": kinds[p.annotation], "description": descriptions[p.name]} for p in parameters}
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    return {
        "type": "function",
        "function": {"name": method.__name__, "description": description, "parameters": schema},
    }


def load_turn_of_verl(row: dict[str, Any], dataset: Path) -> Turn:
    """Follow `verl/tools/schemas.py`, whose classes drop every other key of a schema and write these in their order."""
    command = [sys.executable, str(ROOT / "recipes/verl/write_tools.py"), str(dataset)]
    written = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    functions = [tool["tool_schema"]["function"] for tool in written["tools"]]
    tools = []
    for function in functions:
        parameters = keep_keys(function["parameters"], "type", "properties", "required")
        properties = parameters["properties"].items()
        parameters["properties"] = {name: keep_keys(part, "type", "description", "enum") for name, part in properties}
        named = keep_keys(function, "name", "description")
        tools.append({"type": "function", "function": {**named, "parameters": parameters}})
    return row["prompt"], tools


def keep_keys(tree: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: tree[key] for key in keys if key in tree}


def load_turn_of_verifiers(row: dict[str, Any], dataset: Path) -> Turn:
    info = json.loads(row["info"])
    messages = [{"role": "system", "content": info["system"]}, {"role": "user", "content": row["question"]}]
    return messages, info["tools"]


def load_turn_of_openrlhf(row: dict[str, Any], dataset: Path) -> Turn:
    return row["prompt"], None


TRAINERS: dict[str, tuple[Callable[[dict[str, Any], Path], Turn], str]] = {
    "rl_trl": (load_turn_of_trl, "sft"),
    "rl_verl_tool": (load_turn_of_verl, "sft"),
    "rl_verifiers": (load_turn_of_verifiers, "sft"),
    "rl_openrlhf": (load_turn_of_openrlhf, "sft_openrlhf"),
}
"""For each view: what its trainer passes to the chat template, and the view for SFT before it."""


CASES = [
    (name, setting)
    for name in TRAINERS
    for setting in SETTINGS
    if setting != "bare JSON" or name not in {"rl_trl", "rl_verl_tool"}  # whose parsers need tags
]


def load_turn_of_sft(row: dict[str, Any]) -> Turn:
    return list(map(json.loads, row["messages"][:2])), json.loads(row["tools"]) if "tools" in row else None


def build_environment(settings: list[str]) -> Environment:
    return environment(build(sets=["models.default.provider=openai", "models.default.model=m", *settings]))


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_reinforcement_learning_starts_where_sft_ended(
    name: str, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "recipes" / "trl")
    run = build_environment(SETTINGS[setting])
    write_json(tmp_path / "environment.json", run.model_dump(mode="json"))
    load_turn, sft = TRAINERS[name]
    (row,) = base.load(name).rows(branched(1), run)
    (sft_row,) = base.load(sft).rows(branched(1), run)
    messages, tools = load_turn(row, tmp_path)
    # With tools in words, the recipes keep the chat template from printing them.
    turn = render((messages, tools if run.calls == "native" else None))
    assert turn == render(load_turn_of_sft(sft_row))
    assert all(f'"name": "{tool.name}"' in turn or f'"name":"{tool.name}"' in turn for tool in run.tools)


def test_the_recipe_for_verl_refuses_calls_that_verl_does_not_read(tmp_path: Path) -> None:
    run = build_environment(SETTINGS["bare JSON"])
    write_json(tmp_path / "environment.json", run.model_dump(mode="json"))
    command = [sys.executable, str(ROOT / "recipes/verl/write_tools.py"), str(tmp_path)]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (process.returncode, process.stdout) == (1, "")
    assert "has calls that are bare JSON" in process.stderr


@pytest.mark.parametrize("name", ["sft", "sft_openrlhf"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_way_to_answer_of_sft_earns_the_reward(name: str, setting: str) -> None:
    (row,) = base.load(name).rows(branched(1), build_environment(SETTINGS[setting]))
    last = json.loads(row["messages"][-1])
    text = last["content"] + "".join(
        f"<tool_call>\n{json.dumps(call['function'])}\n</tool_call>" for call in last.get("tool_calls", ())
    )
    draft = branched(1).draft
    assert draft
    is_read = setting != "bare JSON" or name == "sft_openrlhf"
    assert reward.compute_score("digsite", text, {"target": [draft.answer]}) == float(is_read)


def test_every_view_for_reinforcement_learning_is_compared_or_has_its_difference_on_a_page() -> None:
    views = {name for name in base.names() if name.startswith("rl_")}
    assert views == TRAINERS.keys() | FIXED_FORMATS
    for name in FIXED_FORMATS:
        assert "It differs from `sft`:" in (registry.load("views", name).__doc__ or "")
        assert f"`{name}` differs from `sft`:" in (ROOT / "docs/howto/train-others.md").read_text()
