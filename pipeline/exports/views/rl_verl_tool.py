"""`rl_verl_tool`: prompts and gold answers for verl's tool-agent loop.

Rules: verl 0.9, `utils/dataset/rl_dataset.py` (columns; prompts longer than `max_prompt_length` are dropped silently)
and `utils/reward_score/search_r1_like_qa_em.py` (exact match over the last answer tags of the response), chosen by
`data_source`. The prompt is that of `examples/data_preprocess/preprocess_search_r1_dataset.py`. The schema of the tool
`search` comes from the trainer's tool configuration, which names the retrieval server. Digsite's rollouts call `answer`
instead of writing tags; a question is taken if one of their answers would score between tags.
"""

import pyarrow as pa

from pipeline.agents.answers import list_items
from pipeline.agents.environment_file import Environment
from pipeline.exports.views import rl_search_r1
from pipeline.exports.views.base import REWARDED, RL, Rows, View, task_prompt
from pipeline.exports.views.rl_trl import find_golds
from pipeline.store.arrow import columns
from pipeline.types import Record

DATA_SOURCE = "searchR1_nq"
# Exact match would silently score every list as wrong. For an unknown name verl raises an error, unless
# `custom_reward_function` is `code/reward.py`.
LIST_SOURCE = "digsite_list"
SYSTEM = "You are a helpful and harmless assistant."
TASK = rl_search_r1.STOCK.format(call="tool_call", result="tool_response")
CREATE = {"ground_truth": rl_search_r1.TARGET, "question": str, "data_source": str}
EXTRA = {
    "index": pa.int64(),
    "split": str,
    "question": str,
    "need_tools_kwargs": bool,
    "tools_kwargs": {"search": {"create_kwargs": CREATE}},
}
SCHEMA = columns(data_source=str, agent_name=str, **rl_search_r1.VERL, extra_info=EXTRA, **RL)


def rows(record: Record, environment: Environment) -> Rows:
    is_list = record.draft is not None and bool(list_items(record.draft))
    tags = ("tool_call", "tool_response")
    if (scorable := _find_list(record) if is_list else rl_search_r1.find_scorable(record, *tags)) is None:
        return
    question, golds = scorable
    source = LIST_SOURCE if is_list else DATA_SOURCE
    prompt = {"system": SYSTEM, "user": task_prompt(TASK, environment) + question}
    create = {"ground_truth": {"target": golds}, "question": question, "data_source": source}
    yield {
        "data_source": source,
        "agent_name": "tool_agent",
        "extra_info": {
            "index": rl_search_r1.group_index(record),
            "split": record.seed.side,
            "question": question,
            "need_tools_kwargs": True,
            "tools_kwargs": {"search": {"create_kwargs": create}},
        },
        **rl_search_r1.verl_row(record, environment, prompt, golds),
    }


def _find_list(record: Record) -> tuple[str, list[str]] | None:
    golds = find_golds(record)
    return (rl_search_r1.end_with_question_mark(record.draft.question), golds) if record.draft and golds else None


VIEW = View(rows, SCHEMA, REWARDED._replace(env_specific=False))
