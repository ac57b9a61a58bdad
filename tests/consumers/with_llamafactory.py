"""LLaMA-Factory's loader, converter, template and processor, from `dataset_info.json` on."""

import json
import sys
import types
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq

# Imported for sound alone; its wheel loads only beside a CUDA build of torch.
sys.modules["torchaudio"] = types.ModuleType("torchaudio")
sys.modules["torchaudio"].__spec__ = ModuleSpec("torchaudio", None)

from llamafactory.data.loader import _load_single_dataset
from llamafactory.data.parser import get_dataset_list
from llamafactory.data.template import TEMPLATES
from llamafactory.hparams import DataArguments, ModelArguments
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Seq2SeqTrainingArguments

VIEW = "sft_sharegpt"
FOLDER = Path(sys.argv[1]) / VIEW
CODE = FOLDER.parent / "code"


def tokenizer():
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    marks, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    model.train_from_iterator(
        [], trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=marks, show_progress=False)
    )
    return PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def load_rows(name):
    data = DataArguments(dataset=name, dataset_dir=str(CODE), template="qwen3", overwrite_cache=True)
    arguments = Seq2SeqTrainingArguments(output_dir="trained", report_to=[], use_cpu=True)
    (attributes,) = get_dataset_list([name], str(CODE))
    return _load_single_dataset(attributes, ModelArguments(model_name_or_path="none"), data, arguments)


for name, split in (("digsite", "train"), ("digsite_eval", "eval")):
    rows = load_rows(name)
    shards = sorted(FOLDER.glob(f"{split}-*.parquet"))
    conversations = [
        conversation for shard in shards for conversation in pq.read_table(shard)["conversations"].to_pylist()
    ]
    encoder = tokenizer()
    for row, conversation in zip(rows, conversations, strict=True):
        # A solver of these records says so beside each search, a teacher nothing.
        word_count = sum(turn["value"].count("I look for: ") for turn in conversation)
        assert word_count in (0, 3)
        assert row["_prompt"] and row["_response"], "the converter skipped a row"
        for template in ("qwen", "qwen3", "hermes" if "hermes" in TEMPLATES else "llama3"):
            turns = TEMPLATES[template].encode_multiturn(
                encoder, row["_prompt"] + row["_response"], row["_system"], row["_tools"]
            )
            target_text = "".join(encoder.decode(target) for _, target in turns)
            source_text = "".join(encoder.decode(source) for source, _ in turns)
            assert target_text.count("I look for: ") == word_count, "words beside a call were lost"
            assert '"answer"' in target_text
            assert "passage_id" in source_text
            assert all(m["content"] not in target_text for m in row["_prompt"] if m["role"] == "observation")
print("result", json.dumps({
    "view": VIEW, "version": version("llamafactory"),
    "check": "loader, converter and three templates: no row skipped, no word lost, no observation learnt",
}))  # fmt: skip
