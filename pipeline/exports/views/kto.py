"""`kto`: every rollout's answer, graded; for TRL's KTOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `completion` as messages, `label`, and `tools`). The completion is the
turn that calls `answer`, the prompt everything before it. `label` is whether the rollout was correct. An answer
without its evidence makes no row if it is right or if nobody judged it.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.views.base import COMPLETION, PROVENANCE, Rows, View, completion_columns, render_for_model
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(**COMPLETION, label=bool, **PROVENANCE)


def rows(record: Record, environment: Environment) -> Rows:
    seen_texts = set()
    for graded in record.graded:
        rollout, verdict = graded
        has_answered = [call.name for call in rollout.trajectory.messages[-1].tool_calls] == ["answer"]
        texts = chat.dump_messages(render_for_model(rollout.trajectory.messages, 1, environment, "solver"))
        if has_answered and texts and (verdict.correct or graded.wrong) and tuple(texts) not in seen_texts:
            seen_texts.add(tuple(texts))
            yield {**completion_columns(record, texts, environment.offered), "label": verdict.correct}


VIEW = View(rows, SCHEMA)
