"""The reward of this data set: 1.0 for an answer that equals a gold answer, else 0.0.

A list may get a reward between the two. Only the standard library is imported.
"""

import json
from typing import Any

from pipeline.reward.abstention import NOT_FOUND, refuses
from pipeline.reward.answers import SIDES, lies_within, parse_list, score_list, side, tolerance
from pipeline.reward.equality import equal
from pipeline.reward.responses import final_answer
from pipeline.reward.written_forms import unbox

__all__ = ["compute_score", "exact_match", "final_answer", "reward_func", "score"]


def score(answer: str | None, golds: Any) -> float:
    """Return 1.0 if the answer is one of the gold answers, else 0.0; for a list also a number between them."""
    if not isinstance(answer, str):
        return 0.0
    texts = _texts(golds)
    if texts == [NOT_FOUND]:
        return float(refuses(unbox(answer)))
    items, others = parse_list(texts)
    if items:
        return score_list(unbox(answer), items, others)
    if (limits := tolerance(texts)) and (is_within := lies_within(unbox(answer), limits)) is not None:
        return float(is_within)
    if right_sides := SIDES.intersection(texts):
        return float(len(right_sides) == 1 and side(unbox(answer)) in right_sides)
    return float(equal(unbox(answer), list(map(unbox, texts))))


def _texts(golds: Any) -> list[str]:
    """Return the gold answers as a list; they come as one text, a list, a pandas array, or verl's {"target": ...}."""
    if isinstance(golds, dict):
        golds = golds.get("target")
    if isinstance(golds, str):
        return [golds]
    try:
        return [gold for gold in golds if isinstance(gold, str)]
    except TypeError:
        return []


def compute_score(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, **options: Any
) -> float:
    """Score one response for verl; `solution_str` is the response without its prompt."""
    return score(final_answer(solution_str), ground_truth)


def exact_match(completions: list[Any], golden_answers: list[Any], **columns: Any) -> list[float]:
    """Score completions for TRL."""
    pairs = zip(completions, golden_answers, strict=True)
    return [score(final_answer(completion), golds) for completion, golds in pairs]


def reward_func(queries: list[str], prompts: list[str], labels: list[Any], **options: Any) -> dict[str, Any]:
    """Score one response for OpenRLHF; a query is prompt and response, a label the JSON list of gold answers."""
    rewards = [
        score(final_answer(_response(query, prompt)), _label(label))
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {"exact_match": rewards[0]}}


def _response(query: str, prompt: str) -> str:
    return ("<think>" if prompt.rstrip().endswith("<think>") else "") + query.removeprefix(prompt)


def _label(label: Any) -> Any:
    try:
        golds = json.loads(label)
    except (ValueError, TypeError, RecursionError):
        return label
    return golds if isinstance(golds, (list, str)) else label
