"""`sft`: solved trajectories as OpenAI messages with tool calls; for TRL's SFTTrainer and verl.

Rules: TRL 1.16 "Dataset formats" (`messages` and `tools`; it takes the columns as `datasets` gives them) and verl's
MultiTurnSFTDataset, which reads through pandas and needs the class in `code/verl_sft.py`.
The solver's is the shortest correct one whose answer was supported, ended on its own, repeated no call and broke no
format. It ends on the call of `answer`. The teacher's (`agent`) are those that the run keeps, from among distractors,
each once; their system prompt is the environment's, as their pupil will have it. `loss` says of each message whether to
learn it: the assistant's, no prompt and no observation. `weight` is DR-Venus's turn-aware resampling: how often to show
the row.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset import chat
from pipeline.dataset.cleaning import fit, weight
from pipeline.dataset.process import efficiency, hit_rate, useful_steps
from pipeline.dataset.views.base import PROVENANCE, correct, provenance, shipped_file, under
from pipeline.types import Record, Rollout, TeacherRollout, Verdict

SCHEMA = pa.schema(
    [
        ("messages", chat.MESSAGES),
        ("tools", chat.JSON),
        ("loss", pa.list_(pa.bool_())),
        ("agent", pa.string()),
        ("resisted", pa.bool_()),
        ("weight", pa.int32()),
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
    shown = []
    for rollout, verdict in correct(record):
        if row := _row(record, environment, rollout, verdict):
            shown.append(row["messages"])
            yield row
            break
    for lesson in record.lessons:
        row = _row(record, environment, lesson.rollout, lesson.verdict, lesson) if lesson.kept else None
        # What a cold teacher does over and over is one trajectory: as several rows it would weigh as much as several.
        if row and row["messages"] not in shown:
            shown.append(row["messages"])
            yield row


def _row(
    record: Record, environment: Environment, rollout: Rollout, verdict: Verdict, lesson: TeacherRollout | None = None
) -> dict[str, Any] | None:
    if not fit(rollout.trajectory):
        return None
    messages = rollout.trajectory.messages
    texts = under(environment, messages)
    if not texts:
        return None
    learnt = [message.role == "assistant" for message in messages]
    return {
        "messages": texts,
        "tools": environment.offered,
        "loss": learnt,
        "agent": "teacher" if lesson else "solver",
        "resisted": lesson.resisted if lesson and lesson.encounters else None,
        "weight": weight(sum(learnt)),
        "steps": verdict.steps,
        "hit_step": verdict.hit_step,
        "useful_steps": useful_steps(rollout),
        "hit_rate": hit_rate(verdict.found_at),
        "efficiency": efficiency(verdict),
        **provenance(record, [*texts, environment.offered]),
    }
