"""The evidence graph of a question: steps that passages state, and steps that are computed from other steps.

The last step gives the final answer. A chain, a set of clues, a comparison of two chains and a filter over a set are
shapes of this one structure.
"""

import re
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Literal

from pydantic import Field, model_validator

from pipeline.types.data import Data, Slotted, slotted

MOST_STEPS = 24
_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]{1,24})\}")


class GraphStep(Data):
    """One step. Ids are short names that the generator chooses, unique within the graph."""

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,24}$")
    sub_question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Ids of the earlier steps whose answers this step uses."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)

    def replace_ids(self, name: Callable[[str], str]) -> str:
        return " ".join(_PLACEHOLDER.sub(lambda match: name(match[1]), self.sub_question).split())


class Citation(Data):
    """Sentences of one passage, and their text."""

    passage_id: str
    title: str
    sentences: tuple[int, ...]
    """Indices of the cited sentences in the passage, in ascending order, from 0."""
    quote: str
    passage_sha256: str

    @property
    def document_id(self) -> str:
        return self.passage_id.rpartition("#")[0]


class FoundStep(GraphStep):
    """A step whose answer a passage states."""

    citation: Citation
    about: str = ""
    """The name of the thing that a first step is about, if the title of its document is not a name of it; or the member
    of a set that the step starts from."""
    population: str = ""
    """The group that a value describes, such as "births in the United States"."""
    time: str = ""
    """The time that a value describes, such as "2019" or "a year"."""
    is_exact: bool = False
    """Whether the passage defines a number (a limit, a price, a count) and did not measure or round it."""

    @property
    def members(self) -> tuple[str, ...]:
        """Return the members of the set that the answer lists, separated by semicolons; none if it is one thing."""
        parts = tuple(part.strip() for part in self.answer.split(";"))
        return parts if len(parts) > 1 else ()


class ComputedStep(GraphStep):
    """A step whose answer follows from the answers that it needs (see `pipeline.operations`)."""

    operation: str
    needs: tuple[str, ...] = Field(min_length=2)
    which: Literal["", "most", "least", "earliest", "latest"] = ""
    """The end of the scale, for `extreme`."""
    condition: Literal["", "is", "is not", "before", "after", "under", "over"] = ""
    """The condition on a value, for `filter`, `count` and `yes_no`."""
    bound: str = ""
    """The value that `condition` compares with."""
    unit: str = ""
    """The unit of a number; `years` or `days` between two dates, `%` for a ratio."""
    rounding: Literal["", "up", "down"] = ""
    """Whether to round a number up or down to a whole number. Empty: round to the digits that the evidence supports."""


