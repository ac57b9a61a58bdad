"""`sft`: one solved trajectory per question, as OpenAI messages with tool calls; for TRL's SFTTrainer and verl.

Rules: TRL 1.16 "Dataset formats" (`messages` and `tools`; it takes the columns as `datasets` gives them) and verl's
MultiTurnSFTDataset, which reads through pandas and needs the class in `verl_sft.py` beside the shards.
The rollout is the shortest correct one whose answer was supported, ended on its own, repeated no call and broke no
format. It ends on the call of `answer`.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline import chat
from pipeline.agents.environment import Environment
from pipeline.process import process
from pipeline.types import Record
from pipeline.views.base import PROVENANCE, correct, fit, provenance, shipped_file

SCHEMA = pa.schema(
    [
        ("messages", chat.MESSAGES),
        ("tools", chat.JSON),
        ("steps", pa.int32()),
        ("hit_step", pa.int32()),
        ("useful_steps", pa.int32()),
        ("hit_rate", pa.float64()),
        ("efficiency", pa.float64()),
        *PROVENANCE,
    ]
)
BESIDE = {"verl_sft.py": shipped_file("verl_sft.py")}


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    for rollout, verdict in correct(record):
        messages = chat.dumped(rollout.trajectory.messages)
        if record.draft and fit(rollout.trajectory) and messages:
            went = process(record.draft, rollout, verdict)
            tools = chat.tools(environment.tools)
            yield {
                "messages": messages,
                "tools": tools,
                "steps": verdict.steps,
                "hit_step": went.hit_step,
                "useful_steps": went.useful_steps,
                "hit_rate": went.hit_rate,
                "efficiency": went.efficiency,
                **provenance(record, [*messages, tools]),
            }
            return
