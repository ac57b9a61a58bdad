"""The one tool loop of generator, refiner, solver and teacher.

Tools and system prompt come first and never change. A conversation only grows, so that a server can cache its prefix.
There is one exception: a generator's conversation that reaches its limit is trimmed to half (`Agent.author`). A fault
in a conversation goes back to the model as text or ends the conversation with a `Stop`; it raises no exception.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.agents.calls import AgentState, Toolbox, carry_out
from pipeline.agents.context_trimming import trim_conversation
from pipeline.agents.parse import MOST_BYTES
from pipeline.config.models import ModelConfig
from pipeline.llm.base import LLM, Finish, Request
from pipeline.llm.text_tools import example
from pipeline.llm.token_estimate import shared_prefix, size
from pipeline.types import Message, Stop, ToolCall, Trajectory

MOST_CALLS = 4
"""Calls per turn that get an answer, as a multiple of those allowed; the loop drops all calls beyond."""
_UNUSABLE = {
    Finish.LENGTH: "was cut off at the token limit",
    Finish.REPEATS: "said one thing again and again until the token limit",
}
MOST_SAME = 4
"""Turns in which an agent may make the same call. A turn that holds only calls made more often ends the agent."""
MOST_THOUGHT = 500_000
"""Characters of one turn's reasoning. In English, 32k tokens are about 130,000 characters."""


@dataclass(frozen=True, kw_only=True)
class Agent(Toolbox):
    """A model and its tools."""

    llm: LLM
    model: ModelConfig
    notes: tuple[str, ...] = ()
    """Notes that follow the system prompt (`prompts.add_notes`)."""

    @property
    def room(self) -> int | None:
        room = self.model.room
        if room is None or self.author is None:
            return room
        reasoning_tokens = self.model.sampling.max_tokens if self.model.keeps_thoughts else 0
        return min(room, self.author.request_tokens + reasoning_tokens)


async def converse(agent: Agent, messages: tuple[Message, ...], *, sample: int, state: AgentState) -> Trajectory:
    """Run an agent to its end.

    Args:
        agent: the agent.
        messages: the prompt, and the turns of an earlier conversation if the agent goes on with one.
        sample: the index of the rollout, which sets its chance.
        state: the state to begin with, which may hold passages that the agent was shown.
    """
    state.messages = list(messages)
    state.turns_by_call = Counter(key for message in messages for key in _call_keys(message.tool_calls))
    stop = Stop.MAX_TURNS
    for _ in range(agent.limits.turns - sum(message.role == "assistant" for message in messages)):
        forced = len(state.calls) >= agent.limits.searches and state.checks >= agent.checks
        if not _fits(agent, state) or not await _turn(agent, state, sample=sample, forced=forced):
            stop = Stop.CONTEXT
            break
        if reason := _stop_reason(agent, state, forced=forced):
            stop = reason
            break
    return Trajectory(
        messages=tuple(state.messages),
        calls=tuple(state.calls),
        stop=stop,
        final=state.final,
        format_errors=state.errors,
        usage=state.usage,
    )


def _stop_reason(agent: Agent, state: AgentState, *, forced: bool) -> Stop | None:
    if state.final:
        return Stop.SEARCH_BUDGET if forced and agent.limits.searches else Stop.ANSWERED
    if state.errors_in_a_row >= agent.limits.format_errors:
        return Stop.FORMAT_ERRORS
    if state.stuck:
        return Stop.REPEATS
    if agent.author and not state.checks and state.usage.computed_tokens >= agent.author.give_up_tokens:
        return Stop.NO_PROPOSAL
    return Stop.MAX_TOKENS if state.usage.total_tokens >= agent.limits.tokens else None


def _fits(agent: Agent, state: AgentState) -> bool:
    """Return whether the next request fits.

    A generator's conversation that does not fit is first trimmed to half of the room: then the turns after it share a
    prefix again.
    """
    room, thoughts = agent.room, agent.model.keeps_thoughts
    if room is None or size(state.messages, agent.tools, thoughts=thoughts) <= room:
        return True
    if agent.author:
        trim_conversation(state, agent.tools, room, thoughts=thoughts)
    return size(state.messages, agent.tools, thoughts=thoughts) <= room


