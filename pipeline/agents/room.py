"""What makes room in a conversation that has grown too large."""

from collections.abc import Sequence

from pipeline.agents.calls import AgentState
from pipeline.llm.base import Tool
from pipeline.llm.tokens import size, tokens


def cut(state: AgentState, tools: Sequence[Tool], room: int, *, thoughts: bool = False) -> None:
    """Cut what searches showed, the oldest first, until the request takes half of the room: ids and titles remain. Of
    `thoughts` that are sent back those of earlier turns go the same way.

    What the last turn found has not been read yet: it is cut only as far as the request would not fit otherwise.
    """
    left = size(state.messages, tools, thoughts=thoughts)
    last = max((n for n, message in enumerate(state.messages) if message.role == "assistant"), default=0)
    for place, message in enumerate(state.messages):
        if left <= (room // 2 if place < last else room):
            return
        if thoughts and message.reasoning and place < last:
            state.messages[place] = message.model_copy(update={"reasoning": ""})
            left -= tokens(message.reasoning)
        if message.role == "tool" and (shown := state.observed.pop(message.tool_call_id, ())):
            names = "; ".join(f"[{passage.shown_id}] {' '.join(passage.title.split())}" for passage in shown)
            short = message.model_copy(update={"content": f"Cut to save room; open an id to read it again: {names}"})
            left += tokens(short.content) - tokens(message.content)
            state.messages[place] = short
