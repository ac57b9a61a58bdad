"""GRPO with TRL 1.16 on the view rl_trl: `python recipes/trl/grpo.py DATASET MODEL`, while `digsite serve RUN` runs."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import environment
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

dataset, model = sys.argv[1:3]
spec = spec_from_file_location("reward", Path(dataset) / "code" / "reward.py")
reward = module_from_spec(spec)
spec.loader.exec_module(reward)
calls = json.loads((Path(dataset) / "environment.json").read_text())["calls"]
if calls == "schema":
    sys.exit(f"{dataset} has calls that are bare JSON, which TRL does not read: make one with models.solver.tools=text")

trainer = GRPOTrainer(
    model=model,
    # Rows of the demo model are not for training.
    train_dataset=load_dataset(dataset, "rl_trl", split="train").filter(lambda row: row["trainable"]),
    environment_factory=environment.of(dataset),
    reward_funcs=[reward.exact_match],
    args=GRPOConfig(
        output_dir="grpo",
        # Observations are no part of the loss: TRL masks what tools return.
        loss_type="dapo",
        epsilon_high=0.28,
        beta=0.0,
        scale_rewards="group",
        num_generations=8,
        # Prompt excepted, all turns and observations: 12 searches of 5 passages are about 9,000 tokens.
        max_completion_length=16384,
        max_tool_calling_iterations=16,
        mask_truncated_completions=True,
    ),
)
if calls == "text":
    # The prompts have the tools in words, so the chat template must not print them too.
    template = trainer.chat_template or trainer.processing_class.chat_template
    trainer.chat_template = "{%- set tools = none %}" + template
trainer.train()
