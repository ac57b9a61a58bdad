"""SFT with TRL 1.16 on the view `sft`: `python recipes/agent/train.py DATASET MODEL OUT [--lora]`.

What is learnt is what the assistant says: its calls and its answer, no prompt and no observation. OUT holds weights and
tokenizer with the chat template that was trained on, as any server loads them.
"""

import argparse
from pathlib import Path
from typing import Any

TEMPLATE, END = Path(__file__).with_name("template.jinja"), "<|im_end|>"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="the folder of a data set, with sft/ in it")
    parser.add_argument("model", help="a name on the Hub, a folder of weights, or a GGUF file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--lora", action="store_true", help="train adapters of rank 16, and merge them at the end")
    parser.add_argument("--demo-too", action="store_true", help="also rows with `trainable` false")
    parser.add_argument("--max-length", type=int, default=8192, help="tokens; longer trajectories are left out")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--rate", type=float, help="learning rate; 1e-4, with --lora 5e-4")
    parser.add_argument("--batch", type=int, default=8, help="trajectories in a step")
    parser.add_argument("--at-once", type=int, default=4, help="of these, as many as fit into memory")
    parser.add_argument("--steps", type=int, default=-1, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(given)


def source(model: str) -> dict[str, Any]:
    """Return the arguments of `from_pretrained`, which takes folder and name of a GGUF file."""
    if model.endswith(".gguf"):
        return {"pretrained_model_name_or_path": str(Path(model).parent), "gguf_file": Path(model).name}
    return {"pretrained_model_name_or_path": model}


def tokenizer(model: str) -> Any:
    """Load the model's tokenizer, with the chat template beside this file if its own prints no tools."""
    from transformers import AutoTokenizer

    words = AutoTokenizer.from_pretrained(**source(model))
    if "tools" not in (words.chat_template or ""):
        words.chat_template = TEMPLATE.read_text(encoding="utf-8")
        # A tokenizer that was read out of a GGUF file may name another end.
        words.eos_token = words.pad_token = END
    return words


def usable(row: dict[str, Any], *, demo: bool) -> bool:
    """Return whether to train on a row. One whose earlier turns must not be learnt again is for `sft_masked`."""
    said = [message["role"] == "assistant" for message in row["messages"]]
    return row["loss"] == said and (row["trainable"] or demo)


def weights(model: str) -> Any:
    """Load the model in full precision, since the small steps of training vanish in bfloat16.

    Only the numbers of a GGUF file are kept: a model that is marked as quantised cannot be trained.
    """
    import torch
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(**source(model), dtype=torch.float32)
    if not model.endswith(".gguf"):
        return loaded
    vars(loaded.config).pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(loaded.config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    return plain


def bfloat16() -> bool:
    """Return whether this machine multiplies faster in bfloat16, as GPUs and CPUs with AMX do (six times)."""
    import torch

    # An older torch does not say what its CPU can do.
    return torch.cuda.is_available() or bool(getattr(torch.cpu, "get_capabilities", dict)().get("amx_bf16"))


def settings(asked: argparse.Namespace) -> Any:
    """TRL's, of which `assistant_only_loss` is the one that must not be left out."""
    import torch
    from trl import SFTConfig

    return SFTConfig(
        output_dir=str(asked.out / "steps"),
        assistant_only_loss=True,
        max_length=None,
        num_train_epochs=asked.epochs,
        max_steps=asked.steps,
        learning_rate=asked.rate or (5e-4 if asked.lora else 1e-4),
        lr_scheduler_type="cosine",
        warmup_steps=0.1,
        per_device_train_batch_size=min(asked.at_once, asked.batch),
        gradient_accumulation_steps=max(1, asked.batch // asked.at_once),
        bf16=bfloat16(),
        use_cpu=not torch.cuda.is_available(),
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        seed=asked.seed,
    )


def to_learn(dataset: Path, *, demo: bool) -> Any:
    """Load the usable rows of the split `train`. Those of `eval` are for testing."""
    from datasets import load_dataset

    rows = load_dataset("parquet", data_files=str(dataset / "sft" / "train*.parquet"), split="train")
    return rows.filter(lambda row: usable(row, demo=demo))


def main() -> None:
    from peft import LoraConfig
    from trl import SFTTrainer

    asked = arguments()
    words = tokenizer(asked.model)
    rows = to_learn(asked.dataset, demo=asked.demo_too)

    def fits(row: dict[str, Any]) -> bool:
        text = words.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False)
        return len(words(text, add_special_tokens=False).input_ids) <= asked.max_length

    short = rows.filter(fits)
    if not len(short):
        raise SystemExit("no row to train on: those of the demo model need --demo-too, long ones --max-length")
    print(f"{len(short):,} of {len(rows):,} trajectories, of at most {asked.max_length:,} tokens")
    trainer = SFTTrainer(
        model=weights(asked.model),
        processing_class=words,
        train_dataset=short.select_columns(["messages", "tools"]),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear") if asked.lora else None,
        args=settings(asked),
    )
    trainer.train()
    trained = trainer.model.merge_and_unload() if asked.lora else trainer.model
    trained.save_pretrained(asked.out)
    words.save_pretrained(asked.out)


if __name__ == "__main__":
    main()
