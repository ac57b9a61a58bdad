"""Seeds and the questions that are made from them."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from pipeline.types.corpus import Passage
from pipeline.types.data import Data, Slotted, slotted
from pipeline.types.distractor import Kind
from pipeline.types.graph import Graph, Hop


class AnswerType(StrEnum):
    ENTITY = "entity"
    DATE = "date"
    NUMBER = "number"
    LIST = "list"
    """Several things, all of them asked for, in any order."""
    BOOLEAN = "boolean"
    """Yes or no."""
    COMPARISON = "comparison"
    """One of the things that the question names."""
    UNANSWERABLE = "unanswerable"
    """The corpus holds no answer: "not found" is right. Never asked for; see `Record.twin`."""

    @property
    def plain(self) -> bool:
        """Is it one short span of a passage, as a run asks for by default?"""
        return self in PLAIN


PLAIN = (AnswerType.ENTITY, AnswerType.DATE, AnswerType.NUMBER)


@slotted
class AnswerItem(Slotted):
    """One thing of a list."""

    answer: str
    aliases: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.aliases)


class NegativeAspect(Data):
    """How a careless reader may be misled (RAGShaper, Fig. 12). For tracing a question back; no agent is shown it."""

    dimension: Kind
    misleading_claim: str = Field(description="The wrong answer that it suggests.")
    disambiguation: str = Field(description="What tells the claim from the truth.")
    distraction_text: str = Field("", description="Where it was read, word for word.")


class Draft(Data):
    """What a generator or refiner proposes: a question, and the evidence that leads to its answer."""

    question: str
    graph: Graph
    answer_type: AnswerType
    answer_aliases: tuple[str, ...] = ()
    answer_precision: Literal["", "day", "month", "year"] = ""
    """Of a date: how exact the question asks for it."""
    negative_aspect: tuple[NegativeAspect, ...] = ()
    origin: str = ""
    """Of a question that somebody brought: `given`, or the operator that last rewrote it, such as `category`;
    `category:reversed` made it easier."""

    @property
    def answer(self) -> str:
        return self.graph.answer

    @property
    def hops(self) -> tuple[Hop, ...]:
        return self.graph.hops


class Given(Data):
    """A question that somebody brings, with its answer, to have it made harder."""

    passage: Passage
    """What its seed starts from: the question as it was brought, and no text of the corpus."""
    answer: str
    answer_aliases: tuple[str, ...]
    answer_type: AnswerType
    documents: tuple[frozenset[str], ...] = ()
    """Its evidence in the corpus, as far as that is known: of each set of documents one is needed."""

    @property
    def question(self) -> str:
        return self.passage.text

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)


@slotted
class Seed(Slotted):
    """One planned attempt. `key` is the identity of its journal line."""

    key: str
    passage: Passage
    draw: int
    side: Literal["train", "eval"]
    target_steps: int
