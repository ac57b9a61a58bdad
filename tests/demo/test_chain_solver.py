"""The solver in the real loop over a shelf of passages, and as a pure function of its messages."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import config
from pipeline.agents.solver import attempt, solver
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.demo.chain_solver import solve
from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Request
from pipeline.types import Message, Rollout, Stop, ToolCall
from tests.passages import Shelf, passage

SHELF = Shelf(
    passage("bay", "Lantern Bay", "Lantern Bay is a 1931 Velian drama film directed by Ada Holm and starring Max Orr."),
    passage("holm", "Ada Holm", "Ada Holm (3 May 1890 – 9 June 1961) was a Velian director. She was born in Vessby."),
    passage("vessby", "Vessby", "Vessby is a town in Tarn County, Velia. Vessby was founded by Olaf Brandt in 1641."),
    passage("brandt", "Olaf Brandt", "Olaf Brandt (12 July 1601 – 1 May 1670) was a Velian merchant."),
    passage("mill", "The Mill", "The Mill is a 1950 Velian comedy film directed by Ivo Sand."),
    passage("road", "The Road", "The Road is a 1961 film directed by Ivo Sand. It was written by Jon Pell."),
    passage("orr", "Max Orr", "Max Orr (7 May 1902 – 3 July 1990) was a Velian actor."),
    passage("sand", "Ivo Sand", "Ivo Sand (7 April 1911 – 2 June 1980) was a Velian film director."),
)
CHAINS = [
    ('Who directed the film "Lantern Bay"?', "Ada Holm", 1),
    ('In what year was the director of the film "Lantern Bay" born?', "1890", 2),
    ('Who founded the birthplace of the director of the film "Lantern Bay"?', "Olaf Brandt", 3),
    ('In what year was the founder of the birthplace of the director of the film "Lantern Bay" born?', "1601", 4),
    ('Who wrote the 1961 film directed by the director of the film "The Mill"?', "Jon Pell", 2),
    ("Who wrote the 1961 film directed by Ivo Sand?", "Jon Pell", 1),
    ('Which of Max Orr, Olaf Brandt and the director of the film "The Mill" was born last?', "Ivo Sand", 4),
    (
        'Which of Max Orr, Ada Holm and the director of the film "The Mill" were born after 1900?',
        "Max Orr; Ivo Sand",
        4,
    ),
    ('Max Orr and the director of the film "The Mill" were born how many years apart?', "9 years", 3),
    ('Who directed each of these: the film "The Mill" and the film "Lantern Bay"?', "Ivo Sand; Ada Holm", 2),
    ('Consider the director of the film "Lantern Bay". Where was that director born?', "Vessby", 2),
    ('Which of Max Orr, Jon Pell and the director of the film "The Mill" was born last?', "unknown", 6),
    ('Who composed the film "Lantern Bay"?', "unknown", 2),
    ("Why is the sea salt?", "unknown", 1),
]


async def roll(question: str, *, k: int = 1, sample: int = 0, **limits: int) -> Rollout:
    tree = {"retrieval": {"k": k}, "steps": [1, 1], "solver": {"searches": 12, "turns": 16, **limits}}
    return await attempt(solver(config.build(values=tree), DemoModel(), SHELF), question, sample)


@pytest.mark.parametrize(("question", "answer", "most"), CHAINS)
async def test_follows_the_clues_to_the_answer(question: str, answer: str, most: int) -> None:
    rollout = await roll(question)
    assert rollout.answer == answer
    assert rollout.trajectory.stop is Stop.ANSWERED
    assert rollout.trajectory.steps <= most


async def test_what_was_shown_is_not_searched_for() -> None:
    rollout = await roll("Who founded the birthplace of Ada Holm?", k=len(SHELF.passages))
    assert (rollout.answer, rollout.trajectory.steps) == ("Olaf Brandt", 1)


async def test_it_answers_when_it_must() -> None:
    rollout = await roll(CHAINS[2][0], searches=1)
    assert rollout.answer == "unknown"


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=80))
@settings(max_examples=60, deadline=None)
def test_no_observation_breaks_it_and_one_conversation_has_one_answer(observed: list[str], question: str) -> None:
    messages = [Message(role="user", content=question)]
    for number, text in enumerate(observed):
        call = ToolCall(id=f"c{number}", name="search", arguments=text)
        messages += [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", tool_call_id=call.id, content=text),
        ]
    request = Request(model="embedded", messages=tuple(messages), tools=SOLVER_TOOLS)
    message = solve(request)
    assert message == solve(request)
    assert [call.name for call in message.tool_calls] in (["search"], ["answer"])
    assert orjson.loads(message.tool_calls[0].arguments)


def test_what_a_client_joins_to_the_question_is_no_part_of_it() -> None:
    """Some servers refuse two messages of the user in a row: an empty turn between them is left out of what is sent."""
    question = "Who directed Lantern Bay?"
    joined = f"{question}\n\nYour last message called no tool. Call one of: search, open, answer."
    first, second = (
        Request(model="m", messages=(Message(role="user", content=content),), tools=SOLVER_TOOLS)
        for content in (question, joined)
    )
    assert solve(first) == solve(second)
