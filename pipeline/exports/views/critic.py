"""`critic`: rollouts with their calls, their result and the kind of failure; to train verifiers and judges.

Rules: DeepVerifier (arXiv 2601.15808): a trajectory as steps with their sources, the predicted answer, whether it is
right, and a computed kind of failure.
CM2 (arXiv 2602.12268): a checklist of yes-or-no items anchored in a reference rollout, with dependences and weights.
There is one item for each hop of the evidence chain and one for the answer. `passed` says which of them the rollout
meets, by passage and by name, without a model. `right`, and its entry in `passed`, is null if the answer lacks its
evidence, since no judge saw it. Identical rollouts give one row.
"""

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import measure_rollout, summarise_steps
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.checklist import checklist
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.views.base import PROVENANCE, Rows, View, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

STEP = {"step": int, "tool": str, "argument": str, "passage_ids": [str], "hops": [int]}
SCHEMA = columns(
    task=str, messages=chat.MESSAGES, trajectory_summary=[STEP], answer_pred=str, gold_correct=bool, right=bool,
    supported=bool, failure=str, checklist=chat.JSON, passed=[bool], sample=int, **PROVENANCE,
)  # fmt: skip


def rows(record: Record, environment: Environment) -> Rows:
    draft = record.draft
    if draft is None:
        return
    reference = next((verdict.found_at for _, verdict in correct_rollouts(record)), (None,) * len(draft.hops))
    items = orjson.dumps(checklist(draft, reference)).decode()
    seen_texts = set()
    for graded in record.graded:
        rollout, verdict = graded
        right = verdict.right or (False if graded.wrong else None)
        metrics, texts = measure_rollout(draft, rollout, verdict), chat.dump_messages(rollout.trajectory.messages)
        if texts and tuple(texts) not in seen_texts:
            seen_texts.add(tuple(texts))
            yield {
                "task": draft.question,
                "messages": texts,
                "trajectory_summary": summarise_steps(rollout, metrics.found_at),
                "answer_pred": rollout.answer,
                "gold_correct": verdict.correct,
                "right": right,
                "supported": verdict.supported,
                "failure": metrics.failure,
                "checklist": items,
                "passed": [*(step is not None for step in metrics.found_at), right],
                "sample": rollout.sample,
                **provenance(record, texts),
            }


VIEW = View(rows, SCHEMA)