@slotted
class Hop(Slotted):
    """A found step as a link of a chain. `quote` is a verbatim slice of the passage's text that contains the answer."""

    sub_question: str
    """The sub-question with the ids of other steps replaced by their answers."""
    answer: str
    passage_id: str
    title: str
    quote: str
    passage_sha256: str
    answer_aliases: tuple[str, ...] = ()
    needs: tuple[int, ...] = ()
    """Indices of the hops whose answers it uses, directly or through computed steps."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)


def _member(step: GraphStep, needed: GraphStep) -> str:
    """Return the member of a set that a step is about; empty if the needed step gives no set with it."""
    if isinstance(step, FoundStep) and isinstance(needed, FoundStep) and step.about in needed.members:
        return step.about
    return ""


class Graph(Data):
    """Steps in an order in which each follows the steps that it needs.

    Raises ValueError if ids repeat, if a step needs a later or unknown one, or if a step does not lead to the last.
    """

    steps: tuple[FoundStep | ComputedStep, ...] = Field(min_length=1, max_length=MOST_STEPS)

    @model_validator(mode="after")
    def _is_connected(self) -> "Graph":
        ids: set[str] = set()
        for step in self.steps:
            if step.id in ids:
                raise ValueError(f"two steps have the id '{step.id}'")
            if unknown := [need for need in step.needs if need not in ids]:
                raise ValueError(f"step '{step.id}' needs '{unknown[0]}', which is no earlier step")
            ids.add(step.id)
        if unused := ids - {self.last.id} - {step.id for step in self.ancestors(self.last)}:
            raise ValueError(f"nothing leads from step '{min(unused)}' to the last step")
        return self

    @cached_property
    def by_id(self) -> dict[str, FoundStep | ComputedStep]:
        return {step.id: step for step in self.steps}

    @property
    def last(self) -> FoundStep | ComputedStep:
        return self.steps[-1]

    @property
    def answer(self) -> str:
        return self.last.answer

    @property
    def found(self) -> tuple[FoundStep, ...]:
        return tuple(step for step in self.steps if isinstance(step, FoundStep))

    @property
    def is_computed(self) -> bool:
        """Return whether the answer is computed from several steps, instead of stated by a passage."""
        return isinstance(self.last, ComputedStep)

    @property
    def decisive(self) -> tuple[FoundStep, ...]:
        """Return the found steps from which the answer is read or computed, without those that only lead to them."""
        ids = {step.id for step in ([self.last] if isinstance(self.last, FoundStep) else self._found_needs(self.last))}
        return tuple(step for step in self.found if step.id in ids)

    @property
    def operation(self) -> str:
        """Return the name of the operation that gives the answer; `lookup` if a passage states it."""
        return self.last.operation if isinstance(self.last, ComputedStep) else "lookup"

    @cached_property
    def hops(self) -> tuple[Hop, ...]:
        return tuple(
            Hop(
                sub_question=self.fill_in(step),
                answer=step.answer,
                passage_id=step.citation.passage_id,
                title=step.citation.title,
                quote=step.citation.quote,
                passage_sha256=step.citation.passage_sha256,
                answer_aliases=step.answer_aliases,
                needs=self._hop_indices(self._found_needs(step)),
            )
            for step in self.found
        )

    @property
    def computations(self) -> tuple[tuple[str, str], ...]:
        """Return a description of each computed step for people, and its answer.

        It reads like "filter (after 1940) of 1, 2 and 4".
        """
        computed = [step for step in self.steps if isinstance(step, ComputedStep)]
        numbers = {step.id: number for number, step in enumerate((*self.found, *computed), 1)}
        computations = []
        for step in computed:
            settings = " ".join(filter(None, (step.which, step.condition, step.bound, step.rounding)))
            *operands, last = [str(numbers[need]) for need in step.needs]
            operation = f"{step.operation} ({settings})" if settings else step.operation
            computations.append((f"{operation} of {', '.join(operands)} and {last}", step.answer))
        return tuple(computations)

    @property
    def decisive_hops(self) -> tuple[int, ...]:
        """Indices of the hops from which the answer is read or computed."""
        return self._hop_indices(self.decisive)

    def hops_before(self, index: int) -> tuple[int, ...]:
        """Return the indices of all hops that a hop depends on."""
        return self._hop_indices(self.ancestors(self.found[index]))

    def _hop_indices(self, steps: Iterable[GraphStep]) -> tuple[int, ...]:
        ids = {step.id for step in steps}
        return tuple(index for index, step in enumerate(self.found) if step.id in ids)

    def _found_needs(self, step: GraphStep) -> list[FoundStep]:
        """Return the found steps whose answers a step uses, directly or through computed steps."""
        steps: list[FoundStep] = []
        for need in self.needed_by(step):
            steps += [need] if isinstance(need, FoundStep) else self._found_needs(need)
        return steps

    def needed_by(self, step: GraphStep) -> tuple[FoundStep | ComputedStep, ...]:
        return tuple(self.by_id[need] for need in step.needs)

    def users_of(self, step: GraphStep) -> tuple[FoundStep | ComputedStep, ...]:
        return tuple(later for later in self.steps if step.id in later.needs)

    def ancestors(self, step: GraphStep) -> tuple[FoundStep | ComputedStep, ...]:
        """Return all steps that a step depends on, directly or not, in graph order."""
        ids: set[str] = set()
        pending = [*step.needs]
        while pending:
            if (need := pending.pop()) not in ids:
                ids.add(need)
                pending += self.by_id[need].needs
        return tuple(earlier for earlier in self.steps if earlier.id in ids)

    def needed_steps(self, skippable: Collection[str] = ()) -> tuple[FoundStep, ...]:
        """Return the found steps that lead to the answer if some, by their ids, can be found without what they need."""
        ids: set[str] = set()
        pending = [self.last.id]
        while pending:
            if (step_id := pending.pop()) not in ids:
                ids.add(step_id)
                pending += () if step_id in skippable else self.by_id[step_id].needs
        return tuple(step for step in self.found if step.id in ids)

    def fill_in(self, step: GraphStep) -> str:
        def name(step_id: str) -> str:
            needed = self.by_id.get(step_id)
            if needed is None:
                return f"{{{step_id}}}"
            return _member(step, needed) or needed.answer

        return step.replace_ids(name)

    def member(self, step: GraphStep) -> str:
        """Return the member of a set that a step starts from; empty if it starts from no set."""
        return next((member for needed in self.needed_by(step) if (member := _member(step, needed))), "")

    def subject(self, step: GraphStep) -> str:
        """Return the subject of a step: the answer or member that it starts from, its `about`, or its page's title."""
        if step.needs:
            return self.member(step) or self.by_id[step.needs[0]].answer
        return step.about or step.citation.title if isinstance(step, FoundStep) else step.answer

    @cached_property
    def _levels(self) -> dict[str, tuple[int, int]]:
        """Return the longest path to each step, counted in steps and in found steps."""
        levels: dict[str, tuple[int, int]] = {}
        for step in self.steps:
            before = [levels[need] for need in step.needs]
            depth, rounds = (max((pair[n] for pair in before), default=0) for n in (0, 1))
            levels[step.id] = depth + 1, rounds + isinstance(step, FoundStep)
        return levels

    @property
    def depth(self) -> int:
        return self._levels[self.last.id][0]

    @property
    def rounds(self) -> int:
        """Return the number of searches that cannot run in parallel."""
        return self._levels[self.last.id][1]

    def with_answers(self, answers: dict[str, str]) -> "Graph":
        steps = [step.model_copy(update={"answer": answers.get(step.id, step.answer)}) for step in self.steps]
        return Graph(steps=tuple(steps))
