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

from pipeline.agents.environment import Environment
from pipeline.analysis.rollout_metrics import efficiency, hit_rate, useful_steps
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import weight
from pipeline.exports.trajectories.selection import examples, said
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, conversations, provenance, with_system_prompt
from pipeline.reward import standalone
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(
    messages=chat.MESSAGES,
    tools=chat.JSON,
    loss=[bool],
    agent=str,
    resisted=bool,
    weight=int,
    steps=int,
    hit_step=int,
    useful_steps=int,
    hit_rate=float,
    efficiency=float,
    **PROVENANCE,
)
OPTIONS = ViewOptions(extra_files={"verl_sft.py": standalone("verl_sft.py")})


def rows(record: Record, environment: Environment) -> Rows:
    for (agent, rollout, verdict, resisted, measured), _ in examples(record, environment, said):
        messages = rollout.trajectory.messages
        turns = sum(message.role == "assistant" for message in messages)
        for row in conversations(messages, environment, agent):
            texts = with_system_prompt(environment, row.messages) or []
            yield {
                "messages": texts,
                "tools": environment.offered,
                "loss": list(row.learnt),
                "agent": agent,
                "resisted": resisted,
                "weight": weight(turns),
                "steps": verdict.steps,
                "hit_step": verdict.hit_step,
                "useful_steps": useful_steps(rollout),
                "hit_rate": hit_rate(verdict.found_at),
                "efficiency": efficiency(verdict),
                **provenance(record, [*texts, environment.offered], measured=measured),
            }
