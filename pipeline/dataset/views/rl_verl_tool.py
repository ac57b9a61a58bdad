"""`rl_verl_tool`: prompts and gold answers for verl's tool-agent loop.

Rules: verl 0.9, `utils/dataset/rl_dataset.py` (columns; longer prompts than `max_prompt_length` are dropped without a
word) and `utils/reward_score/search_r1_like_qa_em.py` (exact match over the last answer tags of the response), picked
by `data_source`; the prompt is that of `examples/data_preprocess/preprocess_search_r1_dataset.py`. The schema of the
tool `search` comes from the trainer's tool configuration, which points to the retrieval server. Responses are not
these rollouts': the answer between tags is what they would have said there.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.spellings import spellings
from pipeline.dataset.views.base import PROVENANCE, correct, provenance, shipped_file
from pipeline.dataset.views.rl_search_r1 import asked, index, normalise
from pipeline.types import Record

DATA_SOURCE = "searchR1_nq"
SYSTEM = "You are a helpful and harmless assistant."
PROMPT = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new "
    "information. After reasoning, if you find you lack some knowledge, you can call a search engine by <tool_call> "
    "query </tool_call> and it will return the top searched results between <tool_response> and </tool_response>. "
    "You can search as many times as your want. If you find no further external knowledge needed, you can directly "
    "provide the answer inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing "
    "</answer>. Question: "
)
_TAG = re.compile(r"</?(?:think|tool_call|tool_response|answer)>")
TARGET = pa.struct([("target", pa.list_(pa.string()))])
CREATE = pa.struct([("ground_truth", TARGET), ("question", pa.string()), ("data_source", pa.string())])
HOLDS = "ids"
SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("agent_name", pa.string()),
        ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", TARGET)])),
        (
            "extra_info",
            pa.struct(
                [
                    ("index", pa.int64()),
                    ("split", pa.string()),
                    ("question", pa.string()),
                    ("need_tools_kwargs", pa.bool_()),
                    ("tools_kwargs", pa.struct([("search", pa.struct([("create_kwargs", CREATE)]))])),
                ]
            ),
        ),
        *PROVENANCE,
    ]
)
BESIDE = {"reward.py": shipped_file("reward.py")}


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    if record.draft is None:
        return
    question = asked(record.draft.question)
    golds = [gold for gold in spellings(record.draft) if normalise(gold)]
    if any(_TAG.search(text) for text in (question, *golds)):
        return
    if not any(score(f"<answer> {rollout.answer} </answer>", golds) for rollout, _ in correct(record)):
        return
    truth, create = {"target": golds}, {"question": question, "data_source": DATA_SOURCE}
    yield {
        "data_source": DATA_SOURCE,
        "agent_name": "tool_agent",
        "prompt": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT + question}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {
            "index": index(record),
            "split": record.seed.side,
            "question": question,
            "need_tools_kwargs": True,
            "tools_kwargs": {"search": {"create_kwargs": {"ground_truth": truth, **create}}},
        },
        **provenance(record, [SYSTEM, PROMPT, question]),
    }


def score(response: str, golds: list[str]) -> int:
    """What verl gives the response, without the prompt and below eleven tags."""
    found = re.findall(r"<answer>(.*?)</answer>", response, re.DOTALL)
    return int(bool(found) and normalise(found[-1].strip()) in {normalise(gold) for gold in golds})
