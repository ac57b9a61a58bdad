"""`eval_deepeval`: a question with its answer and the passages of its evidence; for DeepEval.

Rules: each row is the arguments of `deepeval.dataset.Golden` (`input`, `expected_output`, `context`), which ignores
other columns. Run your system on `input` to make its test cases. Contexts are those of `eval_ragas`.
"""

from pipeline.exports.relevance import build_evaluation_view

VIEW = build_evaluation_view("input", "expected_output", "context")
