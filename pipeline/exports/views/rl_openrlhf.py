"""`rl_openrlhf`: prompts and labels for OpenRLHF.

Rules: OpenRLHF 0.11, `datasets/prompts_dataset.py` (`--data.input_key prompt --data.label_key label
--data.apply_chat_template`; `datasource` names the metric) and `utils/agent.py` (`--reward.remote_url reward.py`
calls `reward_func`). OpenRLHF passes no tools to a chat template, for SFT or for RL: the prompt has the environment's
tools in words, as `sft_openrlhf` has. `recipes/openrlhf/agent.py` carries out the calls (`--train.agent_func_path`).
"""

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, View, rl_first_turn
from pipeline.exports.views.rl_trl import find_golds
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(prompt=PROMPT, label=str, datasource=str, **RL)


def rows(record: Record, environment: Environment) -> Rows:
    golds = find_golds(record)
    # OpenRLHF would take the tag for a picture.
    if record.draft and golds and "<image>" not in record.draft.question:
        row = rl_first_turn(record.draft, record, environment.in_words)
        yield {"label": orjson.dumps(golds).decode(), "datasource": record.lineage.corpus, **row}


VIEW = View(rows, SCHEMA, REWARDED)
