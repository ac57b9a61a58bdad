"""OpenRLHF's data sets, loaded from their files (its package imports deepspeed and ray), and its agent loop."""

import asyncio
import importlib.util
import json
import os
import sys
from importlib.metadata import files, version
from pathlib import Path
from types import ModuleType, SimpleNamespace

import datasets
from jinja2 import Environment

FOLDER, HOME = Path(sys.argv[1]), Path(__file__).parents[2]
SPECIAL = {"list": {"Lund, Dal and Grim": 1.0, "Grim; Lund": 0.8}, "unanswerable": {"Not found.": 1.0, "1399": 0.0}}
RECORDS = {file.name: file.locate() for file in files("openrlhf") if file.suffix == ".py"}


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded_module = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded_module
    spec.loader.exec_module(loaded_module)
    return loaded_module


class Words:
    """A tokenizer of bytes that lays a conversation out. OpenRLHF passes it no tools."""

    eos_token = "<|im_end|>"
    eos_token_id = ord(">")

    def apply_chat_template(self, messages, tokenize, add_generation_prompt=False):
        template = Environment().from_string((HOME / "tests/recipes/chatml.jinja").read_text())
        return template.render(messages=messages, add_generation_prompt=add_generation_prompt)

    def __call__(self, text, return_tensors, **options):
        import torch

        ids = torch.tensor([list(text.encode())])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def decode(self, ids, **options):
        return bytes(ids).decode()


def report_check(view, check):
    print("result", json.dumps({"view": view, "version": version("openrlhf"), "check": check}))


def respond(answer):
    call = json.dumps({"name": "answer", "arguments": {"answer": answer}})
    return f"<tool_call>{call}</tool_call>"


def check_prompts(view="rl_openrlhf"):
    prompts, reward = (
        module("prompts_dataset", RECORDS["prompts_dataset.py"]),
        module("reward", FOLDER / "code/reward.py"),
    )
    arguments = SimpleNamespace(data=SimpleNamespace(input_key="prompt", label_key="label", apply_chat_template=True))
    rows = datasets.load_dataset(str(FOLDER), view, split="train").sort("order")
    prompt_rows = prompts.PromptDataset(rows, Words(), SimpleNamespace(args=arguments, is_rank_0=lambda: False))
    assert len(prompt_rows) == len(rows)
    for index in range(len(prompt_rows)):
        source, prompt, label, images = prompt_rows[index]
        gold = json.loads(label)[0]
        assert source == rows[index]["corpus"]
        assert images is None
        assert prompt.endswith("<|im_start|>assistant\n")
        for response, expected in ((respond(gold), 1.0), (respond("no such thing"), 0.0), ("", 0.0)):
            assert reward.reward_func([prompt + response], [prompt], [label])["rewards"] == expected
        for answer, expected in SPECIAL.get(rows[index]["answer_type"], {}).items():
            rewards = reward.reward_func([prompt + respond(answer)], [prompt], [label])["rewards"]
            assert round(rewards, 6) == expected
    assert set(SPECIAL) < set(rows["answer_type"])
    check = (
        "PromptDataset; reward_func gives 1 to the gold answer, 0 to another and to silence; F1 for a list, and 1 for "
        '"not found" without an answer'
    )
    report_check(view, check)
    return {row["prompt"][1]["content"]: prompt_rows[index] for index, row in enumerate(rows)}


def check_sft(prompts, view="sft_openrlhf"):
    """Load the view for SFT, and replay a row of it through the agent of the recipe."""
    utilities = ModuleType("openrlhf.utils.utils")
    utilities.zero_pad_sequences = None
    sys.modules["openrlhf.utils.utils"] = utilities
    data = SimpleNamespace(input_key="messages", output_key=None, apply_chat_template=True)
    rows = datasets.load_dataset(str(FOLDER), view, split="train")
    trained = module("sft_dataset", RECORDS["sft_dataset.py"]).SFTDataset(
        rows, Words(), 1 << 20, SimpleNamespace(args=SimpleNamespace(data=data)), num_processors=None, multiturn=True
    )
    compared = 0
    for index in range(len(trained)):
        messages = rows[index]["messages"]
        ids, _, mask = trained[index]
        text = bytes(ids[0].tolist()).decode(errors="replace")
        learnt = bytes(
            token for token, is_learnt in zip(ids[0, 1:].tolist(), mask[0, :-1].tolist(), strict=True) if is_learnt
        ).decode()
        assert all(m["content"] in learnt for m in messages if m["role"] == "assistant")
        assert "<tool_response>" in text and "<tool_response>" not in learnt
        if row := prompts.get(messages[1]["content"]):
            assert text.startswith(row[1])
            replay(messages, row, text)
            compared += 1
    assert compared > 5
    report_check(view, "SFTDataset learns what the assistant says; its first turn is the prompt of `rl_openrlhf`")
    check = "its agent loop with recipes/openrlhf/agent.py replays rows of `sft_openrlhf`: the same tokens, reward 1"
    report_check("rl_openrlhf", check)


def replay(messages, row, text):
    """Let the agent loop of OpenRLHF make the trajectory of a row again, with the row's own observations."""
    _, prompt, label, _ = row
    turns = [message["content"] for message in messages if message["role"] == "assistant"]
    observed = [part for m in messages[2:] if m["role"] == "user" for part in m["content"].split("\n\n<tool_response>")]
    results = [part.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>") for part in observed]
    agent = AGENT.AgentExecutor()
    AGENT.Trajectory.call = lambda self, name, *_: "" if name == "answer" else results.pop(0)

    async def generate(ids, *_, **__):
        reply = turns.pop(0)
        token_ids = list(f"{reply}<|im_end|>".encode())
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=token_ids, text=reply, finish_reason="stop")])

    sampling = SimpleNamespace(max_tokens=1, logprobs=None)
    output = asyncio.run(agent.execute(prompt, label, sampling, 1 << 20, Words(), SimpleNamespace(generate=generate)))
    assert output["reward"] == 1.0
    assert not turns
    assert bytes(output["observation_tokens"]).decode() == text


os.environ["DIGSITE_DATASET"] = str(FOLDER)
logging_utils = ModuleType("openrlhf.utils.logging_utils")
logging_utils.init_logger = lambda name: None
for name in ("openrlhf", "openrlhf.utils"):
    sys.modules[name] = ModuleType(name)
sys.modules["openrlhf.utils.logging_utils"] = logging_utils
module("openrlhf.utils.agent", RECORDS["agent.py"])
AGENT = module("agent", HOME / "recipes/openrlhf/agent.py")
check_sft(check_prompts())
