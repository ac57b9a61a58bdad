"""One tool call of an agent: whether it is well formed, what it shows, and whether it repeats an earlier one."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.agents.parse import parse
from pipeline.agents.tools import (
    CHECK,
    FIND,
    LINKED,
    LINKED_MORE,
    LINKS,
    PAGED_OPEN,
    FindArguments,
    LinksArguments,
    OpenArguments,
    PagedOpenArguments,
    SearchArguments,
    drafted,
    find_shared_titles,
    render,
    render_links,
)
from pipeline.agents.within_document import find, place, window
from pipeline.config.limits import AgentLimits, AuthorLimits
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


_Looked = Literal["search", "open", "find", "links"]
FEW_LEFT = 6
"""Searches left from which on an author is told their number with every result."""
LinksOf = Callable[[Passage, int], Sequence["Related"]]


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """What calls are carried out with. The last tool ends the work; `accept` raises FormatError on bad arguments."""

    tools: tuple[Tool, ...]
    limits: AgentLimits
    retriever: Retriever
    k: int
    accept: Callable[[str, "AgentState"], object]
    author: AuthorLimits | None = None
    """Of generator, refiner and composer. What their conversation shows already a search names and does not show again,
    and passages are cut where it grows too large. Never of solver and teacher: what they read is the data."""
    check: Callable[[str, "AgentState"], Awaitable[str]] | None = None
    """What the checks say of a draft, given as the last tool takes it, and nothing where they hold nothing against it;
    raises FormatError on bad arguments."""

    numbered: bool = False
    """Whether passages are shown with numbered sentences, for an agent that cites them by number."""
    give_up: str = ""
    """Arguments of the last tool with which an agent ends after its last check failed, instead of going on."""
    links: LinksOf | None = None
    """What shares the phrases of a passage: so many passages of each phrase."""

    @property
    def checks(self) -> int:
        """How often the agent may check a draft."""
        return self.author.checks if self.author and self.check else 0


class Observation(NamedTuple):
    """What a search or open of an author found, best first, and the shown ids of those whose text stands there."""

    passages: tuple[Passage, ...]
    whole: frozenset[str]
    note: str = ""
    numbered: bool = False
    shared_titles: frozenset[str] = frozenset()
    """Titles that passages of several documents have: the id of the document stands beside them."""

    def text(self, visible: Collection[str]) -> str:
        """The tool message. Passages whose text does not stand there are named: those that are `visible` elsewhere, and
        the others as cut."""
        ids = {passage.shown_id for passage in self.passages}
        named, cut = ids.intersection(visible) - self.whole, ids - self.whole - {*visible}
        shown = render(self.passages, named=named, cut=cut, shared_titles=self.shared_titles, numbered=self.numbered)
        return "\n\n".join(filter(None, (shown, self.note)))


@dataclass
class AgentState:
    """What one agent has done and read so far. `passages` goes by shown id: only what was shown can be opened."""

    passages: dict[str, Passage] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    sent: tuple[Message, ...] = ()
    """The messages of the last request."""
    usage: Usage = field(default_factory=Usage)
    given: frozenset[str] = frozenset()
    """Shown ids of the passages that the prompt shows whole."""
    observed: dict[str, Observation] = field(default_factory=dict)
    """What each tool message of an author's conversation shows, by the id of its call."""
    checks: int = 0
    probes: list[Probe] = field(default_factory=list)
    """What readers said of the drafts that it had checked."""
    errors: int = 0
    errors_in_a_row: int = 0
    final: str = ""
    made: Counter[str] = field(default_factory=Counter)
    """In how many turns each call was made."""
    stuck: bool = False
    """The last turn held nothing but calls that were made too often before."""

    @property
    def visible(self) -> frozenset[str]:
        """Shown ids of the passages whose text stands in the conversation."""
        return self.given.union(*(shown.whole for shown in self.observed.values()))


async def carry_out(box: Toolbox, state: AgentState, call: ToolCall, place: int) -> tuple[str, bool]:
    """The observation of one tool call, and whether the call was well formed. `place` counts from 0 within a turn."""
    last, names = box.tools[-1].name, {tool.name for tool in box.tools}
    try:
        if place >= box.limits.calls_per_turn:
            raise FormatError(f"At most {box.limits.calls_per_turn} calls a turn.")
        if call.name not in names:
            raise FormatError(f"There is no tool '{call.name[:40]}'.")
        if call.name == last:
            if box.accept(call.arguments, state) is not None and box.check and CHECK not in names:
                return await _checked(box, state, call.arguments), True
            state.final = call.arguments
            return "", True
        if call.name == CHECK and box.check:
            return await _checked(box, state, call.arguments), True
        if len(state.calls) >= box.limits.searches:
            left = f"`{CHECK}` or `{last}`" if CHECK in names and state.checks < box.checks else f"`{last}`"
            return f"The search budget is used up. Call {left} now.", True
        return await _look(box, state, call) + _remaining(box, state), True
    except FormatError as error:
        return f"Error: {error}{_needed(box, call)}", False


def _remaining(box: Toolbox, state: AgentState) -> str:
    """Tell an author how many searches and openings are left, once these are few."""
    left = box.limits.searches - len(state.calls)
    return f"\n\nSearches and openings left: {left}." if box.check and left <= FEW_LEFT else ""


def _needed(box: Toolbox, call: ToolCall) -> str:
    """What a right call looks like, where the arguments do not fit the tool's schema; else it is what they say that is
    wrong, and the error names it."""
    tool = next((tool for tool in box.tools if tool.name == call.name), None)
    if tool is None or OfferedTools([tool]).fits(tool.name, read_json(call.arguments)):
        return ""
    return f"; {tool.name} needs {example_arguments(tool)}"


