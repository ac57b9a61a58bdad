"""Seeds, and the questions that are built from them."""

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
    """Several things, all of which the question asks for, in any order."""
    BOOLEAN = "boolean"
    """Yes or no."""
    COMPARISON = "comparison"
    """One of the things that the question names."""
    UNANSWERABLE = "unanswerable"
    """The corpus has no answer: "not found" is right. Only twins have this type; see `Record.twin`."""

    @property
    def plain(self) -> bool:
        """Return whether the answer is one short span of a passage, which runs ask for by default."""
        return self in PLAIN


PLAIN = (AnswerType.ENTITY, AnswerType.DATE, AnswerType.NUMBER)


@slotted
class AnswerItem(Slotted):
    """One item of a list."""

    answer: str
    aliases: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.aliases)


class NegativeAspect(Data):
    """How a careless reader may be misled (RAGShaper, Fig. 12). It documents a question; agents do not see it."""

    dimension: Kind
    misleading_claim: str = Field(description="The wrong answer that it suggests.")
    disambiguation: str = Field(description="What tells the claim from the truth.")
    distraction_text: str = Field("", description="Where it was read, word for word.")


class Draft(Data):
    """The proposal of a generator or refiner: a question, and the evidence for its answer."""

    question: str
    graph: Graph
    answer_type: AnswerType
    answer_aliases: tuple[str, ...] = ()
    answer_precision: Literal["", "day", "month", "year"] = ""
    """The precision of the date that the question asks for."""
    negative_aspect: tuple[NegativeAspect, ...] = ()
    origin: str = ""
    """For a user's question: `given`, or the operator that last rewrote it, such as `category`; `category:reversed`
    made it easier."""

    @property
    def answer(self) -> str:
        return self.graph.answer

    @property
    def hops(self) -> tuple[Hop, ...]:
        return self.graph.hops


class Given(Data):
    """A user's question and its answer, which a run makes harder."""

    passage: Passage
    """The passage of its seed: the original question instead of a text of the corpus."""
    answer: str
    answer_aliases: tuple[str, ...]
    answer_type: AnswerType
    documents: tuple[frozenset[str], ...] = ()
    """Its evidence in the corpus, as far as it is known: one document of each set is needed."""

    @property
    def question(self) -> str:
        return self.passage.text

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)


@slotted
class Seed(Slotted):
    """A planned attempt. `key` is the identity of its journal line."""

    key: str
    passage: Passage
    draw: int
    side: Literal["train", "eval"]
    target_steps: int

    @property
    def place(self) -> str:
        """Return an identity that, unlike `key`, does not depend on the settings of the run.

        Random choices that use it are the same in two runs with different settings. So the runs can be compared seed by
        seed, and share cached answers.
        """
        return f"{self.passage.id}:{self.draw}"
