"""OpenRLHF's prompt data set, loaded from its file: the package's own imports ask for deepspeed and ray."""

import importlib.util
import json
import sys
from importlib.metadata import files, version
from pathlib import Path
from types import SimpleNamespace

import datasets
from jinja2 import Template

VIEW = "rl_openrlhf"
FOLDER = Path(sys.argv[1])
SPECIAL = {"list": {"Lund, Dal and Grim": 1.0, "Grim; Lund": 0.8}, "unanswerable": {"Not found.": 1.0, "1399": 0.0}}


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded_module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded_module)
    return loaded_module


class Words:
    """A tokenizer that only lays a conversation out."""

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
        return Template(text).render(messages=messages)


(path,) = (file.locate() for file in files("openrlhf") if file.name == "prompts_dataset.py")
prompts, reward = module("prompts_dataset", path), module("reward", FOLDER / "code" / "reward.py")
arguments = SimpleNamespace(data=SimpleNamespace(input_key="prompt", label_key="label", apply_chat_template=True))
rows = datasets.load_dataset(str(FOLDER), VIEW, split="train")
rows = rows.sort("order")
prompt_rows = prompts.PromptDataset(rows, Words(), SimpleNamespace(args=arguments, is_rank_0=lambda: False))
assert len(prompt_rows) == len(rows)
for index in range(len(prompt_rows)):
    source, prompt, label, images = prompt_rows[index]
    gold = json.loads(label)[0]
    assert source == rows[index]["corpus"]
    assert images is None
    assert prompt.endswith("<|assistant|>")
    for response, expected in ((f"<answer>{gold}</answer>", 1.0), ("<answer>no such thing</answer>", 0.0), ("", 0.0)):
        assert reward.reward_func([prompt + response], [prompt], [label])["rewards"] == expected
    for response, expected in SPECIAL.get(rows[index]["answer_type"], {}).items():
        reward_value = reward.reward_func([f"{prompt}<answer>{response}</answer>"], [prompt], [label])["rewards"]
        assert round(reward_value, 6) == expected
assert set(SPECIAL) < set(rows["answer_type"])
check = (
    "PromptDataset; reward_func gives 1 to the gold answer, 0 to another and to silence; F1 for a list, and 1 for "
    '"not found" without an answer'
)
print("result", json.dumps({"view": VIEW, "version": version("openrlhf"), "check": check}))
