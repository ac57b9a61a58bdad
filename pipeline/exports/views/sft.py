"""`sft`: solved trajectories as OpenAI messages with tool calls; for TRL's SFTTrainer and verl.

Rules: TRL 1.16 "Dataset formats" (`messages` and `tools`; it takes the columns as `datasets` returns them) and verl's
MultiTurnSFTDataset, which reads through pandas and needs the class in `code/verl_sft.py`.
The solver's rollouts are correct, with a supported answer; they end with the call of `answer`, repeat no call and have
no format error. `[sft]` selects among them, by default the shortest. The teacher's rollouts (`agent`), among
distractors, are those that the run keeps, each once; they get the environment's system prompt, which the trained model
will have. `loss` says for each message whether to learn it: only the assistant's. If a model was not sent its earlier
thoughts, each turn of a trajectory is a row, of which only the last message is learnt. A trainer that learns every
assistant turn needs `sft_masked` then, or `sft.thinking` as `last` or `none`. `weight` is how often to show the row, by
DR-Venus's turn-aware resampling.
"""

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import efficiency, hit_rate, useful_steps
from pipeline.exports.branching.base import turns
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import weight
from pipeline.exports.trajectories.selection import dump_conversation, examples
from pipeline.exports.views import base
from pipeline.reward import standalone
from pipeline.store.arrow import columns, projection
from pipeline.types import Record

_ROLLOUT, rollout_columns = projection(
    agent=(str, lambda example: example.agent),
    resisted=(bool, lambda example: example.resisted),
    weight=(int, lambda example: weight(len(turns(example.rollout.trajectory)))),
    steps=(int, lambda example: example.verdict.steps),
    hit_step=(int, lambda example: example.verdict.hit_step),
    useful_steps=(int, lambda example: useful_steps(example.rollout)),
    hit_rate=(float, lambda example: hit_rate(example.verdict.found_at)),
    efficiency=(float, lambda example: efficiency(example.verdict)),
)
SCHEMA = columns(messages=chat.MESSAGES, tools=chat.JSON, loss=[bool], **_ROLLOUT, **base.PROVENANCE)


def rows(record: Record, environment: Environment) -> base.Rows:
    tools = environment.offered
    for example, _ in examples(record, environment, dump_conversation):
        for messages, loss in base.split_conversation(example.rollout.trajectory.messages, environment, example.agent):
            texts = base.dump_with_system_prompt(environment, messages) or []
            provenance = base.provenance(record, [*texts, tools], measured=example.measured)
            yield {"messages": texts, "tools": tools, "loss": loss} | rollout_columns(example) | provenance


VIEW = base.View(rows, SCHEMA, base.SOLVED._replace(extra_files={"verl_sft.py": standalone("verl_sft.py")}))
