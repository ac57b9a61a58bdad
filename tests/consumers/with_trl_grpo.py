"""One step of TRL's GRPOTrainer, and of the recipe for it, with the rewards that the trainer requests."""

import importlib.util
import json
import sys
from pathlib import Path

import datasets
import trl
from with_trl_model import FOLDER, model, report_check, settings, tokenizer, train_one_step

spec = importlib.util.spec_from_file_location("reward", FOLDER / "code" / "reward.py")
REWARD = importlib.util.module_from_spec(spec)
spec.loader.exec_module(REWARD)


def search(query: str) -> str:
    """Search the corpus.

    Args:
        query: What to look for.
    """
    return "No passage matches."


def answer(answer: str) -> str:
    """Give the final answer.

    Args:
        answer: A short span.
    """
    return ""


def grpo(view="rl_trl"):
    data, words = datasets.load_dataset(str(FOLDER), view, split="train").sort("order"), tokenizer()
    batches = []

    def record_rewards(completions, golden_answers, **columns):
        batches.append((completions, golden_answers))
        assert len(columns["band"]) == len(columns["order"]) == len(completions)
        return REWARD.exact_match(completions, golden_answers, **columns)

    train_one_step(
        trl.GRPOTrainer(
            model=model(words),
            processing_class=words,
            train_dataset=data,
            reward_funcs=[record_rewards],
            tools=[search, answer],
            args=settings(trl.GRPOConfig, num_generations=2, max_completion_length=8),
        )
    )
    completions, golds = batches[0]
    for completion, gold in zip(completions, golds, strict=True):
        assert isinstance(completion, list)
        assert set(map(type, gold)) == {str}
    call = {"type": "function", "function": {"name": "answer", "arguments": {"answer": data[0]["golden_answers"][0]}}}
    turns = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    assert REWARD.exact_match([turns, completions[0]], [data[0]["golden_answers"], golds[0]]) == [1.0, 0.0]
    report_check(view, "one GRPO step with tools; reward.py scores its completions")


ANSWERS = {
    "list": {"Lund, Dal and Grim": 1.0, "Grim; Lund": 0.8, '["Grim", "Moe"]': 0.4, "not found": 0.0},
    "unanswerable": {"not found": 1.0, "It cannot be found in the corpus.": 1.0, "1399": 0.0, "Grim; Lund": 0.0},
    "boolean": {"yes": 1.0, "Yes.": 1.0, "no": 0.0, "not found": 0.0},
}
"""By type of answer, what is answered in a group of generations and what it is worth."""


def special(view="rl_trl"):
    """Train one step on a list, a yes-or-no question and a question without an answer, with the answers of ANSWERS.

    TRL parses the call, runs the tool, lets this model close with any words, and requests the reward.
    """
    data, words = datasets.load_dataset(str(FOLDER), view, split="train"), tokenizer()
    data = data.filter(lambda row: row["answer_type"] in ANSWERS and row["golden_answers"][0] != "no")
    rows = {row["answer_type"]: place for place, row in enumerate(data)}
    data = data.select(sorted(rows.values()))
    kinds = {row["prompt"][-1]["content"]: row["answer_type"] for row in data}
    assert len(kinds) == len(ANSWERS)
    waiting, rewards = {kind: list(answers) for kind, answers in ANSWERS.items()}, {}

    def answer_prompts(prompts, trainer):
        prompt_ids, completion_ids = [], []
        for prompt in prompts:
            arguments = json.dumps({"answer": waiting[kinds[prompt[-1]["content"]]].pop(0)})
            call = f'<tool_call>\n{{"name": "answer", "arguments": {arguments}}}\n</tool_call><|im_end|>'
            prompt_text = words.apply_chat_template(
                prompt, tools=trainer.tools, add_generation_prompt=True, tokenize=False
            )
            prompt_ids.append(words(prompt_text)["input_ids"])
            completion_ids.append(words(call)["input_ids"])
        return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": None}

    def record_rewards(completions, golden_answers, answer_type, **columns):
        values = REWARD.exact_match(completions, golden_answers, answer_type=answer_type, **columns)
        for kind, (turn, *later_turns), worth in zip(answer_type, completions, values, strict=True):
            assert [message["role"] for message in later_turns] == ["tool", "assistant"]
            rewards.setdefault(kind, {})[turn["tool_calls"][0]["function"]["arguments"]["answer"]] = worth
        return values

    trainer = trl.GRPOTrainer(
        model=model(words),
        processing_class=words,
        train_dataset=data,
        reward_funcs=[record_rewards],
        tools=[search, answer],
        rollout_func=answer_prompts,
        args=settings(
            trl.GRPOConfig, num_generations=4, max_completion_length=200, max_tool_calling_iterations=1,
            per_device_train_batch_size=12,
        ),
    )  # fmt: skip
    train_one_step(trainer)
    assert {
        kind: {text: round(worth, 6) for text, worth in worths.items()} for kind, worths in rewards.items()
    } == ANSWERS
    assert trainer.state.log_history[-1]["reward_std"] > 0
    report_check(
        view, 'one GRPO step on a list, yes or no, and no answer: F1 for the list, 1 for "not found" without an answer'
    )


def recipe(folder, view="rl_trl"):
    """Run the recipe for one step of this model, and compare its prompts with the rows for SFT, token by token.

    The outputs of the model have no call, so no server is needed.
    """
    home = Path(__file__).parents[2] / "recipes/trl"
    code = (home / "grpo.py").read_text()
    for large, small in {
        "num_generations=8": "num_generations=2, per_device_train_batch_size=2, max_steps=1, use_cpu=True",
        "max_completion_length=16384": "max_completion_length=8",
    }.items():
        assert code.count(large) == 1
        code = code.replace(large, small)
    words = tokenizer()
    model(words).save_pretrained("tiny")
    words.save_pretrained("tiny")
    sys.path.insert(0, str(home))
    sys.argv[1:] = [str(folder), "tiny"]
    names = {}
    exec(code, names)
    trainer = names["trainer"]
    assert trainer.state.global_step == 1
    trained = datasets.load_dataset(str(folder), "sft", split="train")
    rows = {row["messages"][1]["content"]: row for row in trained}
    pairs = [
        (row, rows[row["prompt"][1]["content"]]) for row in trainer.train_dataset if row["prompt"][1]["content"] in rows
    ]
    assert len(pairs) > 5
    trainer._batch_environments = [None]
    for row, sft in pairs:
        (ids,), *_ = trainer._tokenize_prompts([row["prompt"]])
        first_turn = words.apply_chat_template(
            sft["messages"][:2], tools=sft["tools"] or None, add_generation_prompt=True, tokenize=False
        )
        assert words.decode(ids) == first_turn
        assert first_turn.count("You have these tools" if not sft["tools"] else "# Tools") == 1
    in_words = "with tools in words, " * (not sft["tools"])
    report_check(view, f"{in_words}recipes/trl/grpo.py, run for one step; its prompts have the tokens of `sft`")


grpo("rl_trl")
special("rl_trl")
recipe(FOLDER)
recipe(FOLDER.parent / "words")
