"""`rl_verifiers`: questions and answers for verifiers and prime-rl.

Rules: verifiers 0.4 (`verifiers.v1`): a `Taskset` yields tasks with their data and a reward; `code/taskset.py` is one.
The columns are those of environments of the older interface: `question`, `answer`, and `info`, which holds everything
else as JSON text, since the rubric gets each further column as an argument.
"""

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import REWARDED, Rows, View, rl_columns
from pipeline.exports.views.rl_trl import find_golds
from pipeline.reward import standalone
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(question=str, answer=str, info=str)


def rows(record: Record, environment: Environment) -> Rows:
    golds = find_golds(record)
    if record.draft and golds:
        system, question = environment.first_turn(record.draft.question).values()
        texts = [system, question, environment.offered]
        tools = orjson.Fragment(environment.offered)
        columns_of_rl = rl_columns(record, environment, texts)
        info = {"golden_answers": golds, "system": system, "tools": tools, **columns_of_rl}
        yield {"question": question, "answer": record.draft.answer, "info": orjson.dumps(info).decode()}


VIEW = View(
    rows, SCHEMA, REWARDED._replace(extra_files={**REWARDED.extra_files, "taskset.py": standalone("taskset.py")})
)
