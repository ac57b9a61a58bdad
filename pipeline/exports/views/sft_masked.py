"""`sft_masked`: one prompt and completion for each turn that is worth learning.

For TRL's SFTTrainer, and any other trainer that trains on a completion alone.
"""

from typing import Any

from pipeline.agents.environment_file import Environment
from pipeline.exports.branching.base import turns
from pipeline.exports.branching.eef import splice_rollouts
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import TrainingExample, dump_conversation, examples
from pipeline.exports.views import base
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

SCHEMA = columns(**base.COMPLETION, agent=str, label=str, solved=int, tried=int, source=int, **base.PROVENANCE)


def rows(record: Record, environment: Environment) -> base.Rows:
    def row(messages: tuple[Message, ...], label: dict[str, Any], example: TrainingExample | None = None) -> base.Rows:
        agent, measured = (example.agent, example.measured) if example else ("solver", None)
        if texts := base.dump_with_system_prompt(environment, base.render_for_model(messages, 1, environment, agent)):
            yield {"agent": agent, **label, **base.completion_columns(record, texts, environment.offered, measured)}

    for example, _ in examples(record, environment, dump_conversation):
        label = {"label": "solved", "solved": None, "tried": None, "source": example.rollout.sample}
        for turn in turns(example.rollout.trajectory):
            yield from row(example.rollout.trajectory.messages[: turn.prefix + 1], label, example)
    learnt_states = set()
    for spliced in splice_rollouts(record):
        for labelled in spliced.turns:
            messages = spliced.trajectory.messages[: labelled.turn.prefix + 1]
            # Failed rollouts may begin with the same turns. Each of these is learnt once.
            state = chat.normalise_calls(messages)
            if labelled.trained and state not in learnt_states:
                learnt_states.add(state)
                counts = {"solved": labelled.solved, "tried": labelled.tried, "source": spliced.fork.source}
                yield from row(messages, {"label": labelled.label, **counts})


VIEW = base.View(rows, SCHEMA, base.SOLVED)
