"""`rl_search_r1`: prompts and gold answers for Search-R1 (and what reads its Parquet files).

It differs from `sft`: the prompt and its tags (`<search>`, `<information>`, `<answer>`) are Search-R1's own; no tool
can be called and no document be opened; a passage has no id. A model after SFT on `sft` has not seen this format.

Rules: PeterGriffinJin/Search-R1, `scripts/data_process/nq_search.py` (columns, prompt) and
`verl/utils/reward_score/qa_em.py` (reward). The reward is exact match after SQuAD's normalisation. It reads the *last*
pair of answer tags in prompt and response together, if there is more than one. The stock prompt has two pairs, so a
response without an answer is scored as "Beijing": questions with that answer are left out. A question is also left out
if exact match accepts none of its correct rollouts, since nothing can be learnt from a reward that is always zero; this
includes every list. The trainer chooses the scorer by `data_source`; `code/reward.py` has one for verl's
`custom_reward_function`.
"""

import re
import string
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipeline.agents.answers import list_items
from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.trajectories.spellings import spellings
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, View, rl_row
from pipeline.store.arrow import columns
from pipeline.types import Record

# `data_source` chooses the reward. Only the names of seven benchmarks are valid, and all seven have the same reward.
DATA_SOURCE = "nq"
TASK = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query "
    "</search> and it will return the top searched results between <information> and </information>. You can search as "
    "many times as your want. If you find no further external knowledge needed, you can directly provide the answer "
    "inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. "
)
# If there are questions without an answer, every prompt says what to answer to them: a prompt must not reveal which
# questions they are.
NO_ANSWER = "If you have searched in several ways and nothing states the answer, the answer is: not found. "
_TAG = re.compile(r"</?(?:think|answer|search|information)>")
TARGET = {"target": [str]}
VERL: dict[str, Any] = {"prompt": PROMPT, "ability": str, "reward_model": {"style": str, "ground_truth": TARGET}}
EXTRA = {"split": str, "index": pa.int64()}
SCHEMA = columns(question=str, golden_answers=[str], data_source=str, **VERL, extra_info=EXTRA, **RL)


def rows(record: Record, environment: Environment) -> Rows:
    if (scorable := find_scorable(record)) is None:
        return
    question, golds = scorable
    prompt = f"{TASK}{NO_ANSWER * environment.unanswerable}Question: {question}\n"
    if score(prompt, golds):
        return
    yield {
        "question": question,
        "golden_answers": golds,
        "data_source": DATA_SOURCE,
        "extra_info": {"split": record.seed.side, "index": group_index(record)},
        **verl_columns(golds),
        **rl_row(record, environment, {"user": prompt}),
    }


def verl_columns(golds: list[str]) -> dict[str, Any]:
    return {"ability": "fact-reasoning", "reward_model": {"style": "rule", "ground_truth": {"target": golds}}}


def find_scorable(record: Record) -> tuple[str, list[str]] | None:
    """Return the question with its question mark, and the gold answers.

    Return None for a list, if the question or an answer holds a tag of the prompt, or if the reward accepts none of the
    correct rollouts.
    """
    if record.draft is None or list_items(record.draft):
        return None
    question = end_with_question_mark(record.draft.question)
    golds = [gold for gold in spellings(record.draft) if normalise(gold)]
    answers = (f"<answer> {rollout.answer} </answer>" for rollout, _ in correct_rollouts(record))
    is_rewarded = any(score(answer, golds, least=1) for answer in answers)
    return (question, golds) if is_rewarded and not any(map(_TAG.search, (question, *golds))) else None


def end_with_question_mark(question: str) -> str:
    return question.strip().rstrip(" .!?") + "?"


def group_index(record: Record) -> int:
    """Return a number that is unique for each question: the trainer groups rollouts for GRPO by it."""
    return int(record.key[:15], 16)


def score(text: str, golds: Sequence[str], least: int = 2) -> int:
    """Return the reward of Search-R1 for a prompt with its response, which hold at least two pairs of answer tags.

    With `least=1`, return the reward of verl for a response alone.
    """
    # Equivalent to `<answer>(.*?)</answer>`, which takes quadratic time if tags are not closed.
    answers = [part.partition("<answer>")[2] for part in text.split("</answer>")[:-1] if "<answer>" in part]
    return int(len(answers) >= least and normalise(answers[-1].strip()) in {normalise(gold) for gold in golds})


def normalise(text: str) -> str:
    """Normalise as SQuAD and Search-R1 do: remove ASCII punctuation and keep accents, unlike `pipeline.text`."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


VIEW = View(rows, SCHEMA, REWARDED._replace(env_specific=False))
