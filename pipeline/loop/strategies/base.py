"""The contract of a strategy, and the one way from an evidence graph to a draft."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline import registry
from pipeline.agents.graph_proposals import GraphArguments, build_graph
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks.base import CheckResult
from pipeline.operations import OperationError, settle
from pipeline.text import dates
from pipeline.types import AnswerType, Data, Draft, Passage, Probe, Round, Seed, Trajectory, Tree
from pipeline.types.graph import Graph
from pipeline.values.interval import DATE, read_interval


class Proposal(Data):
    """The output of a generator or refiner. It has no draft if the agent gave up, or wrote none that can be used."""

    trajectory: Trajectory
    draft: Draft | None
    tree: Tree | None = None
    checked: tuple[Probe, ...] = ()
    """The readers' answers about drafts that the agent had checked."""
    review: CheckResult | None = None
    """The result of the graph and wording reviews while the draft was composed; None if they have not run."""


@dataclass(frozen=True)
class Strategy:
    """A way to make drafts. The module of each strategy defines one."""

    propose: Callable[[Seed, RunContext], Coroutine[Any, Any, Proposal]]
    """Drafts a question from the seed passage, by searching."""
    revise: Callable[[Seed, RunContext, Sequence[Round]], Coroutine[Any, Any, Proposal]]
    """Drafts a better question from the results of all rounds, above all the feedback of the last one."""


def load_strategy(name: str) -> Strategy:
    """Return the strategy of this name. Raise UsageError, which lists the known names, if there is none."""
    return registry.instance("strategies", name, Strategy)


def to_draft(proposed: GraphArguments, question: str, passages: Mapping[str, Passage], **fields: Any) -> Draft | None:
    """Return the draft of a proposal, or None if the generator gives up.

    Args:
        proposed: the steps, which cite passages by their shown ids.
        question: the question in words.
        passages: the passages that the generator was shown, by their shown ids.
        fields: as for `build_draft`.

    Raises:
        FormatError: the steps do not form a graph, or do not determine the answer.
    """
    graph = build_graph(proposed, passages)
    if graph is None or not question.strip():
        return None
    try:
        return build_draft(graph, question, **fields)
    except OperationError as error:
        raise FormatError(f"{error}.") from error


def build_draft(graph: Graph, question: str, **fields: Any) -> Draft:
    """Build the draft that asks for the answer of a graph, and compute the answers of its computed steps.

    Args:
        graph: the evidence.
        question: the question in words.
        fields: other fields of the draft; `answer_type` if the answer alone does not show it.

    Raises:
        OperationError: the evidence does not determine a computed step.
    """
    graph, outcome = settle(graph)
    answer_type = fields.pop("answer_type", outcome.answer_type if outcome else _stated_type(graph.answer))
    date = dates(graph.answer)[:1] if answer_type is AnswerType.DATE else []
    values = {
        "question": question,
        "answer_aliases": tuple(dict.fromkeys((*graph.last.answer_aliases, *(outcome.aliases if outcome else ())))),
        "answer_type": answer_type,
        "answer_precision": date[0].precision if date else "",
        "graph": graph,
    }
    return Draft.model_validate(values | fields)


def _stated_type(answer: str) -> AnswerType:
    interval = read_interval(answer)
    if interval is None:
        return AnswerType.ENTITY
    return AnswerType.DATE if interval.kind == DATE else AnswerType.NUMBER
