"""`sft_masked`: one prompt and completion for each turn that is worth learning; for TRL's SFTTrainer, and any other
that trains on a completion alone.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `completion` as messages, and `tools`): the loss falls on the completion,
which is one assistant turn, and so on no observation, no prompt and no turn that is masked. Turns are those of the
rollouts of `sft`, the teacher's too, and after `digsite branch --method eef` those that Exploring Expert Failures
(arXiv 2504.13145) keeps of a failed one and of the branch that solved it: `label` says why, `solved` of `tried` samples
reached the answer from the state that the turn leads to. The prompt is what the model was shown, and the completion has
its thought.
"""

from typing import Any

from pipeline.agents.environment_file import Environment
from pipeline.exports.branching.base import turns
from pipeline.exports.branching.eef import spliced
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import TrainingExample, examples, said
from pipeline.exports.views.base import COMPLETION, PROVENANCE, Rows, ViewOptions, completion, shown, with_system_prompt
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

SCHEMA = columns(**COMPLETION, agent=str, label=str, solved=int, tried=int, source=int, **PROVENANCE)
OPTIONS = ViewOptions(needs="a solved rollout that [sft] takes")


def rows(record: Record, environment: Environment) -> Rows:
    def row(
        messages: tuple[Message, ...], prefix: int, why: dict[str, Any], example: TrainingExample | None = None
    ) -> Rows:
        agent, measured = (example.agent, example.measured) if example else ("solver", None)
        if texts := with_system_prompt(environment, shown(messages[: prefix + 1], 1, environment, agent)):
            yield {"agent": agent, **why, **completion(record, texts, environment.offered, measured)}

    for example, _ in examples(record, environment, said):
        why = {"label": "solved", "solved": None, "tried": None, "source": example.rollout.sample}
        for turn in turns(example.rollout.trajectory):
            yield from row(example.rollout.trajectory.messages, turn.prefix, why, example)
    learnt = set()
    for found in spliced(record):
        for labelled in found.turns:
            state = chat.spelt(found.trajectory.messages[: labelled.turn.prefix + 1])
            # Failed rollouts that begin alike share their first turns: each is to be learnt once.
            if labelled.trained and state not in learnt:
                learnt.add(state)
                counts = {"solved": labelled.solved, "tried": labelled.tried, "source": found.fork.source}
                yield from row(found.trajectory.messages, labelled.turn.prefix, {"label": labelled.label, **counts})
