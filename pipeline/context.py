"""What an episode works with: configuration, model, index and where its records come from."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pipeline import prompts
from pipeline.config import RunConfig
from pipeline.llm.base import LLM
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.one_side import Sided
from pipeline.types import Draft, Finding, Given, Lineage, Message, Probe, sha256

if TYPE_CHECKING:
    from pipeline.links.related import SideLinks


@dataclass(eq=False)
class SeedMemory:
    """What checks have said of the drafts of one seed. Asked again in other words, a reader would say something else of
    what has not changed, and an author could never be done."""

    audits: dict[Draft, tuple[tuple[Finding, ...], tuple[Probe, ...]]] = field(default_factory=dict)
    readings: dict[Hashable, object] = field(default_factory=dict)
    """What was graded or answered from memory, by the model, the words that it was asked and the number of the try."""
    step_verdicts: dict[str, object] = field(default_factory=dict)
    """What a reader said of the steps of evidence graphs, by all that it was shown of a step."""
    faulty_passages: Counter[str] = field(default_factory=Counter)
    """In how many proposed graphs a passage was at fault that decides the answer."""
    brought: str = ""
    """The question as somebody brought it; empty where an author asks."""

    def copy(self) -> "SeedMemory":
        return replace(
            self,
            audits=dict(self.audits),
            readings=dict(self.readings),
            step_verdicts=dict(self.step_verdicts),
            faulty_passages=self.faulty_passages.copy(),
        )


@dataclass(frozen=True)
class RunContext:
    """Shared by all episodes of a run. Nothing in it changes but the memory, of which each episode has its own."""

    config: RunConfig
    llm: LLM
    retriever: Retriever
    lineage: Lineage
    others: Mapping[str, Retriever] = field(default_factory=dict)
    """What the audit searches beside `retriever`, by name."""
    links: Mapping[str, "SideLinks"] = field(default_factory=dict)
    """The links of each side of the split, if a strategy uses them."""
    given: Mapping[str, Given] = field(default_factory=dict)
    """The questions that somebody brings, by the ids of their seeds' passages; none where seeds are passages."""
    memory: SeedMemory = field(default_factory=SeedMemory)

    @property
    def searched(self) -> dict[str, Retriever]:
        """All that the audit searches: the run's own, without a name, and the others."""
        return {"": self.retriever, **self.others}

    @cached_property
    def boundary(self) -> str:
        """What the marks of fences around corpus text are made from: no text older than the run can hold one."""
        return sha256(f"{self.lineage.corpus_fingerprint}:{self.config.seed}")[:16]

    def side(self, name: Literal["train", "eval"]) -> Retriever:
        """The corpus as the generator of that side sees it: only the documents of its own split. All of it where
        somebody brings the questions, whose evidence lies where it lies."""
        return self.retriever if self.config.hardens else Sided(self.retriever, name)

    def prompt(self, name: str, **inputs: Any) -> tuple[Message, ...]:
        """The messages of a prompt; of an author's, where a solve rate is a target, the form that says so; of whoever
        writes, with the language to write in where that is not English."""
        if (band := self.config.band) and name in prompts.IN_BAND:
            name, inputs = prompts.IN_BAND[name], {**inputs, "solve_rate": (band.low, band.high), "tries": band.tries}
        messages = prompts.load(name).render(self.boundary, **inputs)
        return prompts.in_language(messages, name, self.lineage.language)
