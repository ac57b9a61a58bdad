"""`dpo_steps`: the turn at which a rollout went wrong, and one that puts it right; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`); pairs as Critical Step
Optimization makes them (arXiv 2602.03412). Prompt is the failed rollout's own state, either completion one assistant
turn. Only verified pairs: the chosen turn led to the right answer more often than the rejected one did. The rows come
from `digsite branch --method cso`.
"""

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import failure
from pipeline.exports.branching.base import by_sample
from pipeline.exports.branching.cso import pairs
from pipeline.exports.trajectories import chat
from pipeline.exports.views.base import PREFERENCE, PROVENANCE, Rows, ViewOptions, preference, shown
from pipeline.store.arrow import columns
from pipeline.types import Record

COUNTS = ("chosen_solved", "chosen_tried", "rejected_solved", "rejected_tried")
SCHEMA = columns(**PREFERENCE, source=int, failure=str, **dict.fromkeys(COUNTS, int), **PROVENANCE)
OPTIONS = ViewOptions(needs="digsite branch --method cso")


def rows(record: Record, environment: Environment) -> Rows:
    draft = record.draft
    for pair in pairs(record):
        texts = chat.dumped(shown((*pair.prompt, pair.chosen, pair.rejected), 2, environment, "solver"))
        if texts and draft:
            rollout, verdict = by_sample(record)[pair.fork.source]
            yield {
                "source": pair.fork.source,
                "failure": failure(draft, rollout, verdict),
                **{name: getattr(pair, name) for name in COUNTS},
                **preference(record, texts, environment.offered),
            }
