"""The tools of the OpenEnv package in TRL's GRPOTrainer, as `environment_factory`, over the package's server."""

import importlib
import importlib.util
import json
import sys

import datasets
import trl
from with_trl_model import FOLDER, model, report_check, settings, tokenizer, train_one_step

SearchTools = importlib.import_module(sys.argv[2]).SearchTools
spec = importlib.util.spec_from_file_location("reward", FOLDER / "code" / "reward.py")
REWARD = importlib.util.module_from_spec(spec)
spec.loader.exec_module(REWARD)

data, words = datasets.load_dataset(str(FOLDER), "rl_trl", split="train").select(range(2)), tokenizer()
golds = {row["prompt"][-1]["content"]: row["golden_answers"][0] for row in data}
waiting = {question: [("answer", {"answer": gold}), ("search", {"query": "zzqx"})] for question, gold in golds.items()}
scored = []


def answer_prompts(prompts, trainer):
    """Let one rollout of each question answer it, and the other search for something that no passage holds."""
    prompt_ids, completion_ids = [], []
    for prompt in prompts:
        question = prompt[-1]["content"]
        name, arguments = waiting[question].pop(0)
        line = json.dumps({"name": name, "arguments": arguments})
        text = f"<tool_call>\n{line}\n</tool_call><|im_end|>"
        rendered = words.apply_chat_template(prompt, tools=trainer.tools, add_generation_prompt=True, tokenize=False)
        prompt_ids.append(words(rendered)["input_ids"])
        completion_ids.append(words(text)["input_ids"])
    return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": None}


def compare_rewards(completions, golden_answers, environments, **columns):
    values = REWARD.exact_match(completions, golden_answers)
    assert [environment.get_reward() for environment in environments] == values
    for completion in completions:
        (observed,) = [message["content"] for message in completion if message["role"] == "tool"]
        has_answered = completion[0]["tool_calls"][0]["function"]["name"] == "answer"
        assert observed == ("" if has_answered else "No passage matches.")
    scored.extend(values)
    return values


trainer = trl.GRPOTrainer(
    model=model(words),
    processing_class=words,
    train_dataset=data,
    environment_factory=SearchTools,
    reward_funcs=[compare_rewards],
    rollout_func=answer_prompts,
    args=settings(
        trl.GRPOConfig, num_generations=2, max_completion_length=400, max_tool_calling_iterations=1,
        per_device_train_batch_size=4,
    ),
)  # fmt: skip
train_one_step(trainer)
assert sorted(scored) == [0.0, 0.0, 1.0, 1.0]
assert trainer.state.log_history[-1]["rewards/SearchTools/mean"] == 0.5
report_check("rl_trl", "one GRPO step with the OpenEnv package as environment_factory; its reward is code/reward.py's")
