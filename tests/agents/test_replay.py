"""A stored rollout can be continued from any state, and the same sample reaches the same end."""

import asyncio

import pytest

from pipeline.agents.agent import converse
from pipeline.agents.calls import AgentState
from pipeline.agents.replay import branch, state_at
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig
from pipeline.config.loop import AgentLimits
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import RetrievalError
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.types import Message, Stop, Usage
from tests.agents.conversations import make_agent, make_calls
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

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


def make_test_agent(llm, shelf=SHELF, **limits):
    return make_agent(llm, shelf, AgentLimits(**{"searches": 4, "turns": 8, **limits}))


COURSE = [
    make_calls(("search", {"query": "Lantern Bay"})),
    Message(role="assistant", content="I wonder."),
    make_calls(("search", "no JSON")),
    make_calls(("search", {"query": "Lantern bay"}), ("open", {"passage_id": FILM.shown_id})),
    make_calls(("search", {"query": "Ada Holm"})),
    make_calls(("answer", {"answer": "Vessby"})),
]


def run_course():
    return asyncio.run(converse(make_test_agent(ScriptedLLM(list(COURSE))), START, sample=0, state=AgentState()))


def list_turns(trajectory):
    return [n for n, message in enumerate(trajectory.messages) if message.role == "assistant"]


@pytest.mark.parametrize("turn", range(len(COURSE)))
def test_from_every_state_the_same_answers_give_the_same_rollout(turn):
    course = run_course()
    prefix = list_turns(course)[turn]
    branched = asyncio.run(branch(make_test_agent(ScriptedLLM(COURSE[turn:])), course, prefix, sample=0)).trajectory
    names = ("messages", "calls", "stop", "final", "format_errors")
    assert {name: getattr(branched, name) for name in names} == {name: getattr(course, name) for name in names}


def test_a_state_keeps_the_passages_read_and_the_errors_in_a_row():
    course = run_course()
    state = asyncio.run(state_at(course, list_turns(course)[3], SHELF))
    assert set(state.passages) == {FILM.shown_id}
    assert (state.errors, state.errors_in_a_row) == (2, 2)
    state = asyncio.run(state_at(course, list_turns(course)[4], SHELF))
    assert (state.errors, state.errors_in_a_row) == (2, 0)
    assert [call.repeat for call in state.calls] == [False, True, False]


def test_a_given_action_is_carried_out_first_and_costs_no_call():
    course = run_course()
    action = make_calls(("search", {"query": "Ada Holm"}))
    rollout = asyncio.run(branch(make_test_agent(ScriptedLLM([COURSE[-1]])), course, 2, sample=7, action=action))
    assert [call.argument for call in rollout.trajectory.calls] == ["Ada Holm"]
    assert rollout.answer == "Vessby"
    assert rollout.trajectory.messages[:2] == course.messages[:2]


def test_turns_and_searches_of_the_prefix_count():
    course = run_course()
    prefix = list_turns(course)[4]
    searching = [make_calls(("search", {"query": f"Ada {n}"})) for n in range(9)]
    few_turns = asyncio.run(
        branch(make_test_agent(ScriptedLLM(searching), turns=6, searches=9), course, prefix, sample=0)
    )
    assert (few_turns.trajectory.stop, len(few_turns.trajectory.calls)) == (Stop.MAX_TURNS, 5)
    llm = ScriptedLLM([COURSE[-1]])
    few_searches = asyncio.run(branch(make_test_agent(llm, searches=3), course, prefix, sample=0))
    assert few_searches.trajectory.stop is Stop.SEARCH_BUDGET
    assert llm.requests[0].tool_choice == "answer"


def test_an_index_without_the_passages_is_refused():
    with pytest.raises(RetrievalError, match="f#0"):
        asyncio.run(branch(make_test_agent(ScriptedLLM([]), shelf=Shelf(HOLM)), run_course(), 6, sample=0))


async def test_the_demo_solver_reaches_the_same_end_from_every_state_of_its_rollouts(tiny):
    searcher = solver(RunConfig(), DemoModel(), Bm25Retriever(tiny))
    states = 0
    for sample, question in enumerate(QUESTIONS):
        rollout = await attempt(searcher, question, sample)
        for prefix in list_turns(rollout.trajectory):
            branched = await branch(searcher, rollout.trajectory, prefix, sample=sample)
            trajectory = branched.trajectory.model_copy(update={"usage": rollout.trajectory.usage})
            assert branched.model_copy(update={"trajectory": trajectory}) == rollout
            replayed = await branch(
                searcher, rollout.trajectory, prefix, sample=sample, action=rollout.trajectory.messages[prefix]
            )
            assert replayed.trajectory.messages == rollout.trajectory.messages
            assert replayed.trajectory.usage != Usage() or prefix == list_turns(rollout.trajectory)[-1]
            states += 1
    assert states >= 7
