"""What makes room in a conversation that has reached its limit, and which passages are worth their room.

Nothing is rewritten before the limit: a server would have to compute the rest of the prompt anew in each turn.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import orjson

from pipeline.agents.calls import AgentState
from pipeline.agents.tools import CHECK, drafted
from pipeline.llm.base import Tool
from pipeline.llm.token_estimate import size, tokens
from pipeline.types import Message, Passage, ToolCall

OTHER, LINKED, CITED = range(3)
"""What a passage is worth."""
_RARE = 3
"""Documents, of all that the agent has been shown, that may hold a name which still links two of them."""
_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")


def cut(state: AgentState, tools: Sequence[Tool], room: int, *, thoughts: bool = False) -> None:
    """Cut a conversation until the request takes half of the room.

    Drafts that were checked before the last turn go first: their questions remain. Then go passages, the oldest first:
    their ids and titles remain. `thoughts` that are sent back go with the passages of their turn.

    What looks like evidence is cut until the request takes three quarters of the room. What the agent has cited by its
    id, and what the last turn has just brought, is cut only until the request fits.
    """
    _supersede_drafts(state)
    left = size(state.messages, tools, thoughts=thoughts)
    last = max((n for n, message in enumerate(state.messages) if message.role == "assistant"), default=0)
    old, new = range(last), range(last, len(state.messages))
    worth = _worth(state, last)
    passes = ((OTHER, old, room // 2), (LINKED, old, room * 3 // 4), (CITED, old, room), (CITED, new, room))
    for most_worth, places, target in passes:
        for place in places:
            if left <= target:
                return
            message = state.messages[place]
            if thoughts and message.reasoning and place < last:
                state.messages[place] = message.model_copy(update={"reasoning": "", "server_fields": ""})
                left -= tokens(message.reasoning)
            left -= _drop(state, message, [i for i, value in worth[place].items() if value <= most_worth])


def _supersede_drafts(state: AgentState) -> None:
    turns = [place for place, message in enumerate(state.messages) if message.role == "assistant"]
    for place in turns[:-1]:
        message = state.messages[place]
        calls = tuple(_without_draft(call) if call.name == CHECK else call for call in message.tool_calls)
        state.messages[place] = message.model_copy(update={"tool_calls": calls})


def _without_draft(call: ToolCall) -> ToolCall:
    try:
        draft = orjson.loads(drafted(call.arguments))
    except orjson.JSONDecodeError:
        draft = None
    question = draft.get("question", "") if isinstance(draft, dict) else ""
    return call.model_copy(update={"arguments": orjson.dumps({"superseded": True, "question": question}).decode()})


def _drop(state: AgentState, message: Message, ids: Collection[str]) -> int:
    """Cut these passages from a tool message, and name them as cut wherever they stood by name alone; returns how many
    tokens that frees."""
    if not ids:
        return 0
    observed = state.observed[message.tool_call_id]
    state.observed[message.tool_call_id] = observed._replace(whole=observed.whole.difference(ids))
    freed, visible = 0, state.visible
    for place, other in enumerate(state.messages):
        shown = state.observed.get(other.tool_call_id) if other.role == "tool" else None
        if shown and any(passage.shown_id in ids for passage in shown.passages):
            state.messages[place] = other.model_copy(update={"content": shown.text(visible)})
            freed += tokens(other.content) - tokens(state.messages[place].content)
    return freed


def _worth(state: AgentState, last: int) -> list[dict[str, int]]:
    """How much each passage is worth that stands whole in a message, by its shown id, for each message.

    CITED: the agent has written its id. LINKED: it holds a rare name that the agent has written since it was shown, or
    that what the last turn found holds too. What stands whole in a later message is worth nothing in an earlier one.
    """
    names = _rare_names(state.passages.values())
    written = {name for place in range(last, len(state.messages)) for p in _whole(state, place) for name in names[p.id]}
    again = set[str]()
    worth: list[dict[str, int]] = []
    for place, message in reversed(list(enumerate(state.messages))):
        if message.role == "assistant":
            said = (message.content, message.reasoning, *(_plain(call.arguments) for call in message.tool_calls))
            written.update(*(map(str.casefold, _WORD.findall(text)) for text in said))
        values = dict[str, int]()
        for passage in _whole(state, place):
            linked = OTHER if names[passage.id].isdisjoint(written) else LINKED
            values[passage.shown_id] = CITED if passage.shown_id in written else linked
        worth.append({shown_id: OTHER if shown_id in again else value for shown_id, value in values.items()})
        again |= values.keys()
    return worth[::-1]


def _whole(state: AgentState, place: int) -> list[Passage]:
    message = state.messages[place]
    observed = state.observed.get(message.tool_call_id) if message.role == "tool" else None
    return [passage for passage in observed.passages if passage.shown_id in observed.whole] if observed else []


def _rare_names(passages: Iterable[Passage]) -> dict[str, set[str]]:
    """For each passage its names, a word each and without case: words with a capital letter that stand nowhere without
    one, and that few of the documents hold."""
    held = {passage.id: set(_WORD.findall(f"{passage.title} {passage.text}")) for passage in passages}
    common = {word for found in held.values() for word in found if not word[0].isupper()}
    names = {key: {word.casefold() for word in found if word.lower() not in common} for key, found in held.items()}
    named = {(key.rpartition("#")[0], name) for key, found in names.items() for name in found}
    documents = Counter(name for _, name in named)
    return {key: {name for name in found if documents[name] <= _RARE} for key, found in names.items()}


def _plain(arguments: str) -> str:
    """Arguments without JSON's escapes of letters."""
    try:
        return orjson.dumps(orjson.loads(arguments)).decode()
    except orjson.JSONDecodeError:
        return arguments
