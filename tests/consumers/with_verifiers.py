"""The taskset that ships with the shards, loaded and scored by verifiers."""

import asyncio
import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq
import verifiers.v1 as vf

VIEW = "rl_verifiers"
FOLDER = Path(sys.argv[1]) / VIEW
SPECIAL = {"list": {"Lund, Dal and Grim": 1.0, "Grim; Lund": 0.8}, "unanswerable": {"Not found.": 1.0, "1399": 0.0}}
spec = importlib.util.spec_from_file_location("taskset", FOLDER.parent / "code" / "taskset.py")
taskset = importlib.util.module_from_spec(spec)
sys.modules["taskset"] = taskset
spec.loader.exec_module(taskset)

tasks = list(taskset.DigsiteTaskset(vf.TasksetConfig()))
assert len(tasks) == sum(pq.read_metadata(path).num_rows for path in FOLDER.glob("train-*.parquet"))
assert len({task.key for task in tasks}) == len(tasks)


class Trace:
    """As much of a trace as scoring looks at."""

    def __init__(self, *messages):
        self.messages, self.rewards, self.metrics = list(messages), {}, {}

    def record_reward(self, name, value, weight=1.0):
        self.rewards[name] = value


def worth(task, answer):
    call = vf.ToolCall(id="call00000", name="answer", arguments=json.dumps({"answer": answer}))
    trace = Trace(vf.UserMessage(content=task.data.prompt), vf.AssistantMessage(content="", tool_calls=[call]))
    asyncio.run(task.score(trace))
    return trace.rewards["exact_match"]


infos = [
    json.loads(text) for path in FOLDER.glob("train-*.parquet") for text in pq.read_table(path)["info"].to_pylist()
]
kinds = {info["id"]: info["answer_type"] for info in infos}
assert set(SPECIAL) < set(kinds.values())
assert sorted(tasks, key=lambda task: task.data.order or 0) == tasks, "no policy was measured"
for task in tasks:
    assert task.data.prompt
    assert task.data.system_prompt
    assert worth(task, task.data.golden_answers[0]) == 1.0
    assert worth(task, "no such thing") == 0.0
    for answer_text, reward in SPECIAL.get(kinds[task.data.id], {}).items():
        assert round(worth(task, answer_text), 6) == reward
check = (
    "taskset.py: every row a task with a key of its own; its reward is 1 for the gold answer and 0 for another, F1 for "
    'a list, and 1 for "not found" without an answer'
)
print("result", json.dumps({"view": VIEW, "version": version("verifiers"), "check": check}))
