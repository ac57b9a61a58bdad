"""This data set as a taskset of verifiers (0.4, `verifiers.v1`): `DigsiteTaskset(vf.TasksetConfig()).load()`.

Put this folder on the path of your taskset package, and give the harness a toolset with `search`, `open` and `answer`.

To sort from easy to hard, export with `digsite export RUN --for NAME`, where NAME is the policy, and use
`sorted(tasks, key=lambda task: task.data.order or 0)`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import verifiers.v1 as vf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import reward  # noqa: E402 - the file beside this one


class QuestionData(vf.TaskData):
    golden_answers: list[str]
    band: str | None
    order: float | None


class Question(vf.Task[QuestionData]):
    @vf.reward
    async def exact_match(self, trace: vf.Trace) -> float:
        messages = [json.loads(message.model_dump_json()) for message in trace.messages]
        return reward.score(reward.final_answer(messages), self.data.golden_answers)


class DigsiteTaskset(vf.Taskset[Question]):
    def load(self) -> Iterator[Question]:
        for shard in sorted((HERE.parent / "rl_verifiers").glob("train-*.parquet")):
            for row in pq.read_table(shard).to_pylist():
                info = json.loads(row["info"])
                yield Question(
                    QuestionData(
                        id=info["id"],
                        prompt=row["question"],
                        system_prompt=info["system"],
                        golden_answers=info["golden_answers"],
                        band=info["band"],
                        order=info["order"],
                    )
                )
