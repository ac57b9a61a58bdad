"""`eval_ragas`: a question with its answer and the passages of its evidence; for Ragas.

Rules: `EvaluationDataset.from_hf_dataset` of ragas 0.4 reads `user_input`, `reference` and `reference_contexts` and
ignores other columns. Add your system's `response` and `retrieved_contexts` before you evaluate. A passage is its title
and its text; if no agent saw the whole passage, the cited sentences stand for it.
"""

from pipeline.exports.relevance import build_evaluation_view

VIEW = build_evaluation_view("user_input", "reference", "reference_contexts")
