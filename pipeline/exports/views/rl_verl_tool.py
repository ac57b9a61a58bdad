"""`rl_verl_tool`: prompts and gold answers for verl's tool-agent loop.

Rules: verl 0.9, `utils/dataset/rl_dataset.py` (columns; prompts longer than `max_prompt_length` are dropped silently),
`experimental/agent_loop/tool_agent_loop.py` (tools; it has the parser `hermes`) and `reward_score/__init__.py`
(`data_source` chooses the scorer; an unknown one raises an error). The prompt is the first turn of `sft`. The tools
come from the trainer's tool configuration, which `recipes/verl/write_tools.py` makes from `environment.json`. The model
answers by the tool `answer`, which none of verl's scorers reads: set `custom_reward_function` to `code/reward.py`.
"""

import pyarrow as pa

from pipeline.agents.environment_file import Environment
from pipeline.exports.views import rl_search_r1
from pipeline.exports.views.base import REWARDED, RL, Rows, View, rl_first_turn
from pipeline.exports.views.rl_trl import find_golds
from pipeline.store.arrow import columns
from pipeline.types import Record

DATA_SOURCE = "digsite"
EXTRA = {"index": pa.int64(), "split": str, "question": str}
SCHEMA = columns(data_source=str, agent_name=str, **rl_search_r1.VERL, extra_info=EXTRA, **RL)


def rows(record: Record, environment: Environment) -> Rows:
    golds = find_golds(record)
    if record.draft and golds:
        index = rl_search_r1.group_index(record)
        yield {
            "data_source": DATA_SOURCE,
            "agent_name": "tool_agent",
            "extra_info": {"index": index, "split": record.seed.side, "question": record.draft.question},
            **rl_search_r1.verl_columns(golds),
            **rl_first_turn(record.draft, record, environment),
        }


VIEW = View(rows, SCHEMA, REWARDED)
