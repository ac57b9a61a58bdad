r"""The reward of this data set: 1.0 for an answer that equals a gold answer, else 0.0; of a list, between the two.
Standard library only.

verl       reward.custom_reward_function.path=reward.py (before 0.7.1 without the first `reward.`)
TRL        GRPOTrainer(reward_funcs=[reward.exact_match], ...) with the column `golden_answers`
OpenRLHF   --reward.remote_url reward.py, with --data.label_key label
verifiers  taskset.py calls `score`

The answer is taken from the last assistant message only: from its call of the tool `answer`, else from its last pair of
<answer> tags. Text in a thought, in tool output, in a search or between other tags is not an answer; a thought or tool
output that is never closed hides all that follows. If the last message has no word, the answer of the message before it
counts, and so does a call of only `answer` that is followed by closing words.

Answers are equal if they are equal after normalisation: case, accents, invisible characters, punctuation and articles
do not count; the sign, point and unit of a number do. A number may come with or without its unit, a date in any
unambiguous form and in more detail than the gold answer, a place with or without its region. Texts may be in any
script; dates are read in English, German, Chinese, Japanese and Korean. Numerals and ordinals may be words, World War
II may be World War 2, St. Louis Saint Louis, 1969-70 1969-1970 and AD 1969 1969; \boxed{} and the like do not count.

If a gold answer is "yes" or "no" in lower case, it is a yes-or-no question: the answer may be yes or no in any of 20
languages, and nothing else. In other questions such a word (Tak) is a name.

If a question asks for several things, the gold answer is one JSON text: a list of items, each a list of its spellings.
The reward is then the F1 of the sets: 2 * right / (named + wanted), each thing counted once, in any order. The answer
is a JSON array, or names separated by semicolons, lines, commas or "and". More than twice as many names as items get 0.
If the question names the things to choose from, the gold answer is {"items": [...], "others": [...]}, and the reward is
the share of the items minus the share of the others that the answer names, at least 0: naming all gets 0.

If a number is computed from rounded values, one gold answer is {"from": ..., "to": ..., "unit": ...}: every number
between these limits is right.

If the gold answer is "not found", the question has no answer. An answer is then right if it says so and nothing else
("no answer", "cannot be found in the corpus", "unknown"); for any other question such an answer is wrong.
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
