"""`rl_openrlhf`: prompts and labels for OpenRLHF.

Rules: OpenRLHF 0.11, `datasets/prompts_dataset.py` (`--data.input_key prompt --data.label_key label
--data.apply_chat_template`; `datasource` names the metric) and `utils/agent.py` (`--reward.remote_url reward.py`
calls `reward_func`). Its prompts have no tool schemas, so the prompt explains how to search in tags; pass an agent that
does so with `--train.agent_func_path`. The prompt has no pair of answer tags, which the reward would take for an
answer.
"""

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, View, rl_row, task_prompt
from pipeline.exports.views.rl_trl import find_golds
from pipeline.store.arrow import columns
from pipeline.types import Record

TASK = (
    "Answer the question with the help of a search engine. Think first. To search, write one query between the tags "
    "<search> and </search>; what is found is shown between <information> tags. Search as often as you need. When you "
    "know the answer, end with it between <answer> tags: a short span, without a sentence around it. Question: "
)
SCHEMA = columns(prompt=PROMPT, label=str, datasource=str, **RL)


def rows(record: Record, environment: Environment) -> Rows:
    golds = find_golds(record)
    # A tag in the question would be parsed as part of the response.
    if record.draft and golds and "<answer>" not in record.draft.question and "<image>" not in record.draft.question:
        prompt = {"user": task_prompt(TASK, environment) + record.draft.question}
        label = orjson.dumps(golds).decode()
        yield {"label": label, "datasource": record.lineage.corpus, **rl_row(record, environment, prompt)}


VIEW = View(rows, SCHEMA, REWARDED._replace(env_specific=False))
