"""`links` lists a few passages of each phrase, and more of one that is asked for."""

import asyncio

import orjson
import pytest

from pipeline.agents.calls import AgentState, Toolbox, carry_out
from pipeline.agents.tools import LINKED, LINKED_MORE, LINKS, REWRITE_TOOLS
from pipeline.config.loop import AgentLimits
from pipeline.links.related import Related
from pipeline.types import Passage, ToolCall
from tests.shelf import Shelf, passage

START = passage("start", "Ada Holm", "Ada Holm made Lantern Bay near the Tarn.")
HELD = {"Ada Holm": 40, "the Tarn": 2}


def links(from_passage: Passage, each: int) -> list[Related]:
    assert from_passage == START
    return [
        Related(
            phrase=phrase,
            documents=many,
            passages=tuple(passage(f"{phrase}{n}", f"Film {n}", f"Of {phrase}.") for n in range(min(many, each))),
            sentences=(f"Of {phrase}.",) * min(many, each),
        )
        for phrase, many in HELD.items()
    ]


def looked(*calls: dict[str, str]) -> tuple[list[tuple[str, bool]], AgentState]:
    state = AgentState(passages={START.shown_id: START})
    box = Toolbox(
        tools=(LINKS, *REWRITE_TOOLS),
        limits=AgentLimits(searches=9, turns=9),
        retriever=Shelf(START),
        k=1,
        accept=lambda *_: None,
        links=links,
    )
    made = [ToolCall(id=f"c{n}", name="links", arguments=orjson.dumps(one).decode()) for n, one in enumerate(calls)]
    return [asyncio.run(carry_out(box, state, one, 0)) for one in made], state


@pytest.mark.parametrize("phrase", ["Ada Holm", "'ada holm'"])
def test_an_author_may_ask_for_more_of_what_holds_a_phrase(phrase: str) -> None:
    asked = {"passage_id": START.shown_id}
    said, state = looked(asked, asked | {"phrase": phrase}, asked | {"phrase": "the Tarn"}, asked | {"phrase": phrase})
    assert [text.count("\n[p") for text, _ in said] == [LINKED + 2, LINKED_MORE, 2, LINKED_MORE]
    assert "the Tarn" not in said[1][0]
    assert [call.repeat for call in state.calls] == [False, False, False, True]
    assert len(state.passages) == 1 + LINKED_MORE + 2, "all that it shows may be cited"


def test_a_phrase_that_links_nothing_is_named_as_a_mistake() -> None:
    ((said, fits),), state = looked({"passage_id": START.shown_id, "phrase": "Vessby"})
    listed = "it lists: 'Ada Holm', 'the Tarn'."
    assert said == f"Error: 'Vessby' is no phrase that `links` lists of '{START.shown_id}'; {listed}"
    assert (fits, state.calls) == (False, [])
