"""What is wrong with a proposed evidence graph, told to the generator all at once.

Only what costs nothing or one call: the operations settle their answers, no step is idle or skippable, each document is
used once, one search does not bring the evidence, and a reader says that the cited sentences state the answers and that
compared values are comparable.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from pipeline.agents import readers
from pipeline.agents.naming import mentions
from pipeline.context import RunContext
from pipeline.operations import OperationError, evaluate, idle_steps, repeated_answers
from pipeline.text import untagged
from pipeline.text.names import contains
from pipeline.types import Data, Passage, Probe
from pipeline.types.graph import ComputedStep, FoundStep, Graph

CHECK_NAME, STEPS = "graph", "steps"
_PLACEHOLDER = re.compile(r"\{[A-Za-z0-9_-]{1,24}\}")


class StepFault(Data):
    step: str = Field(description="The id of the step.")
    fault: Literal["unstated", "ambiguous", "incomparable", "unlinked"]
    reason: str = Field("", description="What the sentences say instead, in one short line.")


class StepsOutput(Data):
    """`reason` stands first, so that a model thinks before it decides."""

    reason: str = ""
    faults: tuple[StepFault, ...] = Field((), max_length=48)


class GraphReview(NamedTuple):
    graph: Graph
    """The graph with the answers of its computed steps."""
    problems: tuple[str, ...]
    """What to mend, a line each; empty if the graph can be worded."""
    probes: tuple[Probe, ...] = ()


async def review_graph(graph: Graph, target: int, passages: Mapping[str, Passage], context: RunContext) -> GraphReview:
    """Check a proposed graph.

    Args:
        graph: the graph; the answers of its computed steps are filled in.
        target: the number of searches that it must take.
        passages: the cited passages by id.
        context: the run.

    Raises:
        FormatError: the reader gave nothing readable.
    """
    try:
        graph = graph.with_answers({step_id: outcome.answer for step_id, outcome in evaluate(graph).items()})
        problems = [*_target_problems(graph, target), *_answer_problems(graph)]
    except OperationError as error:
        problems = [f"{error}."]
    problems += _document_problems(graph, passages)
    problems += await _search_problems(graph, context)
    if not context.config.models.of("reader").capabilities.understands:
        unstated = [StepFault(step=s.id, fault="unstated") for s in graph.found if not _is_plainly_stated(s)]
        return GraphReview(graph, (*problems, *(_describe_fault(graph, fault) for fault in unstated)))
    faults, probe = await _ask_reader(graph, context)
    problems += [_describe_fault(graph, fault) for fault in faults]
    return GraphReview(graph, tuple(problems), (probe,))


def substitute_answers(graph: Graph, step: FoundStep | ComputedStep) -> str:
    """Return the sub-question of a step with the answers of other steps in the place of their ids."""
    return _PLACEHOLDER.sub(lambda match: _answer_of(graph, match[0]), step.sub_question)


def _answer_of(graph: Graph, placeholder: str) -> str:
    step = graph.by_id.get(placeholder[1:-1])
    return step.answer if step else placeholder


def mask_answers(step: FoundStep | ComputedStep) -> str:
    """Return the sub-question of a step without the ids of other steps: what a solver who skips them could search."""
    return " ".join(_PLACEHOLDER.sub(" ", step.sub_question).split())


def _target_problems(graph: Graph, target: int) -> list[str]:
    idle = idle_steps(graph)
    problems = [
        f"step '{step_id}' cannot change the answer, whatever its value is: leave it out or let it decide something."
        for step_id in idle
    ]
    if (count := len(graph.found) - len(idle)) < target:
        problems.append(
            f"the graph has {count} steps that must be searched for, and {target} are asked for: add a branch or a "
            "step between."
        )
    return problems


def _answer_problems(graph: Graph) -> list[str]:
    return [
        f"step '{step_id}' already has the final answer '{graph.answer}', so that a solver who stops there is right: "
        "take another final step."
        for step_id in repeated_answers(graph)
    ]


def _document_problems(graph: Graph, passages: Mapping[str, Passage]) -> list[str]:
    problems, first = [], dict[str, FoundStep]()
    for step in graph.found:
        earlier = first.setdefault(step.citation.passage_id.rpartition("#")[0], step)
        if earlier is not step:
            problems.append(
                f"steps '{earlier.id}' and '{step.id}' rest on one document, '{step.citation.title}', so that one "
                "search answers both: take one of the facts from another document."
            )
        text = passages[step.citation.passage_id].text
        for needed in graph.needed_by(step):
            about = untagged(graph.subject(needed)) if isinstance(needed, FoundStep) else ""
            if about and contains(text, about) and not contains(needed.answer, about):
                problems.append(
                    f"the passage of step '{step.id}' names '{about}', which step '{needed.id}' starts from, so that "
                    f"step '{needed.id}' can be skipped: take another passage or another fact."
                )
    return problems


async def _search_problems(graph: Graph, context: RunContext) -> list[str]:
    """Search once for the property that is asked for, without the answers that lead to it."""
    decisive = graph.decisive
    query = " ".join(dict.fromkeys(map(mask_answers, decisive)))
    hits = await context.retriever.search(query, context.config.retrieval.k)
    ranks = {hit.passage.id: rank for rank, hit in enumerate(hits, 1)}
    at = [(step, ranks[step.citation.passage_id]) for step in decisive if step.citation.passage_id in ranks]
    if len(at) < len(decisive) or len(graph.found) == 1:
        return []
    places = " and ".join(f"that of '{step.id}' at rank {rank}" for step, rank in at)
    advice = "ask for a property that many things have, or add a branch whose passage it does not return"
    return [f"one search for '{query}' returns the deciding passages ({places}), without the steps before: {advice}."]


async def _ask_reader(graph: Graph, context: RunContext) -> tuple[list[StepFault], Probe]:
    steps = [_describe_step(graph, step) for step in graph.steps]
    messages = context.prompt("oracle/steps", steps=steps)
    output, model, usage = await readers.read(messages, STEPS, StepsOutput, context)
    faults = [fault for fault in output.faults if _can_be_at_fault(graph, fault)]
    answers = tuple(f"{fault.step}: {fault.fault}: {fault.reason}" for fault in faults) or ("no fault",)
    return faults, Probe(check=CHECK_NAME, model=model, answers=answers, right=int(not faults), usage=usage)


def _can_be_at_fault(graph: Graph, fault: StepFault) -> bool:
    """Return whether a fault is one that its step can have: what is computed is stated nowhere."""
    step = graph.by_id.get(fault.step)
    return step is not None and (isinstance(step, ComputedStep) is (fault.fault == "incomparable"))


def _describe_step(graph: Graph, step: FoundStep | ComputedStep) -> dict[str, object]:
    told: dict[str, object] = {"id": step.id, "question": substitute_answers(graph, step)}
    if isinstance(step, FoundStep):
        values = {
            "answer": step.answer,
            "title": step.citation.title,
            "sentences": " ".join(step.citation.quote.split()),
        }
        values |= {"population": step.population, "time": step.time}
    else:
        values = {"operation": step.operation, "compares": " ".join(step.needs)}
    return told | {key: value for key, value in values.items() if value}


_MENDS = {
    "unstated": "cite the sentence that states it, or take another fact",
    "ambiguous": "say in the sub-question what tells it apart, or take another fact",
    "incomparable": "compare values of one unit, population, time and definition",
    "unlinked": "cite a sentence that names what the step starts from",
}


def _describe_fault(graph: Graph, fault: StepFault) -> str:
    step = graph.by_id[fault.step]
    where = f" ('{step.citation.title}')" if isinstance(step, FoundStep) else ""
    reason = " ".join(fault.reason.split()).rstrip(".")
    reason = reason or "its sentences do not hold the answer"
    return f"step '{fault.step}'{where} is {fault.fault}: {reason}; {_MENDS[fault.fault]}."


def _is_plainly_stated(step: FoundStep) -> bool:
    text = f"{step.citation.title} | {step.citation.quote}"
    return any(mentions(text, name) for name in step.spellings)
