"""Seeds and the questions that are made from them."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from pipeline.types.corpus import Passage
from pipeline.types.data import Data, Slotted, slotted
from pipeline.types.distractor import Kind


class AnswerType(StrEnum):
    ENTITY = "entity"
    DATE = "date"
    NUMBER = "number"


@slotted
class Hop(Slotted):
    """One link of the evidence chain. `quote` is a verbatim slice of the passage's text and holds the answer."""

    sub_question: str
    answer: str
    passage_id: str
    title: str
    quote: str
    passage_sha256: str
    relation: str = ""
    """The generator's own short name of the link (a verb and preposition, say), for diversity figures."""


class NegativeAspect(Data):
    """How a careless reader may be misled (RAGShaper, Fig. 12). For tracing a question back; no agent is shown it."""

    dimension: Kind
    misleading_claim: str = Field(description="The wrong answer that it suggests.")
    disambiguation: str = Field(description="What tells the claim from the truth.")
    distraction_text: str = Field("", description="Where it was read, word for word.")


class Draft(Data):
    """What a generator or refiner proposes. The last hop's answer is the answer."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: Literal["", "day", "month", "year"] = ""
    """Dates only: how exact the question asks for it."""
    hops: tuple[Hop, ...]
    family: str = "chain"
    """How the question was made: `chain`, or `control` for one hop."""
    negative_aspect: tuple[NegativeAspect, ...] = ()


@slotted
class Seed(Slotted):
    """One planned attempt. `key` is the identity of its journal line."""

    key: str
    passage: Passage
    draw: int
    side: Literal["train", "eval"]
    answer_type: AnswerType
    target_steps: int
