"""Carry out the tool calls of an agent: validate them, render their observations, and mark repeated ones."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.agents.parse import parse
from pipeline.agents.tools import (
    CHECK,
    EMPTY,
    FIND,
    LINKED,
    LINKED_MORE,
    LINKS,
    MOST_PHRASES,
    OPEN_FEW,
    OPENED,
    OPENED_FEW,
    PAGED_OPEN,
    PHRASES,
    FindArguments,
    LinksArguments,
    OpenArguments,
    PagedOpenArguments,
    SearchArguments,
    find_shared_titles,
    pick_sentence,
    render,
    render_links,
    unwrap_draft,
)
from pipeline.agents.within_document import describe_position, find, window
from pipeline.config.loop import AgentLimits, AuthorLimits
from pipeline.errors import FormatError
from pipeline.llm.base import Tool
from pipeline.llm.schemas import read_json
from pipeline.llm.text_tools import example_arguments
from pipeline.llm.written_calls import OfferedTools
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.vocabulary import find_absent_words
from pipeline.text import words
from pipeline.types import Call, Message, Passage, Probe, ToolCall, Usage

if TYPE_CHECKING:
    from pipeline.links.related import Related


_LookupTool = Literal["search", "open", "find", "links"]
LinksOf = Callable[[Passage, int, int], Sequence["Related"]]


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """The tools that an agent can call, and their limits. The last tool ends the conversation.

    `accept` raises FormatError if the arguments of the last tool are bad.
    """

    tools: tuple[Tool, ...]
    limits: AgentLimits
    retriever: Retriever
    k: int
    accept: Callable[[str, "AgentState"], object]
    author: AuthorLimits | None = None
    """The limits of a generator, refiner or composer. A search does not repeat the text of passages that its
    conversation shows already, and passages are cut if it grows too large. Solver and teacher have none: what they read
    is the data."""
    check: Callable[[str, "AgentState"], Awaitable[str]] | None = None
    """Checks a draft, which has the arguments of the last tool. Returns the faults, or an empty text if the draft
    passes; raises FormatError on bad arguments."""

    numbered: bool = False
    """Whether to number the sentences of passages, for an agent that cites them by number."""
    most_whole: int | None = None
    """Largest number of new passages that a search shows whole to a generator. The others show their best sentence."""
    give_up: str = ""
    """Arguments of the last tool that end the conversation when the last check fails; empty to let it go on."""
    links: LinksOf | None = None
    """Finds passages that share the phrases of a passage: at most this many for each phrase, and this many phrases."""

    @property
    def checks(self) -> int:
        return self.author.checks if self.author and self.check else 0


class Observation(NamedTuple):
    """What a lookup of a generator returned, best first."""

    passages: tuple[Passage, ...]
    full_text: frozenset[str]
    """Shown ids of the passages that appear with their text."""
    note: str = ""
    numbered: bool = False
    shared_titles: frozenset[str] = frozenset()
    """Titles that passages of several documents have, and that need the id of the document beside them."""
    excerpts: Mapping[str, str] = EMPTY
    """What stands in place of the text of the other passages that were new, by shown id."""

    def text(self, visible: Collection[str]) -> str:
        """Return the tool message.

        A passage without its text is listed by its head if it is `visible` elsewhere, and as cut if not.
        """
        without_text = {passage.shown_id for passage in self.passages} - self.full_text - self.excerpts.keys()
        blocks = render(
            self.passages,
            heads_only=without_text.intersection(visible),
            excerpts=self.excerpts,
            cut=without_text.difference(visible),
            shared_titles=self.shared_titles,
            numbered=self.numbered,
        )
        return "\n\n".join(filter(None, (blocks, self.note)))


@dataclass
class AgentState:
    """What an agent has done and read so far. Only the passages in `passages`, by shown id, can be opened."""

    passages: dict[str, Passage] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    sent: tuple[Message, ...] = ()
    """The messages of the last request."""
    usage: Usage = field(default_factory=Usage)
    given: frozenset[str] = frozenset()
    """Shown ids of the passages that the prompt holds with their text."""
    observed: dict[str, Observation] = field(default_factory=dict)
    """What each tool message of a generator's conversation shows, by the id of its call."""
    checks: int = 0
    probes: list[Probe] = field(default_factory=list)
    """The readers' answers about the drafts that were checked."""
    errors: int = 0
    errors_in_a_row: int = 0
    final: str = ""
    turns_by_call: Counter[str] = field(default_factory=Counter)
    """The number of turns that made each call."""
    stuck: bool = False
    """Whether the last turn held only calls that were made too often before."""

    @property
    def visible(self) -> frozenset[str]:
        return self.given.union(*(observation.full_text for observation in self.observed.values()))


