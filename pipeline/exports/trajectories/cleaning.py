"""Which trajectories are fit to imitate, by the form that DR-Venus asks of them (arXiv 2604.19859,
`SFT/data_clean/prepare_trajectories.py`): a system prompt and a question, then calls and their observations in turn,
and at the end the one call of `answer`.
"""

from collections.abc import Iterator, Sequence

from pipeline.types import GradedRollout, Message, Record, Stop, Trajectory


def correct(record: Record) -> list[GradedRollout]:
    """The correct rollouts of the final question, shortest first."""
    found = [graded for graded in record.graded if graded.verdict.right and graded.verdict.supported]
    return sorted(found, key=lambda graded: (graded.verdict.steps, graded.verdict.calls, graded.verdict.sample))


def demonstrations(record: Record) -> Iterator[GradedRollout]:
    """The correct rollouts whose form is worth imitating, shortest first; checked one by one, since most views want
    the first alone."""
    return (graded for graded in correct(record) if is_trainable(graded.rollout.trajectory))


def is_trainable(trajectory: Trajectory) -> bool:
    """Is it worth imitating: ended on its own with one call of `answer`, without a repeat or a format error?"""
    if trajectory.stop is not Stop.ANSWERED or trajectory.format_errors:
        return False
    return not any(call.repeat for call in trajectory.calls) and well_formed(trajectory.messages)


def weight(turns: int) -> int:
    """How often a trajectory of so many turns is to be shown: up to 50 once, up to 100 twice, longer ones five times,
    as DR-Venus resamples them, since long ones are rare. Weigh within a split; copies across splits would leak."""
    return 1 if turns <= 50 else 2 if turns <= 100 else 5


def well_formed(messages: Sequence[Message]) -> bool:
    """Do they have the form that a trained model is to speak?"""
    if [message.role for message in messages[:2]] != ["system", "user"]:
        return False
    waiting: list[str] = []
    called: list[str] = []
    for message in messages[2:]:
        if message.role == "tool" and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif message.role == "assistant" and message.tool_calls and not waiting:
            waiting = [call.id for call in message.tool_calls]
            called += [call.name for call in message.tool_calls]
        else:
            return False
    return [call.name for call in messages[-1].tool_calls] == ["answer"] and called.count("answer") == 1
