"""`eval_ragas`: a question with its answer and the passages of its evidence; for Ragas.

Rules: `EvaluationDataset.from_hf_dataset` of ragas 0.4 reads `user_input`, `reference` and `reference_contexts` and
ignores other columns. Add your system's `response` and `retrieved_contexts` before you evaluate. A passage is its title
and its text; if no agent saw the whole passage, the cited sentences stand for it.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.relevance import collect_contexts
from pipeline.exports.views.base import PROVENANCE, Rows, View, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(user_input=str, reference=str, reference_contexts=[str], **PROVENANCE)


def rows(record: Record, environment: Environment) -> Rows:
    if draft := record.draft:
        contexts = collect_contexts(record, draft)
        question = {"user_input": draft.question, "reference": draft.answer, "reference_contexts": contexts}
        yield {**question, **provenance(record, [draft.question, draft.answer, *contexts])}


VIEW = View(rows, SCHEMA, ViewOptions(env_specific=False, takes_twins=False))
