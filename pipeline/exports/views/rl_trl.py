"""`rl_trl`: prompts and gold answers for TRL's GRPOTrainer, in this data set's own environment.

Rules: TRL 1.16, `trainer/grpo_trainer.py`: `prompt` as messages. Every other column is passed to the reward functions,
so `reward_funcs=[reward.exact_match]` of `code/reward.py` gets `golden_answers`. The prompt is the first turn of `sft`.
The trainer passes the tools to the chat template: Python functions with the schemas of `environment.json`, as
`recipes/trl/environment.py` makes them.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.trajectories.spellings import spellings
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, View, rl_first_turn
from pipeline.reward import reward
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(prompt=PROMPT, golden_answers=[str], **RL)


def rows(record: Record, environment: Environment) -> Rows:
    golds = find_golds(record)
    if record.draft and golds:
        yield {"golden_answers": golds, **rl_first_turn(record.draft, record, environment)}


def find_golds(record: Record) -> list[str]:
    """Return the gold answers, or an empty list if `reward.py` accepts none of the correct rollouts."""
    golds = spellings(record.draft) if record.draft else []
    return golds if any(reward.score(rollout.answer, golds) == 1 for rollout, _ in correct_rollouts(record)) else []


VIEW = View(rows, SCHEMA, REWARDED)
