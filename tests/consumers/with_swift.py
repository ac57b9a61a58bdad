"""ms-swift reads the rows for SFT as they are, and those for DPO after the lines of docs/howto/train-others.md."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import datasets
from swift.agent_template import agent_template_map
from swift.dataset import load_dataset
from swift.template.template_inputs import TemplateInputs

FOLDER = Path(sys.argv[1])
PAGE = Path(__file__).parents[2] / "docs/howto/train-others.md"


def compare(turns, messages):
    """Compare messages with what an agent template of ms-swift writes of them: every text and every call."""
    hermes, texts, calls = agent_template_map["hermes"](), [], []
    for turn in turns:
        if turn["role"] == "tool_call":
            calls.append(json.loads(hermes._format_tool_calls([turn]).split("\n")[1]))
        else:
            texts.append(turn["content"])
    functions = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    assert calls == [{name: function[name] for name in ("name", "arguments")} for function in functions]
    assert texts == [message["content"] for message in messages if message["content"]]


def sft(view="sft"):
    (shard,) = map(str, (FOLDER / view).glob("train-*.parquet"))
    rows = datasets.load_dataset(str(FOLDER), view, split="train")
    loaded, _ = load_dataset([shard])
    assert len(loaded) == len(rows) > 0
    for row, messages in zip(loaded, rows["messages"], strict=True):
        inputs = TemplateInputs.from_dict({"messages": row["messages"], "tools": row["tools"]}).chosen
        compare(inputs.messages, messages[1:])
        assert inputs.system == messages[0]["content"]
    report(view, f"load_dataset on the shard as it is: all {len(rows)} rows, every text and call")


def dpo(view="dpo"):
    (code,) = re.findall(r"```python\n(import json\n.*?)```", PAGE.read_text(), re.DOTALL)
    exec(code.replace("outputs/wiki/latest/dataset", str(FOLDER)), {})
    rows = datasets.load_dataset(str(FOLDER), view, split="train")
    loaded, _ = load_dataset(["dpo.jsonl"])
    assert len(loaded) == len(rows) > 0
    for row, pair in zip(loaded, rows, strict=True):
        inputs = TemplateInputs.from_dict(dict(row))
        for side in ("chosen", "rejected"):
            compare(getattr(inputs, side).messages, [*pair["prompt"], *pair[side]][1:])
    report(view, "load_dataset after the lines of docs/howto/train-others.md: every text and call of both sides")


def report(view, check):
    print("result", json.dumps({"view": view, "version": version("ms-swift"), "check": check}))


sft()
dpo()
