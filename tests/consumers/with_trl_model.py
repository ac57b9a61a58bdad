"""Shared by the scripts for TRL: a tiny random model, and settings for one step on the CPU."""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

FOLDER = Path(sys.argv[1])
TEMPLATES = Path(trl.__file__).parent / "chat_templates"
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer(template="qwen3"):
    """Make a byte-level tokenizer without merges and downloads, with one of TRL's templates."""
    model_of_bytes = Tokenizer(models.BPE())
    model_of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model_of_bytes.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    model_of_bytes.train_from_iterator(
        [], trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=MARKS, show_progress=False)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=model_of_bytes, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = (TEMPLATES / f"{template}.jinja").read_text()
    return fast


def model(words):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=32768, pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def report_check(view, check):
    print("result", json.dumps({"view": view, "version": version("trl"), "check": check}))


def settings(kind, **changes):
    common = {
        "output_dir": "trained",
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "report_to": [],
        "use_cpu": True,
    }
    return kind(**{**common, **changes}, save_strategy="no")


def train_one_step(trainer):
    loss = trainer.train().training_loss
    assert math.isfinite(loss)
