"""Filters for trajectories that are worth imitating.

A trajectory must have the form of DR-Venus (arXiv 2604.19859, `SFT/data_clean/prepare_trajectories.py`): a system
prompt and a question, then calls and their observations in turn, and one call of `answer` at the end.
"""

from collections.abc import Iterator, Sequence

from pipeline.types import GradedRollout, Message, Record, Stop, Trajectory


def correct_rollouts(record: Record) -> list[GradedRollout]:
    correct = [graded for graded in record.graded if graded.verdict.right and graded.verdict.supported]
    return sorted(correct, key=lambda graded: (graded.verdict.steps, graded.verdict.calls, graded.verdict.sample))


def demonstrations(record: Record) -> Iterator[GradedRollout]:
    """Yield the correct rollouts whose form is worth imitating, shortest first.

    They are checked one by one, since most views need only the first.
    """
    return (graded for graded in correct_rollouts(record) if is_trainable(graded.rollout.trajectory))


def is_trainable(trajectory: Trajectory) -> bool:
    """Check that it ended with one call of `answer`, and has no repeated call and no format error."""
    if trajectory.stop is not Stop.ANSWERED or trajectory.format_errors:
        return False
    return not any(call.repeat for call in trajectory.calls) and is_well_formed(trajectory.messages)


def weight(turns: int) -> int:
    """Return how often to show a trajectory of so many turns, as DR-Venus resamples them: long ones are rare.

    Repeat rows within a split only; copies in both splits would leak.
    """
    return 1 if turns <= 50 else 2 if turns <= 100 else 5


def is_well_formed(messages: Sequence[Message]) -> bool:
    if [message.role for message in messages[:2]] != ["system", "user"]:
        return False
    waiting: list[str] = []
    tools: list[str] = []
    for message in messages[2:]:
        if message.role == "tool" and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif message.role == "assistant" and message.tool_calls and not waiting:
            waiting = [call.id for call in message.tool_calls]
            tools += [call.name for call in message.tool_calls]
        else:
            return False
    return [call.name for call in messages[-1].tool_calls] == ["answer"] and tools.count("answer") == 1