async def _turn(agent: Agent, state: AgentState, *, sample: int, forced: bool) -> bool:
    """Append a completion and the tool messages that answer it. Return False if the model has no room for them."""
    # In the first turn it would only change the key of the request. Later, Kimi wants empty thoughts back too.
    thoughts = agent.model.keeps_thoughts and any(message.role == "assistant" for message in state.messages)
    previous, state.sent = state.sent, tuple(state.messages)
    request = Request(
        model=agent.model.model,
        messages=state.sent,
        tools=agent.tools,
        tool_choice=agent.tools[-1].name if forced else "auto",
        calls=agent.model.calls,
        parallel_calls=agent.limits.calls_per_turn > 1,
        sampling=agent.model.sampling,
        thoughts=thoughts,
        sample=sample,
        shared_prefix=shared_prefix(previous, state.sent, agent.tools, thoughts=thoughts),
    )
    completion = await agent.llm.complete(request)
    state.usage += completion.usage
    if completion.finish is Finish.CONTEXT:
        return False
    calls = _assign_ids(completion.message.tool_calls[: MOST_CALLS * agent.limits.calls_per_turn], state)
    state.messages.append(_shorten(completion.message, calls))
    keys = _call_keys(calls)
    state.turns_by_call.update(keys)
    state.stuck = bool(keys) and all(state.turns_by_call[key] > MOST_SAME for key in keys)
    if not calls:
        problem = _UNUSABLE.get(completion.finish, "called no tool")
        names = ", ".join(tool.name for tool in agent.tools)
        if (mode := agent.model.calls) != "native":
            names += f", for example\n{example(agent.tools[-1 if forced else 0], tagged=mode == 'text')}"
        end = "" if mode != "native" else "."
        _add_error(state, Message(role="user", content=f"Your last message {problem}. Call one of: {names}{end}"))
    for call_index, call in enumerate(calls):
        content, is_valid = await carry_out(agent, state, call, call_index)
        if state.final:
            return True
        message = Message(role="tool", content=content, tool_call_id=call.id, name=call.name)
        if is_valid:
            state.errors_in_a_row = 0
        allowed = agent.limits.calls_per_turn
        # Surplus calls count as one error for each group as large as a turn may hold.
        if is_valid or (call_index > allowed and call_index % allowed):
            state.messages.append(message)
        else:
            _add_error(state, message)
    return True


def _shorten(message: Message, calls: tuple[ToolCall, ...]) -> Message:
    """Return the message with `calls` and without megabytes of text.

    It is sent again in every turn and kept in the journal. Arguments of that length are refused before they are parsed.
    """
    short_calls = tuple(call.model_copy(update={"arguments": call.arguments[:MOST_BYTES]}) for call in calls)
    texts = {"content": message.content[:MOST_BYTES], "reasoning": message.reasoning[:MOST_THOUGHT]}
    return message.model_copy(update={**texts, "tool_calls": short_calls})


def _call_keys(calls: Iterable[ToolCall]) -> set[str]:
    """Return a key for each distinct call of a turn; neither spaces nor case distinguish calls."""
    return {f"{call.name} {''.join(call.arguments.split()).casefold()}" for call in calls}


def _assign_ids(calls: tuple[ToolCall, ...], state: AgentState) -> tuple[ToolCall, ...]:
    """Return the calls with our ids.

    Some servers repeat their ids or draw them at random, and Mistral's templates want nine letters and digits.
    """
    first = sum(len(message.tool_calls) for message in state.messages)
    return tuple(call.model_copy(update={"id": f"call{number:05d}"}) for number, call in enumerate(calls, first))


def _add_error(state: AgentState, message: Message) -> None:
    state.errors += 1
    state.errors_in_a_row += 1
    state.messages.append(message)