async def carry_out(box: Toolbox, state: AgentState, call: ToolCall, call_index: int) -> tuple[str, bool]:
    """Carry out a tool call.

    Args:
        box: the tools of the agent.
        state: the state of the agent, which changes.
        call: the call.
        call_index: the position of the call in its turn, from 0.

    Returns:
        The text of the tool message, and whether the call was valid.
    """
    last, names = box.tools[-1].name, {tool.name for tool in box.tools}
    try:
        if call_index >= box.limits.calls_per_turn:
            raise FormatError(f"At most {box.limits.calls_per_turn} calls a turn.")
        if call.name not in names:
            raise FormatError(f"There is no tool '{call.name[:40]}'.")
        if call.name == last:
            if box.accept(call.arguments, state) is not None and box.check and CHECK not in names:
                return await _run_check(box, state, call.arguments), True
            state.final = call.arguments
            return "", True
        if call.name == CHECK and box.check:
            return await _run_check(box, state, call.arguments), True
        if len(state.calls) >= box.limits.searches:
            allowed = f"`{CHECK}` or `{last}`" if CHECK in names and state.checks < box.checks else f"`{last}`"
            return f"The search budget is used up. Call {allowed} now.", True
        return await _look(box, state, call) + _remaining_note(box, state), True
    except FormatError as error:
        return f"Error: {error}{_usage_hint(box, call)}", False


def _remaining_note(box: Toolbox, state: AgentState) -> str:
    remaining = box.limits.searches - len(state.calls)
    return f"\n\nSearches and openings left: {remaining}." if box.check else ""


def _usage_hint(box: Toolbox, call: ToolCall) -> str:
    """Show what a valid call looks like if the arguments do not fit the tool's schema.

    If they do fit, their content is wrong, and the error says how.
    """
    tool = next((tool for tool in box.tools if tool.name == call.name), None)
    if tool is None or OfferedTools([tool]).fits(tool.name, read_json(call.arguments)):
        return ""
    return f"; {tool.name} needs {example_arguments(tool)}"


async def _run_check(box: Toolbox, state: AgentState, arguments: str) -> str:
    """Check a draft and return its faults.

    A draft that passes becomes the agent's final answer at once: one more turn would cost as much as all before it.
    """
    if box.check is None or state.checks >= box.checks:
        return f"All {box.checks} checks are used up. Call `{box.tools[-1].name}`."
    draft = unwrap_draft(arguments)
    faults = await box.check(draft, state)
    state.checks += 1
    if not faults:
        state.final = draft
        return ""
    label = "Checks" if any(tool.name == CHECK for tool in box.tools) else "Proposals"
    if state.checks == box.checks and box.give_up:
        state.final = box.give_up
        return ""
    return f"{faults}\n{label} left: {box.checks - state.checks}."


async def _look(box: Toolbox, state: AgentState, call: ToolCall) -> str:
    if call.name == LINKS.name and box.links:
        return _look_at_links(box.links, state, call)
    if call.name == "search":
        query = parse(SearchArguments, call.arguments).query.strip()
        if not words(query):
            raise FormatError("The query holds no word.")
        passages, note = await fetch(box, state, call.id, "search", query), await _absent_words_note(box, query)
        return _observe(box, state, call.id, passages, note, query=query)
    if call.name == FIND.name:
        arguments = parse(FindArguments, call.arguments)
        opened = _shown_passage(state, arguments)
        passages = find(await box.retriever.document(opened.document_id), arguments.words, box.k)
        _record_call(state, call.id, "find", f"{opened.shown_id} {arguments.words.strip()}", passages)
        return _observe(box, state, call.id, passages)
    if PAGED_OPEN not in box.tools:
        opened = _shown_passage(state, parse(OpenArguments, call.arguments))
        return _observe(box, state, call.id, await fetch(box, state, call.id, "open", opened.shown_id))
    paged = parse(PagedOpenArguments, call.arguments)
    opened = _shown_passage(state, paged)
    document = await box.retriever.document(opened.document_id)
    start, passages = window(document, opened, paged.position)
    _record_call(state, call.id, "open", f"{opened.shown_id} {start + 1}", passages)
    return _observe(box, state, call.id, passages, describe_position(start, len(passages), len(document)))


