"""`dpo`: the next turns of a right and a wrong rollout of one question after the same beginning; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`). Each completion is exactly
one assistant turn: in a longer one the loss would include observations. A wrong rollout is paired with the right one
that shares its longest beginning, at the first turn whose calls differ; a different wording of the same calls makes no
pair. An answer without its evidence makes no pair if it is right or if nobody judged it.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.exports.views import base
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

SCHEMA = columns(**base.PREFERENCE, **base.PROVENANCE)


def rows(record: Record, environment: Environment) -> base.Rows:
    def shared_prefix(good: tuple[Message, ...], bad: tuple[Message, ...]) -> int:
        normalised = map(chat.normalise_calls, (good, bad))
        return count_shared(*(base.select_thoughts(messages, 0, environment, "solver") for messages in normalised))

    right = [rollout.trajectory.messages for rollout, _ in demonstrations(record)]
    wrong = [graded.rollout.trajectory.messages for graded in record.graded if graded.wrong]
    seen_texts = set()
    for bad in wrong if right else ():
        good = max(right, key=lambda messages: shared_prefix(messages, bad))
        prefix = shared_prefix(good, bad)
        if not calls_differ(*(chat.normalise_calls(messages[prefix : prefix + 1]) for messages in (good, bad))):
            continue
        texts = chat.dump_messages(base.render_for_model((*good[: prefix + 1], bad[prefix]), 2, environment, "solver"))
        if texts and (prefix, texts[-1]) not in seen_texts:
            seen_texts.add((prefix, texts[-1]))
            yield base.preference_columns(record, texts, environment.offered)


def count_shared(good: tuple[Message, ...], bad: tuple[Message, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b), min(len(good), len(bad)))


def calls_differ(good: tuple[Message, ...], bad: tuple[Message, ...]) -> bool:
    if not good or not bad or {good[0].role, bad[0].role} != {"assistant"}:
        return False
    calls = [[(call.name, call.arguments) for call in message.tool_calls] for message in (good[0], bad[0])]
    return bool(calls[0]) and bool(calls[1]) and calls[0] != calls[1]


VIEW = base.View(rows, SCHEMA, base.ViewOptions(needs="a right and a wrong rollout of one question"))
