"""The context of an episode: configuration, model, index and lineage."""

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
    """The results of checks on the drafts of a seed, so that an unchanged part is not checked again.

    A reader that gets the same part in other words may answer otherwise, and a generator could never finish.
    """

    audits: dict[Draft, tuple[tuple[Finding, ...], tuple[Probe, ...]]] = field(default_factory=dict)
    readings: dict[Hashable, object] = field(default_factory=dict)
    """Outputs of readers without passages, by model, prompt and sample."""
    step_verdicts: dict[str, object] = field(default_factory=dict)
    """A reader's verdicts on the steps of evidence graphs, by its input for the step."""
    faulty_passages: Counter[str] = field(default_factory=Counter)
    """The number of proposed graphs in which a passage that decides the answer was at fault."""
    brought: str = ""
    """The question as the user brought it; empty if a generator writes it."""

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
    """The context that all episodes of a run share. Each episode has its own memory; all else is constant."""

    config: RunConfig
    llm: LLM
    retriever: Retriever
    lineage: Lineage
    others: Mapping[str, Retriever] = field(default_factory=dict)
    """Retrievers that the audit searches besides `retriever`, by name."""
    links: Mapping[str, "SideLinks"] = field(default_factory=dict)
    """The links of each side of the split, if a strategy uses them."""
    given: Mapping[str, Given] = field(default_factory=dict)
    """The questions that the user brings, by the passage id of their seeds; empty if seeds are passages."""
    memory: SeedMemory = field(default_factory=SeedMemory)

    @property
    def searched(self) -> dict[str, Retriever]:
        """Return all retrievers that the audit searches, by name. The run's own has an empty name."""
        return {"": self.retriever, **self.others}

    @cached_property
    def boundary(self) -> str:
        """Return the secret from which fence marks are made, so that no text older than the run can hold one."""
        return sha256(f"{self.lineage.corpus_fingerprint}:{self.config.seed}")[:16]

    def side(self, name: Literal["train", "eval"]) -> Retriever:
        """Return the retriever of a generator, which sees only the documents of its side of the split.

        For questions that the user brings it searches the whole corpus, since their evidence may lie anywhere.
        """
        return self.retriever if self.config.hardens else Sided(self.retriever, name)

    def prompt(self, name: str, **inputs: Any) -> tuple[Message, ...]:
        """Return the messages of a prompt, in its form for a target solve rate if there is one.

        The prompt of a writer names the language to write in if that is not English.
        """
        if (band := self.config.band) and name in prompts.IN_BAND:
            name, inputs = prompts.IN_BAND[name], {**inputs, "solve_rate": (band.low, band.high), "tries": band.tries}
        messages = prompts.load(name).render(self.boundary, **inputs)
        return prompts.in_language(messages, name, self.lineage.language)
