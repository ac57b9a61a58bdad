"""What a rollout read counts as support of its answer in each spelling of the answer and of what it is about."""

import pytest

from pipeline.agents.grading import build_verdict
from pipeline.agents.judge import Grade
from pipeline.agents.tools import render
from pipeline.types import Call, Draft, Message, Rollout, Stop, ToolCall, Trajectory
from tests.graphs import changed
from tests.loop.checks.test_readings import DRAFT
from tests.shelf import passage

LAST = DRAFT.hops[-1]
DAY = changed(DRAFT, answer="3 February 1641", answer_aliases=("February 3, 1641",))


def read(text: str) -> Rollout:
    """One search, which brought a passage that no hop cites."""
    found, asked = passage("z", "Z", text), ToolCall(id="call00000", name="search", arguments="{}")
    messages = (
        Message(role="assistant", tool_calls=(asked,)),
        Message(role="tool", content=render([found]), tool_call_id=asked.id),
    )
    call = Call(id=asked.id, tool="search", argument="?", passage_ids=(found.id,))
    return Rollout(sample=0, trajectory=Trajectory(messages=messages, calls=(call,), stop=Stop.ANSWERED), answer="?")


def spelled(draft: Draft, number: int, **fields: object) -> Draft:
    hops = [hop.model_copy(update=fields) if n == number else hop for n, hop in enumerate(draft.hops)]
    return changed(draft, hops=tuple(hops))


WHERE = spelled(DRAFT, 1, answer_aliases=("Vesby",))
SHORT = spelled(DRAFT, 1, answer_aliases=("US",))


@pytest.mark.parametrize(
    ("draft", "text", "supported"),
    [
        (spelled(DAY, 2, answer=DAY.answer), "Vessby was settled on 3 February 1641.", True),
        (spelled(DAY, 2, answer=DAY.answer), "Vessby was settled on February 3, 1641.", True),
        (spelled(DAY, 2, answer="in 1641"), "Vessby was settled on February 3, 1641.", True),
        (spelled(DAY, 2, answer=DAY.answer), "Vessby was settled on February 4, 1641.", False),
        (WHERE, "Vesby was settled in 1641.", True),
        (WHERE, "Westby was settled in 1641.", False),
        (SHORT, "The US was settled in 1641.", True),
        (SHORT, "He told us that it was settled in 1641.", False),
        (SHORT, "Tom US was settled in 1641.", False),
    ],
)
def test_the_support_may_stand_in_any_spelling(draft: Draft, text: str, *, supported: bool) -> None:
    found = build_verdict(draft, read(text), Grade(right=True, method="exact"))
    assert (found.supported, found.found_at[-1] == 1) == (supported, supported)
