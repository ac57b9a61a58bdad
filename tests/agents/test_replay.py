"""Any state of a stored rollout can be gone back to, and the same sample gets from there to the same end."""

import asyncio

import orjson
import pytest

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.replay import branch, state_at
from pipeline.agents.solver import attempt, solver
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments
from pipeline.config import RunConfig
from pipeline.config.loop import AgentLimits
from pipeline.config.models import ModelConfig
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import RetrievalError
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.types import Message, Stop, ToolCall, Usage
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

FILM = passage("f", "Lantern Bay", "It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was born in Vessby.")
SHELF = Shelf(FILM, HOLM)
START = (
    Message(role="system", content="Answer."),
    Message(role="user", content="Where was the director of Lantern Bay born?"),
)
QUESTIONS = (
    "In what year was the designer of the Kessel Bridge born?",
    "What was the population of the birthplace of Hugo Brandt in 2019?",
    "In what year was the founder of the national museum born?",
)


def say(*calls: tuple[str, dict[str, str] | str]) -> Message:
    made = (
        ToolCall(id=f"c{n}", name=name, arguments=a if isinstance(a, str) else orjson.dumps(a).decode())
        for n, (name, a) in enumerate(calls)
    )
    return Message(role="assistant", tool_calls=tuple(made))


def agent(llm, shelf=SHELF, **limits):
    return Agent(
        llm=llm,
        model=ModelConfig(),
        tools=SOLVER_TOOLS,
        limits=AgentLimits(**{"searches": 4, "turns": 8, **limits}),
        retriever=shelf,
        k=1,
        accept=lambda arguments, state: parse(AnswerArguments, arguments),
    )


COURSE = [
    say(("search", {"query": "Lantern Bay"})),
    Message(role="assistant", content="I wonder."),
    say(("search", "no JSON")),
    say(("search", {"query": "Lantern bay"}), ("open", {"passage_id": FILM.shown_id})),
    say(("search", {"query": "Ada Holm"})),
    say(("answer", {"answer": "Vessby"})),
]


def course():
    return asyncio.run(converse(agent(ScriptedLLM(list(COURSE))), START, sample=0, state=AgentState()))


def assistants(trajectory):
    return [n for n, message in enumerate(trajectory.messages) if message.role == "assistant"]


@pytest.mark.parametrize("turn", range(len(COURSE)))
def test_from_every_state_the_same_answers_give_the_same_rollout(turn):
    whole = course()
    prefix = assistants(whole)[turn]
    again = asyncio.run(branch(agent(ScriptedLLM(COURSE[turn:])), whole, prefix, sample=0)).trajectory
    left = ("messages", "calls", "stop", "final", "format_errors")
    assert {name: getattr(again, name) for name in left} == {name: getattr(whole, name) for name in left}


def test_the_desk_remembers_what_was_read_and_how_many_errors_stood_in_a_row():
    whole = course()
    state = asyncio.run(state_at(whole, assistants(whole)[3], SHELF))
    assert set(state.passages) == {FILM.shown_id}
    assert (state.errors, state.errors_in_a_row) == (2, 2)
    state = asyncio.run(state_at(whole, assistants(whole)[4], SHELF))
    assert (state.errors, state.errors_in_a_row) == (2, 0)
    assert [call.repeat for call in state.calls] == [False, True, False]


def test_a_given_action_is_carried_out_first_and_costs_no_call():
    whole = course()
    action = say(("search", {"query": "Ada Holm"}))
    made = asyncio.run(branch(agent(ScriptedLLM([COURSE[-1]])), whole, 2, sample=7, action=action))
    assert [call.argument for call in made.trajectory.calls] == ["Ada Holm"]
    assert made.answer == "Vessby"
    assert made.trajectory.messages[:2] == whole.messages[:2]


def test_turns_and_searches_of_the_prefix_count():
    whole = course()
    prefix = assistants(whole)[4]
    searching = [say(("search", {"query": f"Ada {n}"})) for n in range(9)]
    short = asyncio.run(branch(agent(ScriptedLLM(searching), turns=6, searches=9), whole, prefix, sample=0))
    assert (short.trajectory.stop, len(short.trajectory.calls)) == (Stop.MAX_TURNS, 5)
    llm = ScriptedLLM([COURSE[-1]])
    spent = asyncio.run(branch(agent(llm, searches=3), whole, prefix, sample=0))
    assert spent.trajectory.stop is Stop.SEARCH_BUDGET
    assert llm.requests[0].tool_choice == "answer"


def test_another_index_is_refused():
    with pytest.raises(RetrievalError, match="f#0"):
        asyncio.run(branch(agent(ScriptedLLM([]), shelf=Shelf(HOLM)), course(), 6, sample=0))


async def test_the_embedded_solver_gets_from_every_state_of_its_rollouts_to_the_same_end(tiny):
    searcher = solver(RunConfig(), DemoModel(), Bm25Retriever(tiny))
    states = 0
    for sample, question in enumerate(QUESTIONS):
        whole = await attempt(searcher, question, sample)
        for prefix in assistants(whole.trajectory):
            again = await branch(searcher, whole.trajectory, prefix, sample=sample)
            same = again.trajectory.model_copy(update={"usage": whole.trajectory.usage})
            assert again.model_copy(update={"trajectory": same}) == whole
            own = await branch(
                searcher, whole.trajectory, prefix, sample=sample, action=whole.trajectory.messages[prefix]
            )
            assert own.trajectory.messages == whole.trajectory.messages
            assert own.trajectory.usage != Usage() or prefix == assistants(whole.trajectory)[-1]
            states += 1
    assert states >= 7
