"""`rl_openrlhf`: prompts and labels for OpenRLHF.

Rules: OpenRLHF 0.11, `datasets/prompts_dataset.py` (`--data.input_key prompt --data.label_key label
--data.apply_chat_template`; `datasource` names the metric) and `utils/agent.py` (`--reward.remote_url reward.py`
calls `reward_func`). Its prompts have no tool schemas, so the prompt says how to search in tags; the agent that does
is given with `--train.agent_func_path`. It holds no pair of answer tags, which the reward would take for an answer.
"""

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import PROMPT, REWARDED, RL, Rows, rewarded, task
from pipeline.exports.views.rl_trl import scorable
from pipeline.store.arrow import columns
from pipeline.types import Record

TASK = (
    "Answer the question with the help of a search engine. Think first. To search, write one query between the tags "
    "<search> and </search>; what is found is shown between <information> tags. Search as often as you need. When you "
    "know the answer, end with it between <answer> tags: a short span, without a sentence around it. Question: "
)
SCHEMA = columns(prompt=PROMPT, label=str, datasource=str, **RL)
OPTIONS = REWARDED._replace(env_specific=False)


def rows(record: Record, environment: Environment) -> Rows:
    golds = scorable(record)
    # A tag of the question's own would be read as part of the response.
    if record.draft and golds and "<answer>" not in record.draft.question and "<image>" not in record.draft.question:
        prompt = task(TASK, environment) + record.draft.question
        yield {
            "prompt": [{"role": "user", "content": prompt}],
            "label": orjson.dumps(golds).decode(),
            "datasource": record.lineage.corpus,
            **rewarded(record, environment, [prompt]),
        }