def _shown_passage(state: AgentState, arguments: OpenArguments) -> Passage:
    shown_id = arguments.passage_id.strip()
    if shown_id not in state.passages:
        raise FormatError(f"No search has returned a passage '{shown_id[:40]}'.")
    return state.passages[shown_id]


def _look_at_links(links: LinksOf, state: AgentState, call: ToolCall) -> str:
    arguments = parse(LinksArguments, call.arguments)
    shown_id, phrase = arguments.passage_id.strip(), arguments.phrase.strip(" '")
    if shown_id not in state.passages:
        raise FormatError(f"No passage '{shown_id[:40]}' was shown.")
    passage, argument = state.passages[shown_id], shown_id
    if phrase:
        listed = links(passage, LINKED_MORE, MOST_PHRASES)
        related = [link for link in listed if words(link.phrase) == words(phrase)]
        if not related:
            phrases = ", ".join(f"'{link.phrase}'" for link in listed[:PHRASES]) or "none"
            raise FormatError(f"'{phrase[:40]}' is no phrase that `links` lists of '{shown_id}'; it lists: {phrases}.")
        argument = f"{shown_id} {related[0].phrase}"
    else:
        related = list(links(passage, LINKED, PHRASES))
    passages = list(dict.fromkeys(passage for link in related for passage in link.passages))
    _record_call(state, call.id, "links", argument, passages)
    return render_links(related)


def _observe(
    box: Toolbox, state: AgentState, call_id: str, passages: list[Passage], note: str = "", *, query: str = ""
) -> str:
    """Return the observation. The hits of a `query` leave out the texts that a generator has seen before."""
    if box.author is None:
        return "\n\n".join(filter(None, (render(passages), note)))
    new = [passage for passage in passages if not query or passage.shown_id not in state.visible]
    excerpts = _pick_excerpts(new[box.most_whole :], query) if query and box.most_whole else {}
    full_text = frozenset(passage.shown_id for passage in new) - excerpts.keys()
    visible, titles = state.visible if query else frozenset(), find_shared_titles(state.passages.values())
    state.observed[call_id] = Observation(tuple(passages), full_text, note, box.numbered, titles, excerpts)
    return state.observed[call_id].text(visible)


def _pick_excerpts(passages: Iterable[Passage], query: str) -> dict[str, str]:
    sentences = {passage.shown_id: pick_sentence(passage, query) for passage in passages}
    return {shown_id: sentence for shown_id, sentence in sentences.items() if sentence}


async def _absent_words_note(box: Toolbox, query: str) -> str:
    """Tell a generator which words of its query the corpus lacks, so that it does not search for them again."""
    absent = [f"'{word}'" for word in await find_absent_words(box.retriever, query)] if box.author else []
    return f"{', '.join(absent)} {'occurs' if len(absent) == 1 else 'occur'} nowhere in this corpus." if absent else ""


async def fetch(
    box: Toolbox, state: AgentState, call_id: str, tool: Literal["search", "open"], argument: str
) -> list[Passage]:
    if tool == "search":
        passages = [hit.passage for hit in await box.retriever.search(argument, box.k)]
    else:
        opened = state.passages[argument]
        count = OPENED_FEW if OPEN_FEW in box.tools else OPENED
        _, passages = window(await box.retriever.document(opened.document_id), opened, count=count)
    _record_call(state, call_id, tool, argument, passages)
    return passages


def _record_call(state: AgentState, call_id: str, tool: _LookupTool, argument: str, passages: list[Passage]) -> None:
    key = identity(tool, argument, state)
    repeat = any(identity(earlier.tool, earlier.argument, state) == key for earlier in state.calls)
    state.passages |= {passage.shown_id: passage for passage in passages}
    ids = tuple(passage.id for passage in passages)
    state.calls.append(Call(id=call_id, tool=tool, argument=argument, passage_ids=ids, repeat=repeat))


def identity(tool: str, argument: str, state: AgentState) -> tuple[str, str]:
    """Return a key that two calls share if they ask for the same.

    It holds the words of a query; the document of an opened passage with the requested position or words; or the
    passage whose links are listed.
    """
    match tool:
        case "search":
            return tool, " ".join(words(argument))
        case "open" | "find":
            shown_id, _, detail = argument.partition(" ")
            return tool, f"{state.passages[shown_id].document_id} {' '.join(words(detail))}"
    return tool, argument
