"""Resume a stored rollout from any of its states, on the index that it ran on.

A state is a prefix of the messages. It determines, with the calls, what the agent had done and read by then. So the
same sample comes to the same end, and cached completions are hit again.
"""

from dataclasses import replace
from itertools import dropwhile

from pipeline.agents.agent import Agent
from pipeline.agents.calls import AgentState
from pipeline.agents.solver import rollout
from pipeline.errors import RetrievalError
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.retrieval.base import Retriever
from pipeline.types import Message, Rollout, Trajectory, Usage


async def branch(
    agent: Agent, source: Trajectory, prefix: int, *, sample: int, action: Message | None = None
) -> Rollout:
    """Continue after the first `prefix` messages of `source`, with `action` as the next turn if there is one.

    The limits of turns and searches include the prefix. The usage and the limit of tokens cover only the new turns.

    Raises:
        RetrievalError: the index lacks a passage that the prefix shows.
    """
    state = await state_at(source, prefix, agent.retriever)
    if action is not None:
        agent = replace(agent, llm=_FirstTurn(action, agent.llm))
    return await rollout(agent, source.messages[:prefix], sample, state)


async def state_at(source: Trajectory, prefix: int, retriever: Retriever) -> AgentState:
    """Return the state of the agent after the first `prefix` messages. Raise RetrievalError as `branch` does."""
    messages = source.messages[:prefix]
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    state = AgentState(calls=[call for call in source.calls if call.id in answered])
    for passage_id in dict.fromkeys(i for call in state.calls for i in call.passage_ids):
        passage = await retriever.get(passage_id)
        if passage is None:
            raise RetrievalError(f"the index holds no passage '{passage_id}', which the rollout was shown")
        state.passages[passage.shown_id] = passage
    carried_out = {call.id for call in state.calls}
    for message in dropwhile(lambda message: message.role != "assistant", messages):
        is_error = message.tool_call_id not in carried_out and message.content.startswith("Error: ")
        if message.role == "user" or (message.role == "tool" and is_error):
            state.errors += 1
            state.errors_in_a_row += 1
        elif message.role == "tool":
            state.errors_in_a_row = 0
    return state


class _FirstTurn:
    """A model whose first completion is fixed and free."""

    def __init__(self, action: Message, llm: LLM) -> None:
        self._action: Message | None = action
        self._llm = llm

    async def complete(self, request: Request) -> Completion:
        if self._action is None:
            return await self._llm.complete(request)
        message, self._action = self._action, None
        return Completion(message=message, finish=Finish.TOOL_CALLS, usage=Usage())
