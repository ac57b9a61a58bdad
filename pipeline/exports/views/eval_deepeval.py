"""`eval_deepeval`: a question with its answer and the passages of its evidence; for DeepEval.

Rules: each row is the arguments of `deepeval.dataset.Golden` (`input`, `expected_output`, `context`), which ignores
other columns. Run your system on `input` to make its test cases. Contexts are those of `eval_ragas`.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.relevance import collect_contexts
from pipeline.exports.views.base import PROVENANCE, Rows, View, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(input=str, expected_output=str, context=[str], **PROVENANCE)


def rows(record: Record, environment: Environment) -> Rows:
    if draft := record.draft:
        contexts = collect_contexts(record, draft)
        question = {"input": draft.question, "expected_output": draft.answer, "context": contexts}
        yield {**question, **provenance(record, [draft.question, draft.answer, *contexts])}


VIEW = View(rows, SCHEMA, ViewOptions(env_specific=False, takes_twins=False))
