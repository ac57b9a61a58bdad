"""The one tool loop of generator, refiner, solver and teacher.

Tools and system prompt come first and never change. A conversation only grows, so that a server can cache its prefix.
There is one exception: an author's conversation that has reached its limit is cut to half (`Agent.author`). Whatever
goes wrong in a conversation goes back to the model as text or ends it with a `Stop`; nothing raises an exception.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.agents.calls import AgentState, Toolbox, carry_out
from pipeline.agents.context_trimming import cut
from pipeline.agents.parse import MOST_BYTES
from pipeline.config.models import ModelConfig
from pipeline.llm.base import LLM, Finish, Request
from pipeline.llm.text_tools import example
from pipeline.llm.token_estimate import shared_prefix, size
from pipeline.types import Message, Stop, ToolCall, Trajectory

MOST_CALLS = 4
"""Times the calls that a turn may hold: those beyond are not even answered."""
_UNUSABLE = {
    Finish.LENGTH: "was cut off at the token limit",
    Finish.REPEATS: "said one thing again and again until the token limit",
}
MOST_SAME = 4
"""Times that one call may be made in turns of its own: a turn of nothing but calls beyond that ends the agent."""
MOST_THOUGHT = 500_000
"""Characters of one turn's reasoning; 32k tokens are about 130,000 in English."""


@dataclass(frozen=True, kw_only=True)
class Agent(Toolbox):
    """A toolbox and the model that works with it."""

    llm: LLM
    model: ModelConfig
    notes: tuple[str, ...] = ()
    """What its prompt is followed by (`prompts.noted`)."""

    @property
    def room(self) -> int | None:
        """Tokens that one request may have; None where the model has no limit."""
        room = self.model.room
        if room is None or self.author is None:
            return room
        thought = self.model.sampling.max_tokens if self.model.keeps_thoughts else 0
        return min(room, self.author.request_tokens + thought)


async def converse(agent: Agent, messages: tuple[Message, ...], *, sample: int, state: AgentState) -> Trajectory:
    """Run one agent to its end. `state` may hold what it already knows, and `messages` the turns that it has had."""
    state.messages = list(messages)
    state.made = Counter(same for message in messages for same in _told_apart(message.tool_calls))
    stop = Stop.MAX_TURNS
    for _ in range(agent.limits.turns - sum(message.role == "assistant" for message in messages)):
        forced = len(state.calls) >= agent.limits.searches and state.checks >= agent.checks
        if not _fits(agent, state) or not await _turn(agent, state, sample=sample, forced=forced):
            stop = Stop.CONTEXT
            break
        if ended := _ended(agent, state, forced=forced):
            stop = ended
            break
    return Trajectory(
        messages=tuple(state.messages),
        calls=tuple(state.calls),
        stop=stop,
        final=state.final,
        format_errors=state.errors,
        usage=state.usage,
    )


def _ended(agent: Agent, state: AgentState, *, forced: bool) -> Stop | None:
    """Why a turn was the last one, if it was."""
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
    """Return whether the next request fits. An author's conversation that does not fit is cut to half of the room, so
    that the turns after it share a prefix again."""
    room, thoughts = agent.room, agent.model.keeps_thoughts
    if room is None or size(state.messages, agent.tools, thoughts=thoughts) <= room:
        return True
    if agent.author:
        cut(state, agent.tools, room, thoughts=thoughts)
    return size(state.messages, agent.tools, thoughts=thoughts) <= room


async def _turn(agent: Agent, state: AgentState, *, sample: int, forced: bool) -> bool:
    """One completion and the tool messages that answer it; False where the conversation has outgrown the model."""
    # Not in the first turn: a request that says the same has the same key. Kimi wants empty ones too.
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
    calls = _numbered(completion.message.tool_calls[: MOST_CALLS * agent.limits.calls_per_turn], state)
    state.messages.append(_kept(completion.message, calls))
    state.made += (made := _told_apart(calls))
    state.stuck = bool(made) and all(state.made[same] > MOST_SAME for same in made)
    if not calls:
        why = _UNUSABLE.get(completion.finish, "called no tool")
        names = ", ".join(tool.name for tool in agent.tools)
        if (mode := agent.model.calls) != "native":
            names += f", for example\n{example(agent.tools[-1 if forced else 0], tagged=mode == 'text')}"
        end = "" if mode != "native" else "."
        _error(state, Message(role="user", content=f"Your last message {why}. Call one of: {names}{end}"))
    for place, call in enumerate(calls):
        content, good = await carry_out(agent, state, call, place)
        if state.final:
            return True
        message = Message(role="tool", content=content, tool_call_id=call.id, name=call.name)
        if good:
            state.errors_in_a_row = 0
        most = agent.limits.calls_per_turn
        if good or (place > most and place % most):  # as many as a turn may have are one error
            state.messages.append(message)
        else:
            _error(state, message)
    return True


def _kept(message: Message, calls: tuple[ToolCall, ...]) -> Message:
    """The message as it enters the conversation: it is sent again in every turn and stands in the journal, so that a
    model that says megabytes is cut short. Arguments as long as that are refused before they are read."""
    short = tuple(call.model_copy(update={"arguments": call.arguments[:MOST_BYTES]}) for call in calls)
    said = {"content": message.content[:MOST_BYTES], "reasoning": message.reasoning[:MOST_THOUGHT]}
    return message.model_copy(update={**said, "tool_calls": short})


def _told_apart(calls: Iterable[ToolCall]) -> Counter[str]:
    """Each different call of a turn, once, however its arguments are spaced."""
    return Counter({f"{call.name} {''.join(call.arguments.split()).casefold()}" for call in calls})


def _numbered(calls: tuple[ToolCall, ...], state: AgentState) -> tuple[ToolCall, ...]:
    """The calls with ids of our own: some servers repeat theirs or draw them at random, and Mistral's templates want
    nine letters and digits."""
    made = sum(len(message.tool_calls) for message in state.messages)
    return tuple(call.model_copy(update={"id": f"call{made + n:05d}"}) for n, call in enumerate(calls))


def _error(state: AgentState, message: Message) -> None:
    state.errors += 1
    state.errors_in_a_row += 1
    state.messages.append(message)
