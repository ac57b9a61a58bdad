"""The writer's part: a question in words for a graph whose evidence has passed its checks.

The writer sees the facts with masked answers, and writes four wordings in one call. Free checks drop the wordings that
give an answer away or that one search nearly answers. A reader grades the remaining ones and chooses the best.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from pipeline import prompts
from pipeline.agents import readers
from pipeline.agents.structured import request_object
from pipeline.config.loop import PERSONA
from pipeline.context import RunContext
from pipeline.loop.hidden_answers import HiddenAnswers
from pipeline.operations import Computation, operation
from pipeline.text import sentences, strip_tag
from pipeline.types import Cause, Data, Finding, Probe, sha256
from pipeline.types.graph import ComputedStep, FoundStep, Graph
from pipeline.values.interval import read_date, read_interval

WORDINGS, CHOOSE = "wordings", "choose"
ATTEMPTS = 2
"""Calls of the writer. The second one receives the faults of the first wordings."""
MOST_WORDINGS = 4
_CLAUSE_END = re.compile(r"[,;:，；：、]\s*|\s(?=(?:which|who|whom|whose|where|when|that|and)\s)")


class WordingsOutput(Data):
    wordings: tuple[str, ...] = Field(max_length=8, description="Four wordings of one question.")


class ChoiceOutput(Data):
    """`faults` is first, so that a model thinks before it grades. `added` is before `best`, which excludes it."""

    faults: tuple[str, ...] = Field((), max_length=8, description="For each wording what is worst about it.")
    grades: tuple[int, ...] = Field(max_length=8)
    added: tuple[int, ...] = Field((), max_length=8, description="Wordings that claim what no fact states.")
    best: int = Field(ge=1, le=8, description="None of `added`.")
    changes_with_time: bool = False

    def find_usable(self, count: int) -> dict[int, int]:
        """Return the grades of the wordings that claim nothing beyond the facts, by number from 1."""
        grades = enumerate(self.grades[:count], 1)
        return {number: grade for number, grade in grades if number not in self.added}

    def describe_fault(self, number: int) -> str:
        """Describe the fault of a wording, by number from 1; an empty text if the reader named none."""
        # If the reader did not list one fault for each wording, every fault applies to all.
        is_fault_of_each = len(self.faults) == len(self.grades)
        faults = self.faults[number - 1 : number] if is_fault_of_each else self.faults
        fault = " ".join("; ".join(faults).split()).rstrip(".")
        return f"it claims what no fact states: {fault}".rstrip(": ") if number in self.added else fault


class WrittenQuestion(NamedTuple):
    question: str
    """The best wording, or the first unusable one; empty if the writer gave none."""
    findings: tuple[Finding, ...]
    """The problems of the question. If there are any, no rollout is paid for."""
    probes: tuple[Probe, ...]


async def write_question(
    graph: Graph,
    outcome: Computation | None,
    context: RunContext,
    like: Sequence[str] = (),
    refused: Sequence[dict[str, str]] = (),
) -> WrittenQuestion:
    """Word a graph.

    Args:
        graph: evidence that has passed its checks.
        outcome: what the last step computes; None if a passage states the answer.
        context: the run, with the fewest searches and the lowest grade of a wording.
        like: questions whose style to follow.
        refused: wordings that were tried before, each with its `fault`.

    Raises:
        FormatError: the writer or the reader gave no readable output.
    """
    hidden = HiddenAnswers(graph)
    earlier = [refusal | {"fault": hidden.mask(refusal["fault"])} for refusal in refused]
    probes, best = list[Probe](), ""
    for attempt in range(ATTEMPTS):
        wordings, probe = await _ask_writer(graph, outcome, hidden, like, earlier, context, attempt)
        probes.append(probe)
        sound = []
        for wording in wordings:
            fault = (
                find_leak(wording, graph)
                or await find_shortcut(wording, graph, context)
                or await find_late_entry(wording, graph, context)
            )
            if fault:
                earlier.append({"wording": wording, "fault": fault})
            else:
                sound.append(wording)
        if not sound:
            continue
        choice, probe = await grade_wordings(sound, graph, context)
        probes.append(probe)
        grades = choice.find_usable(len(sound))
        if grades:
            # The reader's choice decides between equal grades.
            number = max(grades, key=lambda number: (grades[number], number == choice.best))
            best = sound[number - 1]
            if choice.changes_with_time:
                detail = "a reader says that the answer changes with time, and the question names no date"
                return WrittenQuestion(best, (_build_finding("undated", Cause.UNDATED, detail),), tuple(probes))
            if grades[number] >= context.config.checks.naturalness:
                return WrittenQuestion(best, (), tuple(probes))
        for number, wording in enumerate(sound, 1):
            fault = choice.describe_fault(number) or f"graded {grades.get(number, 0)} of 5"
            earlier.append({"wording": wording, "fault": fault})
    detail = earlier[-1]["fault"] if earlier else "the writer gave no wording"
    # Without any usable wording the record still shows what the writer wrote.
    question = best or next((wording["wording"] for wording in earlier if wording["wording"]), "")
    return WrittenQuestion(question, (_build_finding("naturalness", Cause.UNNATURAL, detail),), tuple(probes))


def _build_finding(check: str, cause: Cause, detail: str) -> Finding:
    return Finding(check=check, cause=cause, detail=" ".join(detail.split()).rstrip("."))


def find_leak(wording: str, graph: Graph) -> str:
    return HiddenAnswers(graph).describe_leaks(wording) if wording.strip() else "it is empty"


def split_clauses(wording: str) -> list[str]:
    """Return the parts of a wording that each make a query: its sentences, and their clauses of at least four words."""
    parts = [wording[slice(*span)] for span in sentences(wording)]
    clauses = [clause.strip() for part in parts for clause in _CLAUSE_END.split(part)]
    return list(dict.fromkeys([*parts, *(clause for clause in clauses if len(clause.split()) >= 4)]))


async def find_late_entry(wording: str, graph: Graph, context: RunContext) -> str:
    """Return the fault of a wording with a clause whose search finds the passage of a later step.

    Nobody needs the steps before, and too few may be left. The passage of a step in the middle counts as found if it is
    the first hit: further down, a searcher cannot tell it from other hits. The passage that ends a chain counts at any
    rank, since it states what is asked for.

    In 27 recorded chains that seekers attacked, five of the ten that one search answered have such an end, and three of
    the others; in 34 older questions, all five long chains that were entered in the middle, and no accepted question.
    """
    least, k = context.config.steps[0], context.config.retrieval.k
    clauses = split_clauses(wording)
    can_guess = context.config.models.of("seeker").capabilities.understands
    end = "" if graph.is_computed or not can_guess else graph.decisive[-1].citation.passage_id
    for name, retriever in context.searched.items():
        for clause, hits in zip(clauses, await retriever.search_many(clauses, k), strict=True):
            ids = [hit.passage.id for hit in hits]
            entry_ids = {*ids[:1], end} & {*ids}
            entries = [step.id for step in graph.found if step.needs and step.citation.passage_id in entry_ids]
            if len(graph.needed_steps(entries)) < min(least, len(graph.found)):
                over = f" over {name}" if name else ""
                steps = ", ".join(f"[{step_id}]" for step_id in entries)
                return (
                    f"a search for '{clause}'{over} returns the passage of {steps}, so that the steps before are not "
                    "needed: describe it by fewer or other words than that passage does"
                )
    return ""


async def find_shortcut(wording: str, graph: Graph, context: RunContext) -> str:
    """Return the fault of a wording if, after one search with it, fewer searches are left than the range asks for.

    The search may return the passages of all first steps, since solvers begin there.
    """
    least = context.config.steps[0]
    for name, retriever in context.searched.items():
        hits = await retriever.search(wording, context.config.retrieval.k)
        ids = {hit.passage.id for hit in hits}
        returned = [step for step in graph.found if step.citation.passage_id in ids]
        entries = sum(not step.needs for step in returned)
        searches = len(graph.found) - (len(returned) - max(1, entries) if returned else 0)
        is_decided = least > 1 and all(step in returned for step in graph.decisive)
        if searches < least or is_decided:
            search = f"one search with it over {name}" if name else "one search with it"
            facts = ", ".join(f"[{step.id}]" for step in returned if step.needs) or "all steps"
            return f"{search} returns the passages that state {facts}: say less of what their sentences say"
    return ""


async def _ask_writer(  # noqa: PLR0913, PLR0917 - what a wording depends on
    graph: Graph,
    outcome: Computation | None,
    hidden: HiddenAnswers,
    like: Sequence[str],
    earlier: Sequence[dict[str, str]],
    context: RunContext,
    attempt: int,
) -> tuple[list[str], Probe]:
    model = context.config.models.of("writer")
    graph = draw_order(graph)
    messages = context.prompt(
        "writer/question",
        steps=[_describe_step(graph, step, hidden) for step in graph.steps],
        answer_form=describe_answer_form(graph, outcome, hidden),
        like=list(like),
        earlier=list(earlier),
    )
    if persona := context.config.questions.persona:
        messages = prompts.add_quoted(messages, PERSONA, persona)
    output, usage = await request_object(context.llm, model, messages, WORDINGS, WordingsOutput, sample=attempt)
    wordings = [" ".join(wording.split()) for wording in output.wordings][:MOST_WORDINGS]
    probe = Probe(check="wording", model=model.model, answers=tuple(wordings), right=len(wordings), usage=usage)
    return list(dict.fromkeys(wordings)), probe


def draw_order(graph: Graph) -> Graph:
    """Return the graph with the things that its last step chooses among in random order, drawn by hash.

    A generator tends to begin with the thing that is the answer, and the writer keeps the order that it is shown. The
    order of names in the question would then give the answer away.
    """
    last = graph.last
    if not isinstance(last, ComputedStep) or not operation(last.operation).gives_subjects:
        return graph
    sources = " ".join(sorted(step.citation.passage_sha256 for step in graph.found))
    drawn = sorted(graph.needed_by(last), key=lambda step: sha256(f"{sources} {graph.subject(step)}"))
    branches = [step for branch in drawn for step in (*graph.ancestors(branch), branch)]
    ids = dict.fromkeys(step.id for step in branches)
    ordered = last.model_copy(update={"needs": tuple(branch.id for branch in drawn)})
    return Graph(steps=(*(graph.by_id[step_id] for step_id in ids), ordered))


async def grade_wordings(wordings: Sequence[str], graph: Graph, context: RunContext) -> tuple[ChoiceOutput, Probe]:
    facts = [
        {"asks": graph.fill_in(step), "title": step.citation.title, "sentence": " ".join(step.citation.quote.split())}
        | {name: value for name in ("population", "time") if (value := getattr(step, name))}
        for step in graph.found
    ]
    messages = context.prompt("naturalness/choose", wordings=list(wordings), facts=facts)
    output, model, usage = await readers.read(messages, CHOOSE, ChoiceOutput, context)
    grades = output.find_usable(len(wordings)).values()
    answers = tuple(map(str, sorted(grades, reverse=True)[:1]))
    enough = sum(grade >= context.config.checks.naturalness for grade in grades)
    probe = Probe(check="naturalness", model=model, answers=answers, right=int(enough > 0), usage=usage)
    return output, probe


def describe_answer_form(graph: Graph, outcome: Computation | None, hidden: HiddenAnswers) -> str:
    """Describe to the writer what kind of answer the question asks for, without the answer."""
    if isinstance(graph.last, ComputedStep) and outcome is not None:
        last, operands = operation(graph.last.operation), graph.needed_by(graph.last)
        asks = [
            _ask_for_subject(graph, operand, hidden) if last.gives_subjects else _mask_question(graph, operand, hidden)
            for operand in operands
        ]
        return last.describe_answer_form(graph.last, " / ".join(dict.fromkeys(asks)), outcome)
    ask = _mask_question(graph, graph.last, hidden)
    if day := read_date(graph.answer):
        dates = {"day": "a date: day, month and year", "month": "a month and its year"}
        # 1022 may be a year or a number of stars.
        return dates.get(day.precision, f"a year or another number, as this asks: {ask}")
    if graph.answer.isdecimal():
        # Its length would help to guess a key or an identifier.
        return f"a number, as this asks: {ask}"
    if read_interval(graph.answer):
        shape = "".join("#" if character.isdigit() else character for character in graph.answer)
        return f"an amount in the unit and with the precision of '{shape}' (# is a digit)"
    return f"a name or a few words, as short as they can be, as this asks: {ask}"


def _mask_question(graph: Graph, step: FoundStep | ComputedStep, hidden: HiddenAnswers) -> str:
    return hidden.mask(step.replace_ids(lambda step_id: f"[{step_id}]" if step_id in graph.by_id else ""), step)


def _ask_for_subject(graph: Graph, step: FoundStep | ComputedStep, hidden: HiddenAnswers) -> str:
    if step.needs:
        return _mask_question(graph, graph.by_id[step.needs[0]], hidden)
    return f"the thing of which [{step.id}] asks"


def _describe_operand(graph: Graph, step: FoundStep | ComputedStep, hidden: HiddenAnswers) -> str:
    label = f"each of [{step.needs[0]}]" if graph.member(step) else f"[{step.id}]"
    return f"{label} ({_mask_question(graph, step, hidden)})"


def _describe_step(graph: Graph, step: FoundStep | ComputedStep, hidden: HiddenAnswers) -> dict[str, object]:
    description: dict[str, object] = {"id": step.id, "asks": _mask_question(graph, step, hidden)}
    if isinstance(step, FoundStep):
        about = f"[{step.needs[0]}]" if step.needs else hidden.mask(strip_tag(graph.subject(step)), step)
        about = f"one of {about}" if graph.member(step) else about
        values = {"population": hidden.mask(step.population, step), "time": hidden.mask(step.time, step)}
        description |= {"about": about, "sentence": hidden.mask(" ".join(step.citation.quote.split()), step)}
    else:
        operands = list(dict.fromkeys(_describe_operand(graph, need, hidden) for need in graph.needed_by(step)))
        values = {"which": step.which, "condition": step.condition, "bound": step.bound, "unit": step.unit}
        description |= {"operation": step.operation, "of": list(step.needs)}
        description["computes"] = operation(step.operation).describe(step, operands)
    return description | {key: value for key, value in values.items() if value}
