"""The writer's part: a question in words, from a graph whose evidence has passed its checks.

The writer sees the facts with the hidden answers masked, and writes four wordings in one call. Free checks drop those
that give an answer away or that one search nearly answers; one reader grades the rest and picks.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from pipeline.agents import readers
from pipeline.agents.naming import mentions, whole
from pipeline.agents.structured import structured
from pipeline.context import RunContext
from pipeline.loop.graph_review import substitute_answers
from pipeline.operations import Computation
from pipeline.text import untagged
from pipeline.types import AnswerType, Cause, Data, Finding, Probe
from pipeline.types.graph import ComputedStep, FoundStep, Graph

WORDINGS, CHOOSE = "wordings", "choose"
ATTEMPTS = 2
"""Calls of the writer; the second one sees what the reader said of the first."""
MOST_WORDINGS = 4


class WordingsOutput(Data):
    wordings: tuple[str, ...] = Field(max_length=8, description="Four wordings of one question.")


class ChoiceOutput(Data):
    """`reason` stands first, so that a model thinks before it grades."""

    reason: str = ""
    grades: tuple[int, ...] = Field(max_length=8)
    best: int = Field(ge=1, le=8)
    changes_with_time: bool = False


class WrittenQuestion(NamedTuple):
    question: str
    """The best wording; empty if none passed the free checks."""
    findings: tuple[Finding, ...]
    """What is wrong with it, if anything: then no rollout is paid for."""
    probes: tuple[Probe, ...]


async def write_question(graph: Graph, outcome: Computation | None, context: RunContext) -> WrittenQuestion:
    """Word a graph.

    Args:
        graph: evidence that has passed its checks.
        outcome: what the last step computes; None if a passage states the answer.
        context: the run, whose least target and least grade a wording must keep.

    Raises:
        FormatError: writer or reader gave nothing readable.
    """
    earlier, probes, best = list[dict[str, str]](), list[Probe](), ""
    for attempt in range(ATTEMPTS):
        wordings, probe = await _ask_writer(graph, outcome, earlier, context, attempt)
        probes.append(probe)
        sound = []
        for wording in wordings:
            if fault := find_leak(wording, graph) or await find_shortcut(wording, graph, context):
                earlier.append({"wording": wording, "fault": fault})
            else:
                sound.append(wording)
        if not sound:
            continue
        choice, probe = await grade_wordings(sound, context)
        probes.append(probe)
        grades = dict(zip(range(1, len(sound) + 1), choice.grades, strict=False))
        # Of wordings with the same grade, the reader's own choice.
        number = max(grades, key=lambda number: (grades[number], number == choice.best), default=1)
        best, grade = sound[number - 1], grades.get(number, 0)
        if choice.changes_with_time:
            detail = "a reader says that the answer changes with time, and the question names no date"
            return WrittenQuestion(best, (_finding("undated", Cause.UNDATED, detail),), tuple(probes))
        if grade >= context.config.checks.naturalness:
            return WrittenQuestion(best, (), tuple(probes))
        earlier += [{"wording": wording, "fault": choice.reason} for wording in sound]
    detail = earlier[-1]["fault"] if earlier else "the writer gave no wording"
    return WrittenQuestion(best, (_finding("naturalness", Cause.UNNATURAL, detail),), tuple(probes))


def _finding(check: str, cause: Cause, detail: str) -> Finding:
    return Finding(check=check, cause=cause, detail=" ".join(detail.split()).rstrip("."))


def hidden_names(graph: Graph) -> list[str]:
    """Return the answers that a question must not give away: all but the names that its first steps start from."""
    named = {untagged(graph.subject(step)).casefold() for step in graph.found if not step.needs}
    answers = [name for step in graph.steps for name in step.spellings]
    items = [part.strip() for name in answers for part in name.split(";")]
    return [name for name in dict.fromkeys(items) if name and name.casefold() not in named | {"yes", "no"}]


def find_leak(wording: str, graph: Graph) -> str:
    """Return what is wrong with a wording that gives an answer away, or that asks nothing."""
    if not wording.strip():
        return "it is empty"
    leaks = [name for name in hidden_names(graph) if mentions(wording, name)]
    return f"it names '{leaks[0]}', which is to be found" if leaks else ""


async def find_shortcut(wording: str, graph: Graph, context: RunContext) -> str:
    """Return what is wrong with a wording if one search of any retriever leaves fewer than the range asks for."""
    for name, retriever in {"": context.retriever, **context.others}.items():
        hits = await retriever.search(wording, context.config.retrieval.k)
        ids = {hit.passage.id for hit in hits}
        found = [step.id for step in graph.found if step.citation.passage_id in ids]
        left = len(graph.found) - len(found)
        decisive = all(step.id in found for step in graph.decisive)
        if 1 + left < context.config.steps[0] or (decisive and context.config.steps[0] > 1):
            search = f"one search with it over {name}" if name else "one search with it"
            return f"{search} returns the passages of {len(found)} of {len(graph.found)} steps: describe less"
    return ""


async def _ask_writer(
    graph: Graph, outcome: Computation | None, earlier: Sequence[dict[str, str]], context: RunContext, attempt: int
) -> tuple[list[str], Probe]:
    model = context.config.models.of("writer")
    messages = context.prompt(
        "writer/question",
        steps=[_describe(graph, step) for step in graph.steps],
        answer_form=describe_answer(graph, outcome),
        hidden=[f"[{step.id}]" for step in graph.steps],
        earlier=list(earlier),
    )
    output, usage = await structured(context.llm, model, messages, WORDINGS, WordingsOutput, sample=attempt)
    wordings = [" ".join(wording.split()) for wording in output.wordings][:MOST_WORDINGS]
    probe = Probe(check="wording", model=model.model, answers=tuple(wordings), right=len(wordings), usage=usage)
    return list(dict.fromkeys(wordings)), probe


async def grade_wordings(wordings: Sequence[str], context: RunContext) -> tuple[ChoiceOutput, Probe]:
    messages = context.prompt("naturalness/choose", wordings=list(wordings))
    output, model, usage = await readers.read(messages, CHOOSE, ChoiceOutput, context)
    grades = output.grades[: len(wordings)]
    answers = tuple(map(str, sorted(grades, reverse=True)[:1]))
    enough = sum(grade >= context.config.checks.naturalness for grade in grades)
    probe = Probe(check="naturalness", model=model, answers=answers, right=int(enough > 0), usage=usage)
    return output, probe


def describe_answer(graph: Graph, outcome: Computation | None) -> str:
    """Return what kind of answer the question asks for, without the answer."""
    if outcome is None:
        return "one name, date or number, as short as it can be"
    if outcome.answer_type is AnswerType.NUMBER:
        unit = graph.last.unit if isinstance(graph.last, ComputedStep) else ""
        rounding = f", rounded: {outcome.rounding}" if outcome.rounding else ""
        return f"a number{f' in {unit}' if unit else ''}{rounding}"
    forms = {
        AnswerType.COMPARISON: "one of the things that the question names or describes",
        AnswerType.LIST: "a list of several things, all of them asked for",
        AnswerType.BOOLEAN: "yes or no",
    }
    return forms.get(outcome.answer_type, "one name, date or number, as short as it can be")


def _describe(graph: Graph, step: FoundStep | ComputedStep) -> dict[str, object]:
    """Describe a step to the writer, with every answer in the place of which stands the id of its step."""
    question = substitute_answers(graph, step)
    told: dict[str, object] = {"id": step.id, "asks": _mask(question, graph)}
    if isinstance(step, FoundStep):
        about = _mask(untagged(step.citation.title), graph) if step.needs else untagged(step.citation.title)
        return told | {"about": about, "sentence": _mask(" ".join(step.citation.quote.split()), graph)}
    settings = {"which": step.which, "condition": step.condition, "bound": step.bound, "unit": step.unit}
    return told | {"operation": step.operation, "of": list(step.needs)} | {k: v for k, v in settings.items() if v}


def _mask(text: str, graph: Graph) -> str:
    named = {name.casefold() for name in hidden_names(graph)}
    names = [(name, step.id) for step in graph.steps for name in step.spellings if name.casefold() in named]
    for name, step_id in sorted(names, key=lambda pair: -len(pair[0])):
        text = re.sub(whole(name), f"[{step_id}]", text, flags=re.IGNORECASE)
    return text
