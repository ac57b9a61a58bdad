"""verl's data set classes and reward functions."""

import importlib.util
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq
import torch
import verl
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop import RewardLoopWorker
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.utils.import_utils import load_extern_object
from verl.utils.reward_score import default_compute_score

FOLDER = Path(sys.argv[1])
# ChatML with tools, as Qwen2.5's: each turn by itself is its part of the whole, which verl checks.
TEMPLATE = (
    "{%- for m in messages %}"
    "{%- if loop.first %}<|im_start|>system\n{{ m.content if m.role == 'system' else '' }}"
    "{% for t in tools or [] %}\n{{ t | tojson }}{% endfor %}<|im_end|>\n{% endif %}"
    "{%- if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>"
    "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer():
    model_of_bytes = Tokenizer(models.BPE())
    model_of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model_of_bytes.decoder = decoders.ByteLevel()
    marks, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    model_of_bytes.train_from_iterator(
        [], trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=marks, show_progress=False)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=model_of_bytes, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def shards(view, folder=FOLDER):
    return [str(path) for path in sorted((folder / view).glob("train-*.parquet"))]


def report_check(view, check):
    print("result", json.dumps({"view": view, "version": version("verl"), "check": check}))


def sft(view="sft"):
    words = tokenizer()
    kind = load_extern_object(str(FOLDER / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    for index in range(len(data)):
        row = data[index]
        learned, full_text = words.decode(row["input_ids"][row["loss_mask"] == 1]), words.decode(row["input_ids"])
        observed = [message["content"] for message in data.messages[index] if message["role"] == "tool"]
        assert '"name": "answer"' in learned
        assert "passage_id" in full_text
        assert "null" not in full_text
        assert all(text in full_text and text not in learned for text in observed)
    report_check(
        view, "MultiTurnSFTDataset through verl_sft.py: its sanity check holds, what is learnt holds no observation"
    )


def thinking(view="sft"):
    """Check that each turn of a trajectory without resent thoughts is a row, and trained on only there."""
    words, folder = tokenizer(), FOLDER.parent / "thinking"
    kind = load_extern_object(str(folder / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view, folder), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    for place in range(len(data)):
        row, (*_, turn) = data[place], data.messages[place]
        learned = words.decode(row["input_ids"][row["loss_mask"] == 1])
        assert learned.count("<|im_end|>") == 1
        assert all(json.dumps(call["function"]["arguments"])[1:-1] in learned for call in turn["tool_calls"])
    report_check(view, "verl_sft.py: of rows for single turns that one is learnt")


def rl(view):
    words = tokenizer()
    data = RLHFDataset(shards(view), words, OmegaConf.create({"max_prompt_length": 4096, "cache_dir": "verl"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    spec = importlib.util.spec_from_file_location("reward", FOLDER / "code" / "reward.py")
    reward = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reward)
    for index in range(len(data)):
        row = data[index]
        truth, gold = row["reward_model"]["ground_truth"], row["reward_model"]["ground_truth"]["target"][0]
        source = row["data_source"] if view == "rl_verl_tool" else f"searchR1_{row['data_source']}"
        for response, expected in ((f"<answer>{gold}</answer>", 1), ("<answer>no such thing</answer>", 0), ("none", 0)):
            if row["answer_type"] != "list":
                assert default_compute_score(source, response, truth) == expected
            assert reward.compute_score(row["data_source"], response, truth) == expected
        assert row["raw_prompt"][-1]["role"] == "user"
        assert "the answer is: not found" in row["raw_prompt"][-1]["content"]
        assert row["band"] is None, "no policy was measured"
        assert row["order"] is None
        if view == "rl_verl_tool":
            assert row["agent_name"] == "tool_agent"
            assert row["tools_kwargs"]["search"]["create_kwargs"]["ground_truth"] == truth
    kinds = {data[index]["answer_type"] for index in range(len(data))}
    assert kinds == {"date", "boolean", "unanswerable"} | ({"list"} if view == "rl_verl_tool" else set())
    report_check(view, "RLHFDataset drops no row; its scorer and reward.py give 1 to the gold answer and 0 to others")


def load_config(*without):
    """verl's own configuration under all settings of the recipe, but for those that begin so."""
    (folder := Path("recipe")).mkdir(exist_ok=True)
    (folder / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "python").chmod(0o755)
    home = Path(__file__).parents[2]
    paths = {"PATH": f"{folder.resolve()}:{os.environ['PATH']}", "TOOLS": str(home / "recipes/verl/tools.yaml")}
    sys.path.append(str(home))
    process = subprocess.run(
        ["sh", home / "recipes/verl/train.sh", FOLDER, "tiny"],
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        check=True,
    )
    settings = [line for line in process.stdout.splitlines() if "=" in line and not line.startswith(without)]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer/config"), version_base=None):
        return compose("ppo_trainer", settings)


def rewards(view="rl_verl_tool"):
    """Check the rewards of verl's worker, as the recipe configures it, for a list and an unanswerable question."""
    words, config = tokenizer(), load_config()
    words.save_pretrained("tiny")
    data = RLHFDataset(list(config.data.train_files), words, config.data)
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    rows = {data[place]["answer_type"]: data[place] for place in range(len(data))}
    cases = [
        ("list", "<answer>Lund; Dal; Grim</answer>", 1.0),
        ("list", "<answer>Grim and Lund</answer>", 0.8),
        ("list", "<answer>not found</answer>", 0.0),
        ("unanswerable", "<answer>not found</answer>", 1.0),
        ("unanswerable", "<answer>It cannot be found in the corpus.</answer>", 1.0),
        ("unanswerable", "<answer>1399</answer>", 0.0),
        ("boolean", f"<answer>{rows['boolean']['reward_model']['ground_truth']['target'][0].title()}.</answer>", 1.0),
        ("boolean", "<answer>not found</answer>", 0.0),
        ("date", "<answer>not found</answer>", 0.0),
    ]
    worker = RewardLoopWorker(config)
    assert [compute_reward(worker, words, rows[kind], response) for kind, response, _ in cases] == [
        expected for *_, expected in cases
    ]
    report_check(
        view, 'its reward worker under recipes/verl/train.sh: F1 for a list, 1 for "not found" without an answer'
    )
    stock = RewardLoopWorker(load_config("reward.custom_reward_function."))
    assert compute_reward(stock, words, rows["unanswerable"], cases[3][1]) == 1.0
    try:
        compute_reward(stock, words, rows["list"], cases[0][1])
    except NotImplementedError as refusal:
        assert "digsite_list" in str(refusal)
    else:
        raise AssertionError("verl's own scorer took a list")
    report_check(view, "its reward worker without code/reward.py refuses a list by name, and takes the other rows")


def compute_reward(worker, words, row, response):
    """Return the reward of one response, passed to the worker as verl's agent loop does."""
    ids = words(f"{response}<|im_end|>", return_tensors="pt")["input_ids"]
    batch = DataProto.from_dict({"responses": ids, "attention_mask": torch.ones_like(ids)}, collate_fn([row]))
    return round(worker.reward_manager.loop.run_until_complete(worker.compute_score(batch))["reward_score"], 6)


sft()
thinking()
rl("rl_verl_tool")
rl("rl_search_r1")
rewards()
