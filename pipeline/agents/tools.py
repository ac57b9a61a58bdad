"""The tools of every agent, and the one rendering of what they return.

The solver is offered `search`, `open`, `answer`, the teacher all but `open`; the generator `search`, `open`, `propose`;
the refiner `revise`, with `search` and `open` where the preset lets it search; the curator `explore`, once for each
action; the composer `compose`, with `search` and `open` to try its question out. The name of the last tool is the
agent's role.
"""

from collections.abc import Iterable
from typing import Literal

from pipeline.llm.base import Tool
from pipeline.text import trimmed
from pipeline.types import Data, NegativeAspect, Passage


class SearchArguments(Data):
    query: str


class OpenArguments(Data):
    passage_id: str


class AnswerArguments(Data):
    answer: str


class ProposedHop(Data):
    """A hop as the generator states it; `passage_id` is the shown one."""

    sub_question: str
    answer: str
    passage_id: str
    quote: str
    relation: str = ""


class ProposeArguments(Data):
    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: str
    answer_precision: str = ""
    hops: tuple[ProposedHop, ...]
    family: str = "chain"


class ComposeArguments(ProposeArguments):
    negative_aspect: tuple[NegativeAspect, ...] = ()


class ExploreArguments(Data):
    """The next action of a curator; `leave` ends the path."""

    tool: Literal["search", "open", "leave"]
    argument: str = ""
    """A query, or the shown id of a passage that the path holds."""
    intent: str = ""


def _tool(name: str, description: str, arguments: type[Data]) -> Tool:
    return Tool(name=name, description=description, parameters=arguments.model_json_schema())


SEARCH = _tool("search", "Search the corpus. Returns the passages that match the query best.", SearchArguments)
OPEN = _tool("open", "Read the whole document of a passage that a search has returned.", OpenArguments)
ANSWER = _tool("answer", "Give the final answer: a short span, without a sentence around it.", AnswerArguments)
PROPOSE = _tool("propose", "Propose the question with its answer and the evidence of every hop.", ProposeArguments)
REVISE = _tool("revise", "Replace the draft by a better one, with its answer and evidence.", ProposeArguments)
EXPLORE = _tool("explore", "Take the next action of this path, and say what for.", ExploreArguments)
COMPOSE = _tool("compose", "Give the question with its answer and the evidence of every hop.", ComposeArguments)

SOLVER_TOOLS = (SEARCH, OPEN, ANSWER)
TEACHER_TOOLS = (SEARCH, ANSWER)
GENERATOR_TOOLS = (SEARCH, OPEN, PROPOSE)
REFINER_TOOLS = (SEARCH, OPEN, REVISE)
COMPOSER_TOOLS = (SEARCH, OPEN, COMPOSE)


def shown(passage: Passage) -> dict[str, str]:
    """A passage as prompts show it."""
    return {"id": passage.shown_id, "title": passage.title, "text": passage.text}


def render(passages: Iterable[Passage]) -> str:
    """The observation of a search or open: the only text form in which an agent, or a trained model, sees passages.

    An empty line stands between passages and in none of them, so that no text can pretend to be a head.
    """
    blocks = [
        f"Doc {rank} [{passage.shown_id}] {' '.join(passage.title.split())}\n{trimmed(passage.text)}"
        for rank, passage in enumerate(passages, 1)
    ]
    return "\n\n".join(blocks) or "No passage matches."
