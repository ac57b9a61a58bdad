"""A trajectory for imitation repeats nothing and has the form that a trained model is to use."""

import pytest

from pipeline.exports.trajectories.cleaning import is_trainable, is_well_formed, weight
from pipeline.types import Message
from tests.records import draft, rollout, world

W = world(0)
D = draft(W)
GOOD = rollout(W, D, 0).trajectory


START, END = GOOD.messages[:2], GOOD.messages[-1]
ASK, SEEN = GOOD.messages[2:4]
ANSWER_RESULT = Message(role="tool", tool_call_id=END.tool_calls[0].id)


def test_a_trajectory_that_repeats_a_call_is_not_imitated() -> None:
    assert is_trainable(GOOD)
    assert is_well_formed(GOOD.messages)
    assert not is_trainable(rollout(W, D, 0, "repeats").trajectory)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param((*START[1:], END), id="no system prompt"),
        pytest.param((*START, ASK, END), id="a call without an observation"),
        pytest.param((*START, SEEN, END), id="an observation without a call"),
        pytest.param((*START, ASK, SEEN), id="no answer at the end"),
        pytest.param((*START, Message(role="assistant", content="Let me think."), END), id="a turn without a call"),
        pytest.param((*START, START[1], END), id="a user in between"),
        pytest.param((*START, END, ANSWER_RESULT, ASK, SEEN, END), id="an answer before the end"),
        pytest.param(START, id="nothing but the question"),
    ],
)
def test_a_trajectory_of_another_form_is_not_imitated(messages: tuple[Message, ...]) -> None:
    assert not is_well_formed(messages)


@pytest.mark.parametrize(("turns", "often"), [(1, 1), (50, 1), (51, 2), (100, 2), (101, 5)])
def test_long_trajectories_are_shown_more_often(turns: int, often: int) -> None:
    assert weight(turns) == often
