"""`rl_search_r1`: prompts and gold answers for Search-R1 (and what reads its Parquet files).

Rules: PeterGriffinJin/Search-R1, `scripts/data_process/nq_search.py` (columns, prompt) and
`verl/utils/reward_score/qa_em.py` (reward). The reward is exact match after SQuAD's normalisation, over the *last* pair
of answer tags of prompt and response together, if there is more than one. The stock prompt holds two pairs itself, so a
response without an answer is scored as "Beijing": questions with that answer are left out. So are rows whose own solver
would not have scored: an answer that exact match cannot recognise teaches nothing but despair. Its trainer picks the
scorer by `data_source`; `code/reward.py` is the one for verl's `custom_reward_function`.
"""

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.spellings import spellings
from pipeline.dataset.views.base import PROVENANCE, correct, provenance, shipped_file
from pipeline.types import Record

# `data_source` picks the reward; other names than those of its seven benchmarks raise. All seven share this one.
DATA_SOURCE = "nq"
PROMPT = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query "
    "</search> and it will return the top searched results between <information> and </information>. You can search as "
    "many times as your want. If you find no further external knowledge needed, you can directly provide the answer "
    "inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. "
    "Question: {question}\n"
)
_TAG = re.compile(r"</?(?:think|search|information|answer)>")
HOLDS = "ids"
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("golden_answers", pa.list_(pa.string())),
        ("data_source", pa.string()),
        ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("ability", pa.string()),
        (
            "reward_model",
            pa.struct([("style", pa.string()), ("ground_truth", pa.struct([("target", pa.list_(pa.string()))]))]),
        ),
        ("extra_info", pa.struct([("split", pa.string()), ("index", pa.int64())])),
        *PROVENANCE,
    ]
)
BESIDE = {"reward.py": shipped_file("reward.py")}


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    draft = record.draft
    if draft is None:
        return
    question = asked(draft.question)
    golds = [gold for gold in spellings(draft) if normalise(gold)]
    prompt = PROMPT.replace("{question}", question)
    texts = (question, *golds)
    if any(_TAG.search(text) for text in texts) or score(prompt, golds):
        return
    if not any(score(f"{prompt}<answer> {rollout.answer} </answer>", golds) for rollout, _ in correct(record)):
        return
    yield {
        "question": question,
        "golden_answers": golds,
        "data_source": DATA_SOURCE,
        "prompt": [{"role": "user", "content": prompt}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": {"target": golds}},
        "extra_info": {"split": record.seed.side, "index": index(record)},
        **provenance(record, [prompt]),
    }


def asked(question: str) -> str:
    """With one question mark at its end."""
    return question.strip().rstrip(" .!?") + "?"


def index(record: Record) -> int:
    """Its trainer groups rollouts for GRPO by this number, so it is another one for every question."""
    return int(record.key[:15], 16)


def score(text: str, golds: Sequence[str]) -> int:
    """What Search-R1 gives `text`, prompt and response together."""
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return int(len(found) > 1 and normalise(found[-1].strip()) in {normalise(gold) for gold in golds})


def normalise(text: str) -> str:
    """SQuAD's, as Search-R1 applies it: ASCII marks go, accents stay. Not the product's own, which folds both."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())
