"""The reward of this data set: exact match with any gold answer, after normalisation. Standard library only.

verl       custom_reward_function.path=reward.py custom_reward_function.name=compute_score
TRL        GRPOTrainer(reward_funcs=[reward.exact_match], ...) with the column `golden_answers`
OpenRLHF   --reward.remote_url reward.py, with --data.label_key label
verifiers  taskset.py beside this file calls `score`

The answer is that of the last call of the tool `answer`; else what stands between the last pair of <answer> tags
after the prompt; else there is none. Normalisation is SQuAD's (lower case, no punctuation, no articles), accents are
folded, and points and signs of numbers count, their groups do not: 17.3 is not 173, and 1 000 is 1,000. Other
spellings of dates and numbers are among the gold answers already.
"""

import json
import re
import unicodedata
from typing import Any

_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?: \d{3})+|\d+(?:,\d+)*)(?:\.\d+)?(?!\w)")
_GROUPED = re.compile(r"-?\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?: \d{3})+)(?:\.\d+)?")


def normalise(text: str) -> str:
    """Lower case, no accents, marks or articles, single blanks; a number keeps its sign and point, not its groups."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text).lower() if not unicodedata.combining(c))
    kept: list[str] = []
    place = 0
    for number in _NUMBER.finditer(text):
        value = number.group().replace("−", "-")
        value = re.sub("[, ]", "", value) if _GROUPED.fullmatch(value) else value
        kept += [_plain(text[place : number.start()]), value]
        place = number.end()
    words = " ".join([*kept, _plain(text[place:])]).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def _plain(text: str) -> str:
    """Punctuation and symbols go, as SQuAD drops them, so that "O'Neill" and "ONeill" are one."""
    return "".join(c for c in text if unicodedata.category(c)[0] not in "PS")


def score(answer: str | None, golds: list[str]) -> float:
    """1.0 if the answer is one of the gold answers, else 0.0."""
    said = normalise(answer) if isinstance(answer, str) else ""
    return float(bool(said) and said in {normalise(gold) for gold in golds})


def final_answer(response: Any) -> str | None:
    """The answer that a response gives: generated text, or messages as chat templates take them. Anything else gives
    none, since a scorer that raises ends the training."""
    if isinstance(response, str):
        called = [_argument(call) for call in _between(response, "tool_call")]
        tagged = _between(response, "answer")
        return next((c for c in reversed(called) if c is not None), None) or (tagged[-1].strip() if tagged else None)
    for message in reversed(_list(response)):
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        for call in reversed(_list(message.get("tool_calls"))):
            found = _argument(call.get("function", call) if isinstance(call, dict) else call)
            if found is not None:
                return found
        found = final_answer(str(message.get("content") or ""))
        if found is not None:
            return found
    return None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _between(text: str, tag: str) -> list[str]:
    """What stands between the tags, from the nearest opening one on. No pattern: a model that repeats a tag
    thousands of times would keep one busy for minutes."""
    parts = [part.partition(f"</{tag}>") for part in text.split(f"<{tag}>")[1:]]
    return [inside for inside, closing, _ in parts if closing]


def _argument(call: str | dict[str, Any]) -> str | None:
    """The argument of a call of `answer`; None for other calls and for what is no call."""
    try:
        tree: Any = json.loads(call) if isinstance(call, str) else call
        arguments = tree.get("arguments")
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        answer = arguments["answer"] if tree.get("name") == "answer" else None
        return str(answer) if isinstance(answer, (str, int, float)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def compute_score(
    data_source: str, solution_str: str, ground_truth: dict[str, Any], extra_info: Any = None, **rest: Any
) -> float:
    """For verl: `solution_str` is the response without its prompt."""
    return score(final_answer(solution_str), list(ground_truth["target"]))


def exact_match(completions: list[Any], golden_answers: list[list[str]], **columns: Any) -> list[float]:
    """For TRL: one reward a completion."""
    pairs = zip(completions, golden_answers, strict=True)
    return [score(final_answer(completion), list(golds)) for completion, golds in pairs]


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **rest: Any) -> dict[str, Any]:
    """For OpenRLHF: a query is prompt and response together, a label the JSON list of gold answers. One at a time."""
    rewards = [
        score(final_answer(query.removeprefix(prompt)), json.loads(label))
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    return {"rewards": rewards[0], "scores": rewards[0], "extra_logs": {"exact_match": rewards[0]}}
