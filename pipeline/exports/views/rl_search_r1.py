"""`rl_search_r1`: prompts and gold answers for Search-R1 (and what reads its Parquet files).

Rules: PeterGriffinJin/Search-R1, `scripts/data_process/nq_search.py` (columns, prompt) and
`verl/utils/reward_score/qa_em.py` (reward). The reward is exact match after SQuAD's normalisation, over the *last* pair
of answer tags of prompt and response together, if there is more than one. The stock prompt holds two pairs itself, so a
response without an answer is scored as "Beijing": questions with that answer are left out. So are rows whose own solver
would not have scored: an answer that exact match cannot recognise teaches nothing but despair; it recognises no list.
Its trainer picks the scorer by `data_source`; `code/reward.py` is the one for verl's `custom_reward_function`.
"""

import re
import string
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipeline.agents.answers import list_items
from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories.cleaning import correct
from pipeline.exports.trajectories.spellings import spellings
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, rewarded, task
from pipeline.store.arrow import columns
from pipeline.types import Record

# `data_source` picks the reward; other names than those of its seven benchmarks raise. All seven share this one.
DATA_SOURCE = "nq"
STOCK = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <{call}> query "
    "</{call}> and it will return the top searched results between <{result}> and </{result}>. You can search as many "
    "times as your want. If you find no further external knowledge needed, you can directly provide the answer inside "
    "<answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. Question: "
)
TASK = STOCK.format(call="search", result="information")
TARGET = {"target": [str]}
VERL: dict[str, Any] = {"prompt": PROMPT, "ability": str, "reward_model": {"style": str, "ground_truth": TARGET}}
EXTRA = {"split": str, "index": pa.int64()}
SCHEMA = columns(question=str, golden_answers=[str], data_source=str, **VERL, extra_info=EXTRA, **RL)
OPTIONS = REWARDED._replace(env_specific=False)


def rows(record: Record, environment: Environment) -> Rows:
    if (found := scorable(record, "search", "information")) is None:
        return
    question, golds = found
    prompt = f"{task(TASK, environment)}{question}\n"
    if score(prompt, golds):
        return
    yield {
        "question": question,
        "golden_answers": golds,
        "data_source": DATA_SOURCE,
        **verl({"user": prompt}, golds),
        "extra_info": {"split": record.seed.side, "index": index(record)},
        **rewarded(record, environment, [prompt]),
    }


def verl(prompt: dict[str, str], golds: list[str]) -> dict[str, Any]:
    """The columns of VERL, from the texts of the prompt by role."""
    messages = [{"role": role, "content": text} for role, text in prompt.items()]
    truth = {"style": "rule", "ground_truth": {"target": golds}}
    return {"prompt": messages, "ability": "fact-reasoning", "reward_model": truth}


def scorable(record: Record, *tags: str) -> tuple[str, list[str]] | None:
    """The question, with one question mark at its end, and the gold answers; none where they hold a tag of the prompt,
    or where no correct rollout would have scored."""
    if record.draft is None or list_items(record.draft):
        return None
    question = asked(record.draft.question)
    golds = [gold for gold in spellings(record.draft) if normalise(gold)]
    tag = re.compile(rf"</?(?:think|answer|{'|'.join(tags)})>")
    scores = any(score(f"<answer> {rollout.answer} </answer>", golds, least=1) for rollout, _ in correct(record))
    return (question, golds) if scores and not any(map(tag.search, (question, *golds))) else None


def asked(question: str) -> str:
    """With one question mark at its end."""
    return question.strip().rstrip(" .!?") + "?"


def index(record: Record) -> int:
    """Its trainer groups rollouts for GRPO by this number, so it is another one for every question."""
    return int(record.key[:15], 16)


def score(text: str, golds: Sequence[str], least: int = 2) -> int:
    """What Search-R1 gives prompt and response together, which hold at least two pairs of answer tags; with `least=1`
    what verl gives a response of its own."""
    # What `<answer>(.*?)</answer>` finds, which takes quadratic time where nothing closes the tags.
    answers = [part.partition("<answer>")[2] for part in text.split("</answer>")[:-1] if "<answer>" in part]
    return int(len(answers) >= least and normalise(answers[-1].strip()) in {normalise(gold) for gold in golds})


def normalise(text: str) -> str:
    """SQuAD's, as Search-R1 applies it: ASCII marks go, accents stay. Not the product's own, which folds both."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())
