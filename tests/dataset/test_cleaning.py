"""A trajectory that is imitated repeats nothing and has the form that a trained model is to speak."""

import pytest

from pipeline.dataset.cleaning import fit, malformed, weight
from pipeline.types import Message
from tests.records import draft, rollout, world

W = world(0)
D = draft(W)
GOOD = rollout(W, D, 0).trajectory


START, END = GOOD.messages[:2], GOOD.messages[-1]
ASK, SEEN = GOOD.messages[2:4]


def test_one_that_repeats_a_call_is_not_imitated() -> None:
    assert fit(GOOD)
    assert not malformed(GOOD.messages)
    assert not fit(rollout(W, D, 0, "repeats").trajectory)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ((*START[1:], END), "does not begin"),
        ((*START, ASK, END), "no observation"),
        ((*START, SEEN, END), "answers no call"),
        ((*START, ASK, SEEN), "does not end"),
        ((*START, Message(role="assistant", content="Let me think."), END), "makes no call"),
        ((*START, START[1], END), "a user speaks"),
        ((*START, END, Message(role="tool", tool_call_id="call-last"), ASK, SEEN, END), "before its end|does not end"),
        (START, "does not end"),
    ],
)
def test_what_has_another_form_says_why(messages: tuple[Message, ...], told: str) -> None:
    assert any(words in malformed(messages) for words in told.split("|"))


@pytest.mark.parametrize(("turns", "often"), [(1, 1), (50, 1), (51, 2), (100, 2), (101, 5)])
def test_long_trajectories_are_shown_more_often(turns: int, often: int) -> None:
    assert weight(turns) == often
