"""`rl_verifiers`: questions and answers for verifiers and prime-rl.

Rules: verifiers 0.4 (`verifiers.v1`): a `Taskset` yields tasks with their data and a reward; `code/taskset.py`
is one. The columns are those that environments of the older interface take: `question`, `answer`, and `info` as JSON
text, which holds all else, since other columns reach the rubric as arguments.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.views.base import provenance, shipped_file
from pipeline.dataset.views.rl_trl import scorable
from pipeline.types import Record

HOLDS = "ids"
SCHEMA = pa.schema([("question", pa.string()), ("answer", pa.string()), ("info", pa.string())])
BESIDE = {"reward.py": shipped_file("reward.py"), "taskset.py": shipped_file("taskset.py")}


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    golds = scorable(record)
    if record.draft and golds:
        info = {
            "golden_answers": golds,
            "system": environment.system,
            **provenance(record, [environment.system, record.draft.question]),
        }
        yield {
            "question": record.draft.question,
            "answer": record.draft.answer,
            "info": orjson.dumps(info).decode(),
        }
