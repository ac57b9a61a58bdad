"""`dpo`: the next turns of a right and a wrong rollout of one question after the same beginning; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`). Each completion is
exactly one assistant turn: in a longer one the loss would fall on observations too. A wrong rollout is paired with
the right one that it follows longest, where their calls first differ; other words around the same call make no pair,
nor does an answer without its evidence that is right or that nobody judged.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.exports.views.base import PREFERENCE, PROVENANCE, Rows, ViewOptions, preference, shown
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

SCHEMA = columns(**PREFERENCE, **PROVENANCE)
OPTIONS = ViewOptions(needs="a right and a wrong rollout of one question")


def rows(record: Record, environment: Environment) -> Rows:
    def alike(one: tuple[Message, ...], other: tuple[Message, ...]) -> int:
        return shared(*(shown(chat.spelt(messages), 0, environment, "solver") for messages in (one, other)))

    right = [rollout.trajectory.messages for rollout, _ in demonstrations(record)]
    wrong = [graded.rollout.trajectory.messages for graded in record.graded if graded.wrong]
    seen = set()
    for bad in wrong if right else ():
        good = max(right, key=lambda messages: alike(messages, bad))
        place = alike(good, bad)
        if not differ(*(chat.spelt(messages[place : place + 1]) for messages in (good, bad))):
            continue
        texts = chat.dumped(shown((*good[: place + 1], bad[place]), 2, environment, "solver"))
        if texts and (place, texts[-1]) not in seen:
            seen.add((place, texts[-1]))
            yield preference(record, texts, environment.offered)


def shared(one: tuple[Message, ...], other: tuple[Message, ...]) -> int:
    """How many messages both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def differ(good: tuple[Message, ...], bad: tuple[Message, ...]) -> bool:
    """Do both go on with an assistant's turn, and with unlike calls?"""
    if not good or not bad or {good[0].role, bad[0].role} != {"assistant"}:
        return False
    calls = [[(call.name, call.arguments) for call in message.tool_calls] for message in (good[0], bad[0])]
    return bool(calls[0]) and bool(calls[1]) and calls[0] != calls[1]
