r"""The reward of this data set: 1.0 for an answer that equals a gold answer, else 0.0; of a list, between the two.
Standard library only.

verl       reward.custom_reward_function.path=reward.py (before 0.7.1 without the first `reward.`)
TRL        GRPOTrainer(reward_funcs=[reward.exact_match], ...) with the column `golden_answers`
OpenRLHF   --reward.remote_url reward.py, with --data.label_key label
verifiers  taskset.py calls `score`

The answer is taken from the last assistant message alone: from its call of the tool `answer`, else from its last pair
of <answer> tags. What stands in a thought, in tool output, in a search or between other tags is no answer; a thought or
tool output that is never closed hides all that follows. A message without a word leaves the answer before it standing,
and so do closing words after a turn that called `answer` alone.

Equal means equal after normalisation: case, accents, invisible characters, punctuation and articles do not count; the
sign, point and unit of a number do. A number may stand with or without its unit, a date in any unambiguous form and in
more detail than the gold answer, a place with or without the region that it lies in. Texts may be in any script; dates
are read in English, German, Chinese, Japanese and Korean. Numerals and ordinals may be words, World War II may be World
War 2, St. Louis Saint Louis, 1969-70 1969-1970 and AD 1969 1969; \boxed{} and the like do not count.

Where a gold answer is "yes" or "no" in lower case, the question is one of yes or no: any of 20 languages may say it,
alone. A name that is such a word in some language (Tak) is a name.

Where several things are asked for, the gold answer is one JSON text: a list of items, each a list of its spellings. The
reward is then the F1 of the sets: 2 * right / (named + wanted), each thing counted once, in any order; the answer is a
JSON array, or its names stand between semicolons, lines, commas or "and". More than twice as many names as items get 0.
Where the question names the things to choose from, the gold answer is {"items": [...], "others": [...]}, and the reward
is the share of the items minus the share of the others that are named, at least 0: naming all gets 0.

Where a number is computed from values that are rounded themselves, one gold answer is {"from": ..., "to": ..., "unit":
...}: every number between these limits is right.

Where the gold answer is "not found" the question has none, and an answer is right that says so and nothing else ("no
answer", "cannot be found in the corpus", "unknown"); to any other question it is wrong.
"""

import json
from typing import Any

from pipeline.reward.abstention import NOT_FOUND, refuses
from pipeline.reward.answers import SIDES, lies_within, listed, score_list, side, tolerance
from pipeline.reward.equality import equal
from pipeline.reward.responses import final_answer
from pipeline.reward.written_forms import unboxed

__all__ = ["compute_score", "exact_match", "final_answer", "reward_func", "score"]


def score(answer: str | None, golds: Any) -> float:
    """Return 1.0 if the answer is one of the gold answers, else 0.0; of a list a number between the two."""
    if not isinstance(answer, str):
        return 0.0
    texts = _texts(golds)
    if texts == [NOT_FOUND]:
        return float(refuses(unboxed(answer)))
    items, others = listed(texts)
    if items:
        return score_list(unboxed(answer), items, others)
    if (limits := tolerance(texts)) and (is_within := lies_within(unboxed(answer), limits)) is not None:
        return float(is_within)
    if decided := SIDES.intersection(texts):
        return float(len(decided) == 1 and side(unboxed(answer)) in decided)
    return float(equal(unboxed(answer), list(map(unboxed, texts))))


def _texts(golds: Any) -> list[str]:
    """The gold answers as a list: they come as one text, a list, pandas' array, or verl's {"target": ...}."""
    if isinstance(golds, dict):
        golds = golds.get("target")
    if isinstance(golds, str):
        return [golds]
    try:
        return [gold for gold in golds if isinstance(gold, str)]
    except TypeError:
        return []


def compute_score(data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, **rest: Any) -> float:
    """For verl: `solution_str` is the response without its prompt."""
    return score(final_answer(solution_str), ground_truth)


def exact_match(completions: list[Any], golden_answers: list[Any], **columns: Any) -> list[float]:
    """For TRL: one reward a completion."""
    pairs = zip(completions, golden_answers, strict=True)
    return [score(final_answer(completion), golds) for completion, golds in pairs]


def reward_func(queries: list[str], prompts: list[str], labels: list[Any], **rest: Any) -> dict[str, Any]:
    """For OpenRLHF: a query is prompt and response together, a label the JSON list of gold answers. One at a time."""
    rewards = [
        score(final_answer(_response(query, prompt)), _label(label))
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {"exact_match": rewards[0]}}


def _response(query: str, prompt: str) -> str:
    """What was generated; a thought that the prompt's template has opened is part of it."""
    return ("<think>" if prompt.rstrip().endswith("<think>") else "") + query.removeprefix(prompt)


def _label(label: Any) -> Any:
    try:
        golds = json.loads(label)
    except (ValueError, TypeError, RecursionError):
        return label
    return golds if isinstance(golds, (list, str)) else label
