"""`dpo_steps`: the turn at which a rollout went wrong, and one that corrects it; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`); pairs as in Critical Step
Optimization (arXiv 2602.03412). The prompt is the state of the failed rollout; each completion is one assistant turn.
Pairs are verified: the chosen turn led to the right answer more often than the rejected one. `digsite branch --method
cso` makes them.
"""

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import find_failure
from pipeline.exports.branching.base import by_sample
from pipeline.exports.branching.cso import pairs
from pipeline.exports.trajectories import chat
from pipeline.exports.views.base import (
    PREFERENCE,
    PROVENANCE,
    Rows,
    View,
    ViewOptions,
    preference_columns,
    render_for_model,
)
from pipeline.store.arrow import columns
from pipeline.types import Record

COUNTS = ("chosen_solved", "chosen_tried", "rejected_solved", "rejected_tried")
SCHEMA = columns(**PREFERENCE, source=int, failure=str, **dict.fromkeys(COUNTS, int), **PROVENANCE)


def rows(record: Record, environment: Environment) -> Rows:
    draft = record.draft
    for pair in pairs(record):
        messages = (*pair.prompt, pair.chosen, pair.rejected)
        texts = chat.dump_messages(render_for_model(messages, 2, environment, "solver"))
        if texts and draft:
            rollout, verdict = by_sample(record)[pair.fork.source]
            yield {
                "source": pair.fork.source,
                "failure": find_failure(draft, rollout, verdict),
                **{name: getattr(pair, name) for name in COUNTS},
                **preference_columns(record, texts, environment.offered),
            }


VIEW = View(rows, SCHEMA, ViewOptions(needs="digsite branch --method cso"))
