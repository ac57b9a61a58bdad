"""From a model's proposal to a draft: a quote that differs in blanks alone is the passage's own slice."""

import orjson
import pytest

from pipeline.agents.calls import AgentState
from pipeline.agents.tools import render
from pipeline.loop.strategies.base import to_draft
from tests.shelf import passage

TEXT = "Vessby lies on\nthe Tarn.  It was founded\tby monks (around 1641)."
TOWN = passage("town", "Vessby", TEXT)
DESK = AgentState(passages={TOWN.shown_id: TOWN})


def quoted(quote: str) -> str:
    hop = {"sub_question": "When?", "answer": "1641", "passage_id": TOWN.shown_id, "quote": quote}
    proposal = {"question": "When was it?", "answer": "1641", "answer_type": "date", "hops": [hop]}
    draft = to_draft(orjson.dumps(proposal).decode(), DESK)
    assert draft
    return draft.hops[0].quote


def test_what_the_agent_was_shown_can_be_quoted() -> None:
    shown = render([TOWN]).partition("\n")[2]
    assert shown not in TEXT
    assert quoted(shown) == TEXT
    assert quoted("It was founded by monks (around 1641).") == "It was founded\tby monks (around 1641)."


@pytest.mark.parametrize("quote", ["founded by nuns", "lies on\nthe Tarn.", "", "monks [around", "  "])
def test_any_other_quote_stays_as_it_came(quote: str) -> None:
    assert quoted(quote) == quote
