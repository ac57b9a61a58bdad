"""The one tool loop of generator, refiner, solver and teacher.

A conversation only grows, and tools and system prompt stay the same and first, so that a server can cache the prefix.
Whatever goes wrong in it goes back to the model as text or ends it with a `Stop`; none of it is an exception.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pipeline.agents.parse import MOST_BYTES, parse
from pipeline.agents.tools import OpenArguments, SearchArguments, render
from pipeline.config import AgentLimits
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Finish, Request, Tool
from pipeline.retrieval.base import Retriever
from pipeline.text import words
from pipeline.types import Call, Message, Passage, Stop, ToolCall, Trajectory, Usage

MOST_CALLS = 4
"""Times the calls that a turn may hold: those beyond are not even answered."""
OPENED = 12
"""Passages that one `open` shows: about 1,200 words."""


@dataclass(frozen=True)
class Toolbox:
    """What calls are carried out with. The last tool ends the work; `accept` raises FormatError on bad arguments."""

    tools: tuple[Tool, ...]
    limits: AgentLimits
    retriever: Retriever
    k: int
    accept: Callable[[str, "AgentState"], object]


@dataclass(frozen=True)
class Agent(Toolbox):
    """A toolbox and the model that works with it."""

    llm: LLM
    model: ModelConfig


@dataclass
class AgentState:
    """What one agent has done and read so far. `passages` goes by shown id: only what was shown can be opened."""

    passages: dict[str, Passage] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    errors: int = 0
    errors_in_a_row: int = 0
    final: str = ""


async def converse(agent: Agent, messages: tuple[Message, ...], *, sample: int, state: AgentState) -> Trajectory:
    """Run one agent to its end. `state` may hold what it already knows, and `messages` the turns that it has had."""
    state.messages = list(messages)
    stop = Stop.MAX_TURNS
    for _ in range(agent.limits.turns - sum(message.role == "assistant" for message in messages)):
        forced = len(state.calls) >= agent.limits.searches
        if not await _turn(agent, state, sample=sample, forced=forced):
            stop = Stop.CONTEXT
            break
        if state.final:
            stop = Stop.SEARCH_BUDGET if forced and agent.limits.searches else Stop.ANSWERED
            break
        if state.errors_in_a_row >= agent.limits.format_errors:
            stop = Stop.FORMAT_ERRORS
            break
        if state.usage.prompt_tokens + state.usage.completion_tokens >= agent.limits.tokens:
            stop = Stop.MAX_TOKENS
            break
    return Trajectory(
        messages=tuple(state.messages),
        calls=tuple(state.calls),
        stop=stop,
        final=state.final,
        format_errors=state.errors,
        usage=state.usage,
    )


async def _turn(agent: Agent, state: AgentState, *, sample: int, forced: bool) -> bool:
    """One completion and the tool messages that answer it; False where the conversation has outgrown the model."""
    request = Request(
        model=agent.model.model,
        messages=tuple(state.messages),
        tools=agent.tools,
        tool_choice=agent.tools[-1].name if forced else "auto",
        parallel_calls=agent.limits.calls_per_turn > 1,
        sampling=agent.model.sampling,
        sample=sample,
    )
    completion = await agent.llm.complete(request)
    state.usage += completion.usage
    if completion.finish is Finish.CONTEXT:
        return False
    calls = _numbered(completion.message.tool_calls[: MOST_CALLS * agent.limits.calls_per_turn], state)
    state.messages.append(_kept(completion.message, calls))
    if not calls:
        why = "was cut off at the token limit" if completion.finish is Finish.LENGTH else "called no tool"
        names = ", ".join(tool.name for tool in agent.tools)
        _error(state, Message(role="user", content=f"Your last message {why}. Call one of: {names}."))
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
    said = {"content": message.content[:MOST_BYTES], "reasoning": message.reasoning[:MOST_BYTES]}
    return message.model_copy(update={**said, "tool_calls": short})


def _numbered(calls: tuple[ToolCall, ...], state: AgentState) -> tuple[ToolCall, ...]:
    """The calls with ids of our own: some servers repeat theirs or draw them at random, and Mistral's templates want
    nine letters and digits."""
    made = sum(len(message.tool_calls) for message in state.messages)
    return tuple(call.model_copy(update={"id": f"call{made + n:05d}"}) for n, call in enumerate(calls))


def _error(state: AgentState, message: Message) -> None:
    state.errors += 1
    state.errors_in_a_row += 1
    state.messages.append(message)


async def carry_out(box: Toolbox, state: AgentState, call: ToolCall, place: int) -> tuple[str, bool]:
    """The observation of one tool call, and whether the call was well formed. `place` counts from 0 within a turn."""
    last = box.tools[-1].name
    try:
        if place >= box.limits.calls_per_turn:
            raise FormatError(f"At most {box.limits.calls_per_turn} calls a turn.")
        if call.name not in {tool.name for tool in box.tools}:
            raise FormatError(f"There is no tool '{call.name[:40]}'.")
        if call.name == last:
            box.accept(call.arguments, state)
            state.final = call.arguments
            return "", True
        if len(state.calls) >= box.limits.searches:
            return f"The search budget is used up. Call `{last}` now.", True
        return await _look(box, state, call), True
    except FormatError as error:
        return f"Error: {error}", False


async def _look(box: Toolbox, state: AgentState, call: ToolCall) -> str:
    """The observation of a search or open."""
    if call.name == "search":
        query = parse(SearchArguments, call.arguments).query.strip()
        if not words(query):
            raise FormatError("The query holds no word.")
        return render(await fetch(box, state, call.id, "search", query))
    opened = parse(OpenArguments, call.arguments).passage_id.strip()
    if opened not in state.passages:
        raise FormatError(f"No search has returned a passage '{opened[:40]}'.")
    return render(await fetch(box, state, call.id, "open", opened))


async def fetch(
    box: Toolbox, state: AgentState, call_id: str, tool: Literal["search", "open"], argument: str
) -> list[Passage]:
    """Carry out a search, or open a passage by its shown id, and note it as a call."""
    if tool == "search":
        passages = [hit.passage for hit in await box.retriever.search(argument, box.k)]
    else:
        opened = state.passages[argument]
        passages = _window(await box.retriever.document(opened.document_id), opened)
    same = identity(tool, argument, state)
    repeat = any(identity(earlier.tool, earlier.argument, state) == same for earlier in state.calls)
    state.passages |= {passage.shown_id: passage for passage in passages}
    ids = tuple(passage.id for passage in passages)
    state.calls.append(Call(id=call_id, tool=tool, argument=argument, passage_ids=ids, repeat=repeat))
    return passages


def _window(passages: list[Passage], opened: Passage) -> list[Passage]:
    """At most OPENED passages of the document, from around the one that was opened."""
    middle = next((i for i, passage in enumerate(passages) if passage.id == opened.id), 0)
    start = max(0, min(middle - OPENED // 2, len(passages) - OPENED))
    return passages[start : start + OPENED]


def identity(tool: str, argument: str, state: AgentState) -> tuple[str, str]:
    """What makes two calls the same: the words of a query, the document of an opened passage."""
    return tool, " ".join(words(argument)) if tool == "search" else state.passages[argument].document_id
