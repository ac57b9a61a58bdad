"""`rl_verl_tool`: prompts and gold answers for verl's tool-agent loop.

Rules: verl 0.9, `utils/dataset/rl_dataset.py` (columns; longer prompts than `max_prompt_length` are dropped without a
word) and `utils/reward_score/search_r1_like_qa_em.py` (exact match over the last answer tags of the response), picked
by `data_source`; the prompt is that of `examples/data_preprocess/preprocess_search_r1_dataset.py`. The schema of the
tool `search` comes from the trainer's tool configuration, which points to the retrieval server. Responses are not
these rollouts': the answer between tags is what they would have said there.
"""

import pyarrow as pa

from pipeline.agents.answers import list_items
from pipeline.agents.environment_file import Environment
from pipeline.exports.views import rl_trl
from pipeline.exports.views.base import REWARDED, RL, Rows, rewarded, task
from pipeline.exports.views.rl_search_r1 import STOCK, TARGET, VERL, asked, index, scorable, verl
from pipeline.store.arrow import columns
from pipeline.types import Record

DATA_SOURCE = "searchR1_nq"
# Exact match would score every list as wrong, without a word: verl raises for a name that it does not know, unless
# `custom_reward_function` is `code/reward.py`.
LIST_SOURCE = "digsite_list"
SYSTEM = "You are a helpful and harmless assistant."
TASK = STOCK.format(call="tool_call", result="tool_response")
CREATE = {"ground_truth": TARGET, "question": str, "data_source": str}
EXTRA = {
    "index": pa.int64(),
    "split": str,
    "question": str,
    "need_tools_kwargs": bool,
    "tools_kwargs": {"search": {"create_kwargs": CREATE}},
}
SCHEMA = columns(data_source=str, agent_name=str, **VERL, extra_info=EXTRA, **RL)
OPTIONS = REWARDED._replace(env_specific=False)


def rows(record: Record, environment: Environment) -> Rows:
    listed = record.draft is not None and bool(list_items(record.draft))
    if (found := _list(record) if listed else scorable(record, "tool_call", "tool_response")) is None:
        return
    question, golds = found
    source = LIST_SOURCE if listed else DATA_SOURCE
    content = task(TASK, environment) + question
    create = {"ground_truth": {"target": golds}, "question": question, "data_source": source}
    yield {
        "data_source": source,
        "agent_name": "tool_agent",
        **verl({"system": SYSTEM, "user": content}, golds),
        "extra_info": {
            "index": index(record),
            "split": record.seed.side,
            "question": question,
            "need_tools_kwargs": True,
            "tools_kwargs": {"search": {"create_kwargs": create}},
        },
        **rewarded(record, environment, [SYSTEM, content]),
    }


def _list(record: Record) -> tuple[str, list[str]] | None:
    golds = rl_trl.scorable(record)
    return (asked(record.draft.question), golds) if record.draft and golds else None