async def _checked(box: Toolbox, state: AgentState, arguments: str) -> str:
    """What the checks say of a draft. One that they hold nothing against is what the agent gives: another turn only to
    say so would cost as much as all before it together."""
    if box.check is None or state.checks >= box.checks:
        return f"All {box.checks} checks are used up. Call `{box.tools[-1].name}`."
    draft = drafted(arguments)
    found = await box.check(draft, state)
    state.checks += 1
    if not found:
        state.final = draft
        return ""
    left = "Checks" if any(tool.name == CHECK for tool in box.tools) else "Proposals"
    if state.checks == box.checks and box.give_up:
        state.final = box.give_up
        return ""
    return f"{found}\n{left} left: {box.checks - state.checks}."


async def _look(box: Toolbox, state: AgentState, call: ToolCall) -> str:
    """The observation of a search, an open, a find or a look at links."""
    if call.name == LINKS.name and box.links:
        return _linked(box.links, state, call)
    if call.name == "search":
        query = parse(SearchArguments, call.arguments).query.strip()
        if not words(query):
            raise FormatError("The query holds no word.")
        found, note = await fetch(box, state, call.id, "search", query), await _nowhere(box, query)
        return _rendered(box, state, call.id, found, state.visible, note)
    if call.name == FIND.name:
        asked = parse(FindArguments, call.arguments)
        opened = _opened(state, asked)
        found = find(await box.retriever.document(opened.document_id), asked.words, box.k)
        _note(state, call.id, "find", f"{opened.shown_id} {asked.words.strip()}", found)
        return _rendered(box, state, call.id, found)
    if PAGED_OPEN not in box.tools:
        opened = _opened(state, parse(OpenArguments, call.arguments))
        return _rendered(box, state, call.id, await fetch(box, state, call.id, "open", opened.shown_id))
    paged = parse(PagedOpenArguments, call.arguments)
    opened = _opened(state, paged)
    passages = await box.retriever.document(opened.document_id)
    start, found = window(passages, opened, paged.position)
    _note(state, call.id, "open", f"{opened.shown_id} {start + 1}", found)
    return _rendered(box, state, call.id, found, note=place(start, len(found), len(passages)))


def _opened(state: AgentState, asked: OpenArguments) -> Passage:
    shown_id = asked.passage_id.strip()
    if shown_id not in state.passages:
        raise FormatError(f"No search has returned a passage '{shown_id[:40]}'.")
    return state.passages[shown_id]


def _linked(links: LinksOf, state: AgentState, call: ToolCall) -> str:
    read = parse(LinksArguments, call.arguments)
    asked, phrase = read.passage_id.strip(), read.phrase.strip(" '")
    if asked not in state.passages:
        raise FormatError(f"No passage '{asked[:40]}' was shown.")
    found = links(state.passages[asked], LINKED_MORE if phrase else LINKED)
    if phrase:
        listed = ", ".join(f"'{one.phrase}'" for one in found) or "none"
        found = [one for one in found if words(one.phrase) == words(phrase)]
        if not found:
            raise FormatError(f"'{phrase[:40]}' is no phrase that `links` lists of '{asked}'; it lists: {listed}.")
        asked = f"{asked} {found[0].phrase}"
    passages = list(dict.fromkeys(passage for one in found for passage in one.passages))
    _note(state, call.id, "links", asked, passages)
    return render_links(found)


def _rendered(
    box: Toolbox, state: AgentState, call_id: str, passages: list[Passage], named: Collection[str] = (), note: str = ""
) -> str:
    """The observation, in which an author is shown `named` passages by name alone."""
    if box.author is None:
        return "\n\n".join(filter(None, (render(passages), note)))
    whole = frozenset(passage.shown_id for passage in passages if passage.shown_id not in named)
    titles = find_shared_titles(state.passages.values())
    state.observed[call_id] = Observation(tuple(passages), whole, note, box.numbered, titles)
    return state.observed[call_id].text(named)


async def _nowhere(box: Toolbox, query: str) -> str:
    """What an author is told of words that it need not search for again."""
    absent = [f"'{word}'" for word in await find_absent_words(box.retriever, query)] if box.author else []
    return f"{', '.join(absent)} {'occurs' if len(absent) == 1 else 'occur'} nowhere in this corpus." if absent else ""


async def fetch(
    box: Toolbox, state: AgentState, call_id: str, tool: Literal["search", "open"], argument: str
) -> list[Passage]:
    """Carry out a search, or open a passage by its shown id, and note it as a call."""
    if tool == "search":
        passages = [hit.passage for hit in await box.retriever.search(argument, box.k)]
    else:
        opened = state.passages[argument]
        _, passages = window(await box.retriever.document(opened.document_id), opened)
    _note(state, call_id, tool, argument, passages)
    return passages


def _note(state: AgentState, call_id: str, tool: _Looked, argument: str, passages: list[Passage]) -> None:
    same = identity(tool, argument, state)
    repeat = any(identity(earlier.tool, earlier.argument, state) == same for earlier in state.calls)
    state.passages |= {passage.shown_id: passage for passage in passages}
    ids = tuple(passage.id for passage in passages)
    state.calls.append(Call(id=call_id, tool=tool, argument=argument, passage_ids=ids, repeat=repeat))


def identity(tool: str, argument: str, state: AgentState) -> tuple[str, str]:
    """What makes two calls the same: the words of a query, the document of an opened passage with the position or the
    words that were asked for there, the passage whose links are listed."""
    match tool:
        case "search":
            return tool, " ".join(words(argument))
        case "open" | "find":
            shown_id, _, rest = argument.partition(" ")
            return tool, f"{state.passages[shown_id].document_id} {' '.join(words(rest))}"
    return tool, argument
