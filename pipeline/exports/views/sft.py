"""`sft`: solved trajectories as OpenAI messages with tool calls; for TRL's SFTTrainer and verl.

Rules: TRL 1.16 "Dataset formats" (`messages` and `tools`; it takes the columns as `datasets` gives them) and verl's
MultiTurnSFTDataset, which reads through pandas and needs the class in `code/verl_sft.py`.
The solver's are correct ones whose answer was supported, ended on their own, repeated no call and broke no format; of
these `[sft]` selects, by default the shortest. They end on the call of `answer`. The teacher's (`agent`) are those that
the run keeps, from among distractors, each once; their system prompt is the environment's, as their pupil will have it.
`loss` says of each message whether to learn it: the assistant's, no prompt and no observation. Where a model was not
sent its thoughts again, a trajectory is a row for each turn, of which the last alone is learnt: a trainer that learns
every assistant turn wants `sft_masked` then, or `sft.thinking` as `last` or `none`. `weight` is DR-Venus's turn-aware
resampling: how often to show the row.
"""

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import efficiency, hit_rate, useful_steps
from pipeline.exports.branching.base import turns
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import weight
from pipeline.exports.trajectories.selection import examples, said
from pipeline.exports.views import base
from pipeline.reward import standalone
from pipeline.store.arrow import columns
from pipeline.types import Record

_OF_ROLLOUT, of_rollout = base.projection(
    agent=(str, lambda example: example.agent),
    resisted=(bool, lambda example: example.resisted),
    weight=(int, lambda example: weight(len(turns(example.rollout.trajectory)))),
    steps=(int, lambda example: example.verdict.steps),
    hit_step=(int, lambda example: example.verdict.hit_step),
    useful_steps=(int, lambda example: useful_steps(example.rollout)),
    hit_rate=(float, lambda example: hit_rate(example.verdict.found_at)),
    efficiency=(float, lambda example: efficiency(example.verdict)),
)
SCHEMA = columns(messages=chat.MESSAGES, tools=chat.JSON, loss=[bool], **_OF_ROLLOUT, **base.PROVENANCE)
OPTIONS = base.ViewOptions(
    extra_files={"verl_sft.py": standalone("verl_sft.py")}, needs="a solved rollout that [sft] takes"
)


def rows(record: Record, environment: Environment) -> base.Rows:
    tools = environment.offered
    for example, _ in examples(record, environment, said):
        for messages, loss in base.conversations(example.rollout.trajectory.messages, environment, example.agent):
            texts = base.with_system_prompt(environment, messages) or []
            provenance = base.provenance(record, [*texts, tools], measured=example.measured)
            learnt = {"messages": texts, "tools": tools, "loss": loss}
            yield learnt | of_rollout(example) | provenance
