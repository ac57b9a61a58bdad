"""`rl_trl`: prompts and gold answers for TRL's GRPOTrainer, in this data set's own environment.

Rules: TRL 1.16, `trainer/grpo_trainer.py`: `prompt` as messages; every other column goes to the reward functions, so
`reward_funcs=[reward.exact_match]` of `code/reward.py` finds `golden_answers`. The tools `search`,
`open` and `answer` are Python functions given to the trainer; their schemas are in `environment.json`.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories.cleaning import correct
from pipeline.exports.trajectories.spellings import spellings
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, rewarded
from pipeline.reward import reward
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(prompt=PROMPT, golden_answers=[str], **RL)
OPTIONS = REWARDED


def rows(record: Record, environment: Environment) -> Rows:
    golds = scorable(record)
    if record.draft and golds:
        texts = {"system": environment.system, "user": record.draft.question}
        yield {
            "prompt": [{"role": role, "content": content} for role, content in texts.items()],
            "golden_answers": golds,
            **rewarded(record, environment, texts.values()),
        }


def scorable(record: Record) -> list[str]:
    """The gold answers, or none where no correct rollout would have been rewarded."""
    golds = spellings(record.draft) if record.draft else []
    return golds if any(reward.score(rollout.answer, golds) == 1 for rollout, _ in correct(record)) else []
