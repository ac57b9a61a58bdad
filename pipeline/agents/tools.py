"""The tools of every agent, and the one rendering of what they return.

The name of the last tool tells the agent's role:

- The solver has `search`, `open` and `answer`, and `find` if the settings say so. The teacher has the same but `open`.
- The generator has `search`, `open`, `check` and `propose`. The refiner ends with `revise` and the composer with
  `compose`; both search and check only if the settings let them.
- The planner of evidence graphs has `search`, `open` and `propose`.
- The planner, and the agent that rewrites a given question, have `links` too if the corpus has any.
- The curator has `explore` alone, and calls it once for each action.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from math import fsum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import orjson
from pydantic import Field

from pipeline.agents.graph_proposals import ComposeArguments, GraphArguments, RewriteArguments, WordedGraphArguments
from pipeline.agents.parse import schema_of
from pipeline.config.loop import EnvironmentConfig
from pipeline.llm.base import Tool
from pipeline.text import sentences, words
from pipeline.text.control_tokens import break_tokens
from pipeline.text.scripts import lay_out
from pipeline.types import Data, Passage, Trajectory

if TYPE_CHECKING:
    from pipeline.links.related import Related

OPENED, OPENED_FEW = 12, 3
"""Passages that one `open` shows: about 1,200 words, or 300 for an agent that looks for a fact or two."""
LINKED, LINKED_MORE = 3, 30
"""Passages that `links` shows for each phrase, and for the one phrase that an agent requests."""
PHRASES, MOST_PHRASES = 8, 1_000
"""Phrases that `links` shows, and that an agent can request: those that are not shown too."""
_SHORT = 300
"""The longest passage or sentence, in characters, that is shown whole where only an excerpt is due."""
EMPTY: Mapping[str, str] = MappingProxyType({})
_DATED = re.compile(r"^(Doc \d+ \[p[0-9a-f]{12}\] [^\n]*) \(\d{4}-\d\d(?:-\d\d)?(?:, [^()\n]*)?\)$", re.MULTILINE)
_DOCUMENT_ID_BREAK = re.compile(r"[\]\s]+")
"""Characters that would end the head of a passage."""
_POSITION_LINE = re.compile(r"\n\nPassages \d+ to \d+ of \d+ of the document\.[^\n]*\Z")
_BLOCK = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})(?: of [^\]\n]*)?\] ([^\n]*)\n(.*)", re.DOTALL)


class SearchArguments(Data):
    query: str = Field(description="A few plain words that the passage you look for would hold.")


class OpenArguments(Data):
    passage_id: str = Field(description="The id in square brackets of a passage that a search has returned.")


class PagedOpenArguments(OpenArguments):
    position: int = Field(0, ge=0, description="Number of the passage to begin at; 0 for those around passage_id.")


class FindArguments(OpenArguments):
    words: str = Field(description="A few words that the passage you look for would hold.")


class LinksArguments(Data):
    passage_id: str = Field(description="The id of a passage that was shown.")
    phrase: str = Field("", description="Empty, or a phrase of the passage: shows more of what holds it.")


class AnswerArguments(Data):
    answer: str = Field(description="The shortest complete span: a name, a date or a number.")


class ExploreArguments(Data):
    """The next action of a curator; `leave` ends the path."""

    tool: Literal["search", "open", "leave"] = Field(
        description="What to do next; leave if nothing new can be reached."
    )
    argument: str = Field("", description="A query for search, or the id of a passage of the path for open.")
    intent: str = Field("", description="Which fact leads there and what you expect to learn, in one sentence.")


def _tool(name: str, description: str, arguments: type[Data]) -> Tool:
    return Tool(name=name, description=description, parameters=schema_of(arguments))


SEARCH = _tool("search", "Search the corpus. Returns the passages that match the query best.", SearchArguments)
OPEN = _tool(
    "open",
    f"Read the passages around one that a search has returned, up to {OPENED}. Its document may hold no other.",
    OpenArguments,
)
OPEN_FEW = _tool(
    OPEN.name,
    f"Read a passage that was shown, with its neighbours in the document: {OPENED_FEW} in all.",
    OpenArguments,
)
PAGED_OPEN = _tool(
    OPEN.name,
    f"Read up to {OPENED} passages of the document of a passage that a search has returned: those around it, or from a "
    "position on. Says how many passages the document has.",
    PagedOpenArguments,
)
FIND = _tool("find", "List the passages of the document of one passage that hold certain words best.", FindArguments)
LINKS = _tool("links", "List what else in the corpus holds the phrases of a passage, and says of them.", LinksArguments)
ANSWER = _tool("answer", "Give the final answer: a short span, without a sentence around it.", AnswerArguments)
PROPOSE = _tool("propose", "Propose the question with the steps of its evidence.", WordedGraphArguments)
REVISE = _tool("revise", "Replace the draft by a better one, with the steps of its evidence.", WordedGraphArguments)
GROUND = _tool("ground", "Give the steps that lead to the answer of the question as it stands.", GraphArguments)
REWRITE = _tool("rewrite", "Replace the wording by one with the same answer, with its steps.", RewriteArguments)
EXPLORE = _tool("explore", "Take the next action of this path, and say what for.", ExploreArguments)
COMPOSE = _tool("compose", "Give the question with the steps of its evidence.", ComposeArguments)
PROPOSE_GRAPH = _tool("propose", "Propose the evidence graph. The answer names everything to mend.", GraphArguments)
CHECK = "check"


def _check(last: str) -> Tool:
    """Build `check` for an agent whose last tool has this name.

    It refers to the fields of that tool: a copy of them would be sent again in every turn.
    """
    description = (
        f"Have a draft checked as by the audit. One that passes is taken as by `{last}`; of any other the rules are "
        "named that would send it back."
    )
    draft = {"type": "object", "description": f"All that `{last}` takes, under the same names."}
    parameters = {"properties": {"draft": draft}, "required": ["draft"], "type": "object"}
    return Tool(name=CHECK, description=description, parameters=parameters)


def unwrap_draft(arguments: str) -> str:
    """Return the draft in the arguments of a `check`.

    Return the arguments unchanged if they hold no draft: some models give its fields directly.
    """
    try:
        fields = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    draft = fields.get("draft") if isinstance(fields, dict) else None
    return orjson.dumps(draft).decode() if isinstance(draft, dict) else arguments


SOLVER_TOOLS = (SEARCH, OPEN, ANSWER)
GENERATOR_TOOLS = (SEARCH, OPEN, _check(PROPOSE.name), PROPOSE)
REFINER_TOOLS = (SEARCH, OPEN, _check(REVISE.name), REVISE)
GRAPH_TOOLS, LINKED_GRAPH_TOOLS = (SEARCH, OPEN_FEW, PROPOSE_GRAPH), (SEARCH, OPEN_FEW, LINKS, PROPOSE_GRAPH)
GROUND_TOOLS, REWRITE_TOOLS = (SEARCH, OPEN, GROUND), (SEARCH, OPEN, _check(REWRITE.name), REWRITE)
COMPOSER_TOOLS = (SEARCH, OPEN, _check(COMPOSE.name), COMPOSE)


def solver_tools(settings: EnvironmentConfig) -> tuple[Tool, ...]:
    return (SEARCH, PAGED_OPEN if settings.pages else OPEN, *([FIND] if settings.find else ()), ANSWER)


def show_passage(passage: Passage, *, numbered: bool = False) -> dict[str, str]:
    """Return a passage as a JSON block of a prompt shows it; `numbered` puts a number before each sentence."""
    about = {"id": passage.shown_id, "title": passage.title, "date": passage.date, "source": passage.source}
    text = number_sentences(passage.text) if numbered else lay_out(passage.text)
    return {name: value for name, value in about.items() if value or name == "title"} | {"text": text}


def number_sentences(text: str) -> str:
    return "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(_split_sentences(text), 1))


def show_sentence(passage: Passage, sentence: str) -> str:
    """Return a sentence of a passage with its number; the first one if `sentence` is empty."""
    texts = _split_sentences(passage.text)
    index = texts.index(sentence) if sentence else 0
    return f"[{index + 1}] {textwrap.shorten(texts[index], _SHORT, placeholder=' ...')}"


def _split_sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentences(text)]


def pick_sentence(passage: Passage, query: str) -> str:
    """Return the sentence of a passage that matches a query best, with its number.

    A word counts more if fewer sentences hold it. Return an empty text if the passage is short and may be shown whole.
    """
    if len(passage.text) <= _SHORT:
        return ""
    texts = _split_sentences(passage.text)
    vocabularies = [set(words(text)) for text in texts]
    counts = Counter(word for vocabulary in vocabularies for word in vocabulary)
    query_words = set(words(query))
    # `fsum` is exact, so that the order of a set decides nothing.
    scores = [fsum(1 / counts[word] for word in vocabulary & query_words) for vocabulary in vocabularies]
    return show_sentence(passage, texts[scores.index(max(scores))])


def find_shared_titles(passages: Iterable[Passage]) -> frozenset[str]:
    first = dict[str, str]()
    return frozenset(p.title for p in passages if first.setdefault(p.title, p.document_id) != p.document_id)


def render(
    passages: Iterable[Passage],
    *,
    heads_only: Container[str] = (),
    excerpts: Mapping[str, str] = EMPTY,
    cut: Container[str] = (),
    shared_titles: Container[str] = (),
    numbered: bool = False,
) -> str:
    """Render what a search or open shows, the only text form in which an agent or a trained model sees passages.

    Empty lines separate passages and never occur within one, so that no text can pretend to be a head.

    Args:
        passages: the passages, best first.
        heads_only: shown ids of passages that appear without their text.
        excerpts: what stands after the head in place of the text, by shown id.
        cut: shown ids of passages that are listed at the end, in one line.
        shared_titles: titles that need the id of the document beside them.
        numbered: whether to put a number before each sentence.
    """
    blocks, cut_heads = [], []
    layout = number_sentences if numbered else lay_out
    for rank, passage in enumerate(passages, 1):
        document = f" of {_DOCUMENT_ID_BREAK.sub(' ', passage.document_id)}" if passage.title in shared_titles else ""
        head = f"[{passage.shown_id}{document}] {passage.heading}"
        if passage.shown_id in cut:
            cut_heads.append(head)
        elif passage.shown_id in excerpts:
            blocks.append(f"Doc {rank} {head}: {excerpts[passage.shown_id]}")
        else:
            text = "" if passage.shown_id in heads_only else f"\n{layout(passage.text)}"
            blocks.append(f"Doc {rank} {head}{text}")
    if cut_heads:
        blocks.append(f"Cut to save room; open an id to read it again: {'; '.join(cut_heads)}")
    return break_tokens("\n\n".join(blocks)) or "No passage matches."


def render_links(related: Iterable["Related"]) -> str:
    blocks = [
        f"'{link.phrase}', in {link.documents} documents:"
        + "".join(f"\n[{p.shown_id}] {p.heading}: {_excerpt(p, sentence)}" for p, sentence in _first_passages(link))
        for link in related
    ]
    return break_tokens("\n\n".join(blocks)) or "No phrase of the passage stands in others."


def _first_passages(link: "Related") -> Iterable[tuple[Passage, str]]:
    first: dict[str, tuple[Passage, str]] = {}
    for passage, sentence in zip(link.passages, link.sentences, strict=True):
        first.setdefault(passage.document_id, (passage, sentence))
    return first.values()


def _excerpt(passage: Passage, sentence: str) -> str:
    """Return a short passage whole; of a longer one the sentence, or its first one if it is a title that matches."""
    if len(passage.text) <= _SHORT:
        return " ".join(number_sentences(passage.text).split())
    return show_sentence(passage, sentence)


def remove_dates(observation: str) -> str:
    """Return an observation without the dates in its heads and the line that counts the document's passages.

    Questions ask for neither, so neither may count as evidence.
    """
    text = _POSITION_LINE.sub("", observation)
    return _DATED.sub(r"\1", text) if ")\n" in text else text


class ShownPassage(NamedTuple):
    """A passage as an agent saw it; `id` is the shown one."""

    id: str
    title: str
    text: str


def shown_passages(observation: str) -> list[ShownPassage]:
    """Parse what `render` wrote: return the passages of an observation in order, or none if it is an error text."""
    matches = map(_BLOCK.fullmatch, observation.split("\n\n"))
    return [ShownPassage(match[1], match[2], _remove_numbers(match[3])) for match in matches if match]


def _remove_numbers(text: str) -> str:
    lines = text.split("\n")
    if not all(line.startswith(f"[{number}] ") for number, line in enumerate(lines, 1)):
        return text
    return " ".join(line.partition("] ")[2] for line in lines)


def all_shown(trajectories: Iterable[Trajectory]) -> dict[str, ShownPassage]:
    """Return the passages that these agents were shown, by id, in the order in which each first appeared."""
    texts = (m.content for trajectory in trajectories for m in trajectory.messages if m.role == "tool")
    return {passage.id: passage for text in texts for passage in shown_passages(text)}
