"""`kto`: every rollout's answer, graded; for TRL's KTOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `completion` as messages, `label`, and `tools`). The completion is the
one turn that calls `answer`, the prompt all before it. `label` is whether the rollout was correct. A right answer
without its evidence is neither and makes no row; nor does one without its evidence that nobody judged.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.views.base import COMPLETION, PROVENANCE, Rows, ViewOptions, completion, shown
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(**COMPLETION, label=bool, **PROVENANCE)
OPTIONS = ViewOptions()


def rows(record: Record, environment: Environment) -> Rows:
    seen = set()
    for graded in record.graded:
        rollout, verdict = graded
        answers = [call.name for call in rollout.trajectory.messages[-1].tool_calls] == ["answer"]
        texts = chat.dumped(shown(rollout.trajectory.messages, 1, environment, "solver"))
        if answers and texts and (verdict.correct or graded.wrong) and tuple(texts) not in seen:
            seen.add(tuple(texts))
            yield {**completion(record, texts, environment.offered), "label": verdict.correct}
