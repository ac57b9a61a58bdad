"""One step of TRL's trainers for SFT, DPO and KTO, straight from `load_dataset`."""

import json
import re
from pathlib import Path

import datasets
import trl
from with_trl_model import FOLDER, TEMPLATES, model, report_check, settings, tokenizer, train_one_step


def check_sft(view="sft"):
    data, words = datasets.load_dataset(str(FOLDER), view, split="train"), tokenizer()
    observed = [m["content"] for row in data for m in row["messages"] if m["role"] == "tool"]
    trainer = trl.SFTTrainer(
        model=model(words), processing_class=words, train_dataset=data,
        args=settings(trl.SFTConfig, assistant_only_loss=True, max_length=None),
    )  # fmt: skip
    batch = next(iter(trainer.get_train_dataloader()))
    for labels, ids in zip(batch["labels"], batch["input_ids"], strict=True):
        learned = words.decode(labels[labels != -100])
        full_text = words.decode(ids)
        assert '"name": "answer"' in learned
        assert "null" not in full_text, "a padded key was printed"
        # Whole passages of observations are in the input and no part of what is learnt.
        assert any(text in full_text for text in observed)
        assert not any(text in learned for text in observed)
    train_one_step(trainer)
    report_check(view, "one SFT step with assistant-only loss; what is learnt holds no observation")


def check_templates():
    """Render the conversations with every TRL template that prints tools, each call with its arguments once."""
    row = datasets.load_dataset(str(FOLDER), "sft", split="train")[0]
    query = row["messages"][2]["tool_calls"][0]["function"]["arguments"]["query"]
    rendered = []
    for path in sorted(TEMPLATES.glob("*.jinja")):
        words = tokenizer(path.stem)
        words.bos_token = "<|endoftext|>"
        try:
            text = words.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False)
        except Exception as refusal:  # a template that knows no tools says so in words of its own
            assert not re.search("mapping|items|string", str(refusal)), (path.stem, refusal)
            continue
        if query in text and "passage_id" in text:
            rendered.append(path.stem)
            assert "None" not in text and "null" not in text, path.stem
    assert {"qwen2_5", "qwen3", "qwen3_5_think", "llama3_1", "glm4moe"} <= set(rendered), rendered
    report_check("sft", f"{len(rendered)} chat templates with tools print every argument and nothing padded")


def check_dpo(view="dpo"):
    data, words = datasets.load_dataset(str(FOLDER), view, split="train"), tokenizer()
    for row in data:
        assert len(row["chosen"]) == len(row["rejected"]) == 1
    train_one_step(
        trl.DPOTrainer(
            model=model(words),
            ref_model=model(words),
            processing_class=words,
            train_dataset=data,
            args=settings(trl.DPOConfig, max_length=None),
        )
    )
    report_check(view, "one DPO step; each completion is one turn")


def check_masked(view="sft_masked"):
    """Check that TRL's collator leaves exactly one turn of each row unmasked, and no observation."""
    data, words = datasets.load_dataset(str(FOLDER), view, split="train"), tokenizer()
    trainer = trl.SFTTrainer(
        model=model(words),
        processing_class=words,
        train_dataset=data,
        args=settings(trl.SFTConfig, max_length=None),
    )
    batch = trainer.data_collator(list(trainer.train_dataset))
    for row, labels, ids in zip(data, batch["labels"], batch["input_ids"], strict=True):
        learned, full_text = words.decode(labels[labels != -100]), words.decode(ids)
        observed = [m["content"] for m in row["prompt"] if m["role"] == "tool"]
        assert all(text in full_text for text in observed)
        assert not any(line in learned for text in observed for line in text.splitlines() if line)
        (call,) = row["completion"][0]["tool_calls"]
        call_made = json.loads(re.search(r"<tool_call>(.*?)</tool_call>", learned, re.DOTALL)[1])
        assert call_made == {name: call["function"][name] for name in ("name", "arguments")}
        assert learned.count("<tool_call>") == learned.count("<|im_end|>") == 1
    train_one_step(trainer)
    report_check(view, "one SFT step; of every row the one turn is learnt and no observation")


def check_kto(view="kto"):
    data, words = datasets.load_dataset(str(FOLDER), view, split="train"), tokenizer()
    from trl.trainer.kto_trainer import KTOConfig, KTOTrainer

    train_one_step(
        KTOTrainer(
            model=model(words),
            ref_model=model(words),
            processing_class=words,
            train_dataset=data,
            args=settings(KTOConfig, max_length=None),
        )
    )
    report_check(view, "one KTO step")


def check_readme():
    """Run the eleven lines of the README with this data set and model."""
    home = Path(__file__).parents[2] / "README.md"
    lines = home.read_text().split("```python\n")[1].split("```")[0]
    assert lines.strip().count("\n") <= 10
    words = tokenizer()
    model(words).save_pretrained("tiny")
    words.save_pretrained("tiny")
    code = lines.replace("Qwen/Qwen3-0.6B", "tiny").replace("outputs/wiki/latest/dataset", str(FOLDER))
    code = code.replace("max_length=8192", "max_length=8192, use_cpu=True")
    assert code.count("tiny") == code.count(str(FOLDER)) == 1
    names = {}
    exec(code, names)
    assert names["trainer"].state.global_step > 1
    report_check("sft", "the snippet of the README, run")


check_sft()
check_masked("sft_masked")
check_templates()
check_dpo("dpo")
check_dpo("dpo_steps")
check_dpo("robust_pairs")
check_kto("kto")
check_readme()
