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
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    marks, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        [], trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=marks, show_progress=False)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def shards(view, folder=FOLDER):
    return [str(path) for path in sorted((folder / view).glob("train-*.parquet"))]


def told(view, check):
    print("result", json.dumps({"view": view, "version": version("verl"), "check": check}))


def sft(view="sft"):
    words = tokenizer()
    kind = load_extern_object(str(FOLDER / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    for place in range(len(data)):
        row = data[place]
        learned, whole = words.decode(row["input_ids"][row["loss_mask"] == 1]), words.decode(row["input_ids"])
        observed = [message["content"] for message in data.messages[place] if message["role"] == "tool"]
        assert '"name": "answer"' in learned
        assert "passage_id" in whole
        assert "null" not in whole
        assert all(text in whole and text not in learned for text in observed)
    told(view, "MultiTurnSFTDataset through verl_sft.py: its sanity check holds, what is learnt holds no observation")


def thinking(view="sft"):
    """Of a trajectory whose thoughts were not sent back every turn is a row, and learnt in it alone."""
    words, folder = tokenizer(), FOLDER.parent / "thinking"
    kind = load_extern_object(str(folder / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view, folder), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    for place in range(len(data)):
        row, (*_, turn) = data[place], data.messages[place]
        learned = words.decode(row["input_ids"][row["loss_mask"] == 1])
        assert learned.count("<|im_end|>") == 1
        assert all(json.dumps(call["function"]["arguments"])[1:-1] in learned for call in turn["tool_calls"])
    told(view, "verl_sft.py: of rows for single turns that one is learnt")


def rl(view):
    words = tokenizer()
    data = RLHFDataset(shards(view), words, OmegaConf.create({"max_prompt_length": 4096, "cache_dir": "verl"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    spec = importlib.util.spec_from_file_location("reward", FOLDER / "code" / "reward.py")
    reward = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reward)
    for place in range(len(data)):
        row = data[place]
        truth, gold = row["reward_model"]["ground_truth"], row["reward_model"]["ground_truth"]["target"][0]
        source = row["data_source"] if view == "rl_verl_tool" else f"searchR1_{row['data_source']}"
        for said, worth in ((f"<answer>{gold}</answer>", 1), ("<answer>no such thing</answer>", 0), ("none", 0)):
            if row["answer_type"] != "list":
                assert default_compute_score(source, said, truth) == worth
            assert reward.compute_score(row["data_source"], said, truth) == worth
        assert row["raw_prompt"][-1]["role"] == "user"
        assert "the answer is: not found" in row["raw_prompt"][-1]["content"]
        assert row["band"] is None, "no policy was measured"
        assert row["order"] is None
        if view == "rl_verl_tool":
            assert row["agent_name"] == "tool_agent"
            assert row["tools_kwargs"]["search"]["create_kwargs"]["ground_truth"] == truth
    kinds = {data[place]["answer_type"] for place in range(len(data))}
    assert kinds == {"date", "boolean", "unanswerable"} | ({"list"} if view == "rl_verl_tool" else set())
    told(view, "RLHFDataset drops no row; its scorer and reward.py give 1 to the gold answer and 0 to others")


def configured(*without):
    """verl's own configuration under all settings of the recipe, but for those that begin so."""
    (folder := Path("recipe")).mkdir(exist_ok=True)
    (folder / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "python").chmod(0o755)
    home = Path(__file__).parents[2]
    own = {"PATH": f"{folder.resolve()}:{os.environ['PATH']}", "TOOLS": str(home / "recipes/verl/tools.yaml")}
    sys.path.append(str(home))
    done = subprocess.run(
        ["sh", home / "recipes/verl/train.sh", FOLDER, "tiny"],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=True,
    )
    settings = [line for line in done.stdout.splitlines() if "=" in line and not line.startswith(without)]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer/config"), version_base=None):
        return compose("ppo_trainer", settings)


def rewards(view="rl_verl_tool"):
    """What verl's reward worker gives for a list and a question without an answer, as the recipe sets it up."""
    words, config = tokenizer(), configured()
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
    assert [asked(worker, words, rows[kind], said) for kind, said, _ in cases] == [worth for *_, worth in cases]
    told(view, 'its reward worker under recipes/verl/train.sh: F1 for a list, 1 for "not found" without an answer')
    stock = RewardLoopWorker(configured("reward.custom_reward_function."))
    assert asked(stock, words, rows["unanswerable"], cases[3][1]) == 1.0
    try:
        asked(stock, words, rows["list"], cases[0][1])
    except NotImplementedError as refusal:
        assert "digsite_list" in str(refusal)
    else:
        raise AssertionError("verl's own scorer took a list")
    told(view, "its reward worker without code/reward.py refuses a list by name, and takes the other rows")


def asked(worker, words, row, said):
    """The reward of one response, as an agent loop of verl's hands it to the worker."""
    ids = words(f"{said}<|im_end|>", return_tensors="pt")["input_ids"]
    batch = DataProto.from_dict({"responses": ids, "attention_mask": torch.ones_like(ids)}, collate_fn([row]))
    return round(worker.reward_manager.loop.run_until_complete(worker.compute_score(batch))["reward_score"], 6)


sft()
thinking()
rl("rl_verl_tool")
rl("rl_search_r1")
rewards()
