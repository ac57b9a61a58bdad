"""Trim a conversation that has reached its limit, least useful passages first.

Nothing is rewritten before the limit: a server would have to recompute the prompt from there on in each turn.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import orjson

from pipeline.agents.calls import AgentState
from pipeline.agents.tools import CHECK, unwrap_draft
from pipeline.llm.base import Tool
from pipeline.llm.token_estimate import size, tokens
from pipeline.types import Message, Passage, ToolCall

OTHER, LINKED, CITED = range(3)
"""The worth of a passage."""
_RARE = 3
"""A name links documents if at most this many of those that the agent was shown hold it."""
_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")


def trim_conversation(state: AgentState, tools: Sequence[Tool], room: int, *, thoughts: bool = False) -> None:
    """Trim a conversation until the request takes half of the room.

    Drafts that were checked before the last turn go first; their questions remain. Then passages go, the oldest first;
    their ids and titles remain. With `thoughts`, the reasoning of a turn goes along with its passages.

    Passages that look like evidence are cut only until the request takes three quarters of the room. Passages that the
    agent has cited by id, and those of the last turn, are cut only until the request fits.
    """
    _supersede_drafts(state)
    total = size(state.messages, tools, thoughts=thoughts)
    last = max((n for n, message in enumerate(state.messages) if message.role == "assistant"), default=0)
    old, new = range(last), range(last, len(state.messages))
    worth = _worth(state, last)
    passes = ((OTHER, old, room // 2), (LINKED, old, room * 3 // 4), (CITED, old, room), (CITED, new, room))
    for most_worth, indices, target in passes:
        for index in indices:
            if total <= target:
                return
            message = state.messages[index]
            if thoughts and message.reasoning and index < last:
                state.messages[index] = message.model_copy(update={"reasoning": "", "server_fields": ""})
                total -= tokens(message.reasoning)
            total -= _drop(state, message, [i for i, value in worth[index].items() if value <= most_worth])


def _supersede_drafts(state: AgentState) -> None:
    turns = [index for index, message in enumerate(state.messages) if message.role == "assistant"]
    for index in turns[:-1]:
        message = state.messages[index]
        calls = tuple(_reduce_to_question(call) if call.name == CHECK else call for call in message.tool_calls)
        state.messages[index] = message.model_copy(update={"tool_calls": calls})


def _reduce_to_question(call: ToolCall) -> ToolCall:
    try:
        draft = orjson.loads(unwrap_draft(call.arguments))
    except orjson.JSONDecodeError:
        draft = None
    question = draft.get("question", "") if isinstance(draft, dict) else ""
    return call.model_copy(update={"arguments": orjson.dumps({"superseded": True, "question": question}).decode()})


def _drop(state: AgentState, message: Message, ids: Collection[str]) -> int:
    """Cut these passages from a tool message. Other messages that show only their heads list them as cut too.

    Returns the number of tokens that this frees.
    """
    if not ids:
        return 0
    observed = state.observed[message.tool_call_id]
    state.observed[message.tool_call_id] = observed._replace(full_text=observed.full_text.difference(ids))
    freed, visible = 0, state.visible
    for index, old in enumerate(state.messages):
        observation = state.observed.get(old.tool_call_id) if old.role == "tool" else None
        if observation and any(passage.shown_id in ids for passage in observation.passages):
            state.messages[index] = old.model_copy(update={"content": observation.text(visible)})
            freed += tokens(old.content) - tokens(state.messages[index].content)
    return freed


def _worth(state: AgentState, last: int) -> list[dict[str, int]]:
    """Return for each message the worth of the passages that it holds with their text, by shown id.

    CITED: the agent has written the id. LINKED: the passage holds a rare name that the agent has written since, or
    that a passage of the last turn holds too. OTHER: all else, and a passage that a later message repeats.
    """
    names = _rare_names(state.passages.values())
    newest = [passage for index in range(last, len(state.messages)) for passage in _full_passages(state, index)]
    written = {name for passage in newest for name in names[passage.id]}
    repeated = set[str]()
    worth: list[dict[str, int]] = []
    for index, message in reversed(list(enumerate(state.messages))):
        if message.role == "assistant":
            texts = (message.content, message.reasoning, *(_unescape(call.arguments) for call in message.tool_calls))
            written.update(*(map(str.casefold, _WORD.findall(text)) for text in texts))
        values = dict[str, int]()
        for passage in _full_passages(state, index):
            linked = OTHER if names[passage.id].isdisjoint(written) else LINKED
            values[passage.shown_id] = CITED if passage.shown_id in written else linked
        worth.append({shown_id: OTHER if shown_id in repeated else value for shown_id, value in values.items()})
        repeated |= values.keys()
    return worth[::-1]


def _full_passages(state: AgentState, index: int) -> list[Passage]:
    message = state.messages[index]
    observed = state.observed.get(message.tool_call_id) if message.role == "tool" else None
    return [passage for passage in observed.passages if passage.shown_id in observed.full_text] if observed else []


def _rare_names(passages: Iterable[Passage]) -> dict[str, set[str]]:
    """Return the names in each passage, by its id, as casefolded words.

    A name is a word that always has a capital letter and that few of the documents hold.
    """
    words = {passage.id: set(_WORD.findall(f"{passage.title} {passage.text}")) for passage in passages}
    common = {word for passage_words in words.values() for word in passage_words if not word[0].isupper()}
    names = {
        key: {word.casefold() for word in passage_words if word.lower() not in common}
        for key, passage_words in words.items()
    }
    pairs = {(key.rpartition("#")[0], name) for key, passage_names in names.items() for name in passage_names}
    documents = Counter(name for _, name in pairs)
    return {key: {name for name in passage_names if documents[name] <= _RARE} for key, passage_names in names.items()}


def _unescape(arguments: str) -> str:
    try:
        return orjson.dumps(orjson.loads(arguments)).decode()
    except orjson.JSONDecodeError:
        return arguments
