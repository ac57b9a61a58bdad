"""Seeds and the questions that are made from them."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from pipeline.types.corpus import Passage
from pipeline.types.data import Data, Slotted, slotted
from pipeline.types.distractor import Kind
from pipeline.types.graph import FoundStep, Graph
from pipeline.types.program import Program


class AnswerType(StrEnum):
    ENTITY = "entity"
    DATE = "date"
    NUMBER = "number"
    LIST = "list"
    """Several things, all of them asked for, in any order."""
    ORDERED = "ordered"
    """Several things, each in a place of its own, as the gaps of a text have it; each hop gives one. Never asked for:
    the strategy `mask` makes them."""
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

    @property
    def decided(self) -> bool:
        """Does the answer follow from what the hops find, instead of being what the last one finds?"""
        return self in (AnswerType.BOOLEAN, AnswerType.COMPARISON)

    @property
    def chance(self) -> float:
        """How often a guess is right."""
        return 0.5 if self.decided else 0.0


CONSTRAINTS = "constraints"
"""The family of a question that hides a thing behind clues of which each fits many things."""
PLAIN = (AnswerType.ENTITY, AnswerType.DATE, AnswerType.NUMBER)


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
    answer_aliases: tuple[str, ...] = ()
    """Other names of the answer, by its author's word. A chain holds by one of them only where a reader agrees."""
    answer_kind: str = ""
    """What kind of thing the answer is, by its author's word: film, director, town."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)


def to_hop(graph: Graph, step: FoundStep) -> Hop:
    """Return a found step of a graph as a hop of the evidence chain."""
    return Hop(
        sub_question=graph.fill_in(step),
        answer=step.answer,
        answer_aliases=step.answer_aliases,
        passage_id=step.citation.passage_id,
        title=step.citation.title,
        quote=step.citation.quote,
        passage_sha256=step.citation.passage_sha256,
    )


@slotted
class AnswerItem(Slotted):
    """One thing of a list. The last hop's quote names it, or else its own quote of another passage does."""

    answer: str
    aliases: tuple[str, ...] = ()
    passage_id: str = ""
    title: str = ""
    quote: str = ""
    passage_sha256: str = ""

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
    """What a generator or refiner proposes. The last hop's answer is the answer, unless it is `decided`."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_items: tuple[AnswerItem, ...] = ()
    """Of a list, whose `answer` and last hop's answer are these, joined by semicolons; of what is `ordered` one for
    each hop, in their order."""
    answer_precision: Literal["", "day", "month", "year"] = ""
    """Dates only: how exact the question asks for it."""
    hops: tuple[Hop, ...]
    family: str = "chain"
    """How the question was made: `chain`, `meeting` of two chains, `conjunction` of clues about one thing,
    `constraints` where none of the clues tells that thing alone, `aggregate` of values, `mask` of spans, or `control`
    for one hop. Of a question that somebody brought: `given`, or the operator that last rewrote it, such as `category`;
    `category:reversed` made it easier."""
    negative_aspect: tuple[NegativeAspect, ...] = ()
    program: Program | None = None
    """Aggregates only: it computes the answer from the answers of hops."""
    graph: Graph | None = None
    """The evidence as a graph, if the draft was composed; `hops` are its found steps, in its order."""
    hidden: tuple[str, ...] = ()
    """Passages that no search for it finds: those of the document that it was made from, and of its versions."""

    @property
    def decided(self) -> bool:
        """Does the answer follow from what several chains of hops find, instead of being what the last hop finds?"""
        is_computed = self.graph is not None and self.graph.is_computed
        return self.answer_type.decided or self.ordered or self.program is not None or is_computed

    @property
    def ordered(self) -> bool:
        return self.answer_type is AnswerType.ORDERED

    @property
    def listed(self) -> bool:
        """Does the last hop give several things?"""
        return bool(self.answer_items) and not self.ordered and self.graph is None

    @property
    def joined(self) -> bool:
        """Do several clues meet in one thing, so that no hop leads to the next?"""
        return self.family in ("meeting", "conjunction", CONSTRAINTS)

    def wanted(self, number: int) -> tuple[tuple[str, ...], ...]:
        """What the evidence of a hop must name: its answer, or each item of a list, in one of its spellings."""
        if self.listed and number == len(self.hops) - 1:
            return tuple(item.spellings for item in self.answer_items)
        return ((self.hops[number].answer,),)


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
    answer_type: AnswerType
    target_steps: int
