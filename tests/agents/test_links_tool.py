"""`links` lists a few passages per phrase, and more of a phrase that is asked for."""

import asyncio

import orjson
import pytest

from pipeline.agents.calls import AgentState, Toolbox, carry_out
from pipeline.agents.tools import LINKED, LINKED_MORE, LINKS, PHRASES, REWRITE_TOOLS
from pipeline.config.loop import AgentLimits
from pipeline.links.related import Related
from pipeline.types import Passage, ToolCall
from tests.passages import Shelf, passage

START = passage("start", "Ada Holm", "Ada Holm made Lantern Bay near the Tarn.")
HELD = {"Ada Holm": 40, "the Tarn": 2}
UNLISTED = {"Grey Quay": 1}
"""Found only if more phrases are looked up than are listed."""


def make_links(from_passage: Passage, each: int, phrases: int) -> list[Related]:
    assert from_passage == START
    held = HELD if phrases <= PHRASES else HELD | UNLISTED
    return [
        Related(
            phrase=phrase,
            documents=count,
            passages=tuple(passage(f"{phrase}{n}", f"Film {n}", f"Of {phrase}.") for n in range(min(count, each))),
            sentences=(f"Of {phrase}.",) * min(count, each),
        )
        for phrase, count in held.items()
    ]


def call_links(*calls: dict[str, str]) -> tuple[list[tuple[str, bool]], AgentState]:
    state = AgentState(passages={START.shown_id: START})
    box = Toolbox(
        tools=(LINKS, *REWRITE_TOOLS),
        limits=AgentLimits(searches=9, turns=9),
        retriever=Shelf(START),
        k=1,
        accept=lambda *_: None,
        links=make_links,
    )
    tool_calls = [
        ToolCall(id=f"c{n}", name="links", arguments=orjson.dumps(fields).decode()) for n, fields in enumerate(calls)
    ]
    return [asyncio.run(carry_out(box, state, call, 0)) for call in tool_calls], state


@pytest.mark.parametrize("phrase", ["Ada Holm", "'ada holm'"])
def test_an_author_may_ask_for_more_passages_of_a_phrase(phrase: str) -> None:
    arguments = {"passage_id": START.shown_id}
    results, state = call_links(
        arguments, arguments | {"phrase": phrase}, arguments | {"phrase": "the Tarn"}, arguments | {"phrase": phrase}
    )
    assert [text.count("\n[p") for text, _ in results] == [LINKED + 2, LINKED_MORE, 2, LINKED_MORE]
    assert "the Tarn" not in results[1][0]
    assert [call.repeat for call in state.calls] == [False, False, False, True]
    assert len(state.passages) == 1 + LINKED_MORE + 2, "every passage that it shows may be cited"


def test_a_phrase_that_links_nothing_is_named_as_a_mistake() -> None:
    ((message, fits),), state = call_links({"passage_id": START.shown_id, "phrase": "Vessby"})
    listed = "it lists: 'Ada Holm', 'the Tarn', 'Grey Quay'."
    assert message == f"Error: 'Vessby' is no phrase that `links` lists of '{START.shown_id}'; {listed}"
    assert (fits, state.calls) == (False, [])


def test_a_phrase_that_is_not_listed_may_be_requested() -> None:
    ((text, _),), _ = call_links({"passage_id": START.shown_id, "phrase": "Grey Quay"})
    assert text.startswith("'Grey Quay', in 1 documents:")
