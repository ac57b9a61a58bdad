"""`dpo_steps`: the turn at which a rollout went wrong, and one that puts it right; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`); pairs as Critical Step
Optimization makes them (arXiv 2602.03412). Prompt is the failed rollout's own state, either completion one assistant
turn. Only verified pairs: the chosen turn led to the right answer more often than the rejected one did. The rows come
from `digsite branch --method cso`.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset import chat
from pipeline.dataset.branching.base import attempts
from pipeline.dataset.branching.cso import pairs
from pipeline.dataset.process import failure
from pipeline.dataset.views.base import PREFERENCE, PROVENANCE, preference
from pipeline.types import Record

SCHEMA = pa.schema(
    [
        *PREFERENCE,
        ("source", pa.int32()),
        ("failure", pa.string()),
        ("chosen_solved", pa.int32()),
        ("chosen_tried", pa.int32()),
        ("rejected_solved", pa.int32()),
        ("rejected_tried", pa.int32()),
        *PROVENANCE,
    ]
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    draft = record.draft
    for pair in pairs(record):
        texts = chat.dumped((*pair.prompt, pair.chosen, pair.rejected))
        if texts and draft:
            rollout, verdict = attempts(record)[pair.fork.source]
            yield {
                "source": pair.fork.source,
                "failure": failure(draft, rollout, verdict),
                "chosen_solved": pair.chosen_solved,
                "chosen_tried": pair.chosen_tried,
                "rejected_solved": pair.rejected_solved,
                "rejected_tried": pair.rejected_tried,
                **preference(record, texts, environment.offered),
            }
