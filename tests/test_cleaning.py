"""Repeated turns go with their observations; what is left has the form that a trained model is to speak."""

import pytest

from pipeline.cleaning import clean, weight
from pipeline.types import Message, ToolCall, Trajectory
from tests.records import draft, rollout, world

W = world(0)
D = draft(W)
GOOD = rollout(W, D, 0).trajectory


def of(*messages: Message) -> Trajectory:
    return GOOD.model_copy(update={"messages": messages})


def test_a_good_trajectory_stays_as_it_is() -> None:
    assert clean(GOOD) == (GOOD.messages, "", False)


def test_a_repeated_turn_goes_with_its_observation() -> None:
    repeats = rollout(W, D, 0, "repeats").trajectory
    cleaned = clean(repeats)
    assert (cleaned.why, cleaned.edited) == ("", True)
    assert len(cleaned.messages) == len(repeats.messages) - 2 == len(GOOD.messages)
    assert [m.content for m in cleaned.messages] == [m.content for m in GOOD.messages]


def test_a_turn_with_something_new_stays_whole() -> None:
    old = GOOD.messages[2].tool_calls[0]
    reordered = old.model_copy(update={"id": "again", "arguments": old.arguments.replace(":", " : ")})
    new = ToolCall(id="new", name="open", arguments='{"passage_id": "p1"}')
    seen = [Message(role="tool", content="x", tool_call_id=call.id, name=call.name) for call in (reordered, new)]
    both = Message(role="assistant", tool_calls=(reordered, new))
    cleaned = clean(of(*GOOD.messages[:-1], both, *seen, GOOD.messages[-1]))
    assert (cleaned.why, cleaned.edited) == ("", False)
    alone = Message(role="assistant", tool_calls=(reordered,))
    assert clean(of(*GOOD.messages[:-1], alone, seen[0], GOOD.messages[-1])) == (GOOD.messages, "", True)


START, END = GOOD.messages[:2], GOOD.messages[-1]
ASK, SEEN = GOOD.messages[2:4]


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
    assert any(words in clean(of(*messages)).why for words in told.split("|"))


@pytest.mark.parametrize(("turns", "often"), [(1, 1), (50, 1), (51, 2), (100, 2), (101, 5)])
def test_long_trajectories_are_shown_more_often(turns: int, often: int) -> None:
    assert weight(turns) == often
