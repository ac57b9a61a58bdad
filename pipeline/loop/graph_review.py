"""Checks of a proposed evidence graph, whose problems are reported to the generator all at once.

Most of them are free: every operation has an answer, no step is unnecessary or skippable, each document is used once,
and no single search finds the evidence. With one call, a reader checks that the cited sentences state the answers and
that compared values are comparable.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import orjson
from pydantic import Field

from pipeline.agents import readers
from pipeline.agents.name_matching import mentions
from pipeline.agents.tools import show_passage
from pipeline.context import RunContext
from pipeline.corpus.language import common_words
from pipeline.loop.rival_answer import FILLERS
from pipeline.operations import (
    advice_against_guessing,
    idle_steps,
    operation,
    repeated_answers,
    settle,
    unsettled_steps,
)
from pipeline.retrieval.base import Retriever
from pipeline.text import strip_tag, words
from pipeline.text.names import contains
from pipeline.text.open_sets import names_as_example
from pipeline.types import Cause, Data, Finding, Passage, Probe
from pipeline.types.corpus import shown_id
from pipeline.types.graph import ComputedStep, FoundStep, Graph

CHECK_NAME, STEPS = "graph", "steps"
_POOL, _BEST = 500, 50
"""The end of a chain is too easy to find if its passage is among the best fiftieth of up to 500 hits, so among ten at
most. A small corpus has fewer hits, and a place among its first ten says little."""
_SHORT = 3
"""Words of at most this many letters are not named as the reason for the result of a search."""
_OF_COMPUTED = frozenset({"incomparable", "misnamed", "unrelated"})
"""Faults that only computed steps can have. The others concern what a passage states."""
_TAKE_ANOTHER = "this passage was at fault before: take another one"


class StepFault(Data):
    step: str = Field(description="The id of the step.")
    fault: Literal[
        "unstated", "contradicted", "ambiguous", "unlinked", "undated", "incomparable", "misnamed", "unrelated"
    ]
    reason: str = Field("", description="What the sentences say instead, in one short line.")


class StepsOutput(Data):
    """`reason` is first, so that a model thinks before it decides."""

    reason: str = ""
    faults: tuple[StepFault, ...] = Field((), max_length=48)


class GraphReview(NamedTuple):
    graph: Graph
    """The graph with the answers of its computed steps."""
    findings: tuple[Finding, ...]
    """What must be changed; empty if the graph can be worded."""
    probes: tuple[Probe, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(finding.detail for finding in self.findings)


class Problem(NamedTuple):
    cause: Cause
    description: str
    mend: str
    """The one thing to do."""
    step_id: str = ""
    """The step at fault; empty if the problem concerns the graph as a whole."""


async def review_graph(graph: Graph, target: int, passages: Mapping[str, Passage], context: RunContext) -> GraphReview:
    """Check a proposed graph.

    Args:
        graph: the graph; the answers of its computed steps are filled in.
        target: the number of searches that it must need.
        passages: the cited passages by id.
        context: the run, whose memory keeps the reader's verdicts on steps and the passages at fault.

    Raises:
        FormatError: the reader gave no readable answer.
    """
    unsettled = unsettled_steps(graph)
    mend = "mend the step or take other values"
    problems = [Problem(Cause.GENERATOR_ERROR, error, mend, step_id) for step_id, error in unsettled.items()]
    if unsettled:
        problems += _check_length(len(graph.found), target)
    else:
        graph, _ = settle(graph)
        problems += [*_check_idle_steps(graph, target), *_check_answers(graph)]
    problems += [*_check_documents(graph, passages), *_check_sets(graph), *_check_whole_sets(graph)]
    problems += await check_searches(graph, context, passages)
    probes: tuple[Probe, ...] = ()
    if context.config.models.of("reader").capabilities.understands:
        faults, probes = await _ask_reader(graph, passages, context)
    else:
        faults = [StepFault(step=step.id, fault="unstated") for step in graph.found if not _is_plainly_stated(step)]
    problems += map(_to_problem, faults)
    return GraphReview(graph, _to_findings(graph, problems, context), probes)


def _remove_answers(step: FoundStep) -> str:
    return step.replace_ids(lambda _: " ")


def _check_length(count: int, target: int) -> list[Problem]:
    if count >= target:
        return []
    description = f"the graph has {count} steps that must be searched for, and {target} are asked for"
    return [Problem(Cause.SUPERFICIAL, description, "add a branch or a step between")]


def _check_idle_steps(graph: Graph, target: int) -> list[Problem]:
    idle = idle_steps(graph)
    description = "it cannot change the answer, whatever its value is"
    mend = "leave it out or let it decide something"
    problems = [Problem(Cause.SUPERFICIAL, description, mend, step_id) for step_id in idle]
    return problems + _check_length(len(graph.found) - len(idle), target)


def _check_answers(graph: Graph) -> list[Problem]:
    description = f"it already has the final answer '{graph.answer}', so that a solver who stops there is right"
    mend = "take another final step"
    problems = [Problem(Cause.SUPERFICIAL, description, mend, step_id) for step_id in repeated_answers(graph)]
    if advice := advice_against_guessing(graph):
        problems.append(Problem(Cause.SUPERFICIAL, "a blind guess is right half of the time", advice, graph.last.id))
    return problems


def _check_documents(graph: Graph, passages: Mapping[str, Passage]) -> list[Problem]:
    problems, first = [], dict[str, FoundStep]()
    for step in graph.found:
        earlier = first.setdefault(step.citation.document_id, step)
        if earlier is not step:
            description = f"it rests on the document of step '{earlier.id}', so that one search answers both"
            mend = "take the fact of one of the two from another document"
            problems.append(Problem(Cause.CO_LOCATED, description, mend, step.id))
        for other_step in graph.found:
            is_elsewhere = other_step.citation.document_id != step.citation.document_id
            if is_elsewhere and _is_stated_elsewhere(passages, other_step, step):
                description = (
                    f"its sentences stand in the passage of step '{other_step.id}' too, so that one search answers both"
                )
                problems.append(Problem(Cause.CO_LOCATED, description, "take another fact", step.id))
        text = passages[step.citation.passage_id].text
        for needed in graph.needed_by(step):
            about = strip_tag(graph.subject(needed)) if isinstance(needed, FoundStep) else ""
            if about and contains(text, about) and not contains(needed.answer, about):
                description = (
                    f"its passage names '{about}', which step '{needed.id}' starts from, so that this can be skipped"
                )
                problems.append(Problem(Cause.CO_LOCATED, description, "take another passage or another fact", step.id))
    return problems


def _is_stated_elsewhere(passages: Mapping[str, Passage], other_step: FoundStep, step: FoundStep) -> bool:
    """Return whether the passage of another step contains the sentences of a step and names what they are about."""
    passage = passages[other_step.citation.passage_id]
    text, quote = " ".join(passage.text.split()), " ".join(step.citation.quote.split())
    return quote in text and contains(f"{passage.title} {text}", strip_tag(step.citation.title))


def _check_sets(graph: Graph) -> list[Problem]:
    """Check that each member of a set has steps of its own, since the question only describes the set."""
    problems = []
    for step in graph.found:
        if not step.members or step is graph.last:
            continue
        users = graph.users_of(step)
        starts = {graph.member(user) for user in users}
        if missing := [member for member in step.members if member not in starts]:
            description = f"it lists several things, and no step starts from {', '.join(missing)}"
            mend = "add a step for each with that name in `about`, or cite a set with fewer members"
            problems.append(Problem(Cause.GENERATOR_ERROR, description, mend, step.id))
        problems += [
            Problem(
                Cause.GENERATOR_ERROR, f"its `about` is no member of the set '{step.id}'", "write it as there", user.id
            )
            for user in users
            if not graph.member(user)
        ]
    return problems


def _check_whole_sets(graph: Graph) -> list[Problem]:
    """Check that sets, and the operations on whole sets, use sentences that name all members, and not only examples."""
    joins = [
        step for step in graph.steps if isinstance(step, ComputedStep) and operation(step.operation).needs_whole_set
    ]
    needs = {member.id: join.operation for join in joins for member in graph.ancestors(join)}
    needs |= {step.id: "a set" for step in graph.found if step.members}
    problems = []
    for step in graph.found:
        names = step.members or step.spellings
        cue = names_as_example(step.citation.quote, names) if step.id in needs else ""
        if cue:
            description = f"its sentences name '{step.answer}' as an example ('{cue}'), so that others may fit too"
            mend = f"{needs[step.id]} needs sentences that name all, or a fact that only one thing fits"
            problems.append(Problem(Cause.AMBIGUOUS, description, mend, step.id))
    return problems


async def check_searches(
    graph: Graph, context: RunContext, passages: Mapping[str, Passage] = MappingProxyType({})
) -> list[Problem]:
    """Search with each retriever for steps without the answers that lead to them.

    A step counts as found only if its passage is the first hit: further down, a solver cannot tell it from other hits
    that fit as well. No single search may find all deciding passages of a computed answer, at any rank. With the cited
    `passages`, a problem names the words that they share with the sub-questions.
    """
    problems, least = [], context.config.steps[0] if context.config.accepts_by_range else 2
    can_guess = context.config.models.of("seeker").capabilities.understands
    for name, retriever in context.searched.items():
        over = f" over {name}" if name else ""
        skippable = await _find_skippable(graph, retriever)
        needed = graph.needed_steps(skippable)
        if len(needed) < min(least, len(graph.found)):
            ids = " and ".join(_describe_shared_words(graph, step_id, passages, context) for step_id in skippable)
            description = (
                f"a search{over} for the sub-question without the id returns the passage first: {ids}. So the steps "
                f"before can be skipped, and only {len(needed)} must be searched for (at least {least} are asked for)"
            )
            mend = "ask there for a fact that many things have, or in other words; to mend some of them may be enough"
            problems.append(Problem(Cause.QUERY_COLLAPSE, description, mend))
        if graph.is_computed:
            problems += await _check_joint_search(graph, retriever, over, context)
        elif least > 1 and len(graph.found) > 1 and can_guess and not problems:
            problems += await _check_last_search(graph, retriever, over, passages, context)
    return problems


def _describe_shared_words(graph: Graph, step_id: str, passages: Mapping[str, Passage], context: RunContext) -> str:
    step = next(step for step in graph.found if step.id == step_id)
    passage = passages.get(step.citation.passage_id)
    if not passage:
        return f"'{step_id}'"
    vocabulary = set(words(f"{passage.title} {passage.text}")) - _list_fillers(context)
    shared = [word for word in dict.fromkeys(words(_remove_answers(step))) if word in vocabulary and len(word) > _SHORT]
    return f"'{step_id}' by {', '.join(shared)}" if shared else f"'{step_id}'"


def _list_fillers(context: RunContext) -> frozenset[str]:
    return FILLERS | common_words(context.lineage.language)


async def _find_skippable(graph: Graph, retriever: Retriever) -> list[str]:
    later = [step for step in graph.found if step.needs]
    results = await retriever.search_many([_remove_answers(step) for step in later], 1)
    return [
        step.id
        for step, hits in zip(later, results, strict=True)
        if any(hit.passage.id == step.citation.passage_id for hit in hits)
    ]


async def _check_last_search(
    graph: Graph, retriever: Retriever, over: str, passages: Mapping[str, Passage], context: RunContext
) -> list[Problem]:
    """Check that nobody finds the answer of a chain by its last sub-question alone.

    In 17 recorded chains that seekers attacked, it flags 4 of the 9 that one search answered, and none of the others.
    """
    last = graph.decisive[-1]
    hits = await retriever.search(_remove_answers(last), _POOL)
    best = hits[: len(hits) // _BEST]
    rank = next((rank for rank, hit in enumerate(best, 1) if hit.passage.id == last.citation.passage_id), None)
    if rank is None:
        return []
    description = (
        f"a search{over} for the last sub-question without the id returns its passage at rank {rank}: "
        f"{_describe_shared_words(graph, last.id, passages, context)}. So a searcher who tries what fits needs none of "
        "the steps before"
    )
    return [Problem(Cause.QUERY_COLLAPSE, description, "end with a fact that most things of this kind have")]


async def _check_joint_search(graph: Graph, retriever: Retriever, over: str, context: RunContext) -> list[Problem]:
    """Check that no single search finds all values that an operation uses.

    It searches with the sub-questions, and with their words alone, each once and without the common ones, as searchers
    who look for everything at once do.
    """
    questions = " ".join(dict.fromkeys(map(_remove_answers, graph.decisive)))
    fillers = _list_fillers(context)
    telling_words = " ".join(dict.fromkeys(word for word in words(questions) if word not in fillers))
    queries = [questions, telling_words] if telling_words else [questions]
    results = await retriever.search_many(queries, context.config.retrieval.k)
    for query, hits in zip(queries, results, strict=True):
        ranks = {hit.passage.id: rank for rank, hit in enumerate(hits, 1)}
        at = [(step, ranks.get(step.citation.passage_id)) for step in graph.decisive]
        if len(graph.found) == 1 or any(rank is None for _, rank in at):
            continue
        places = " and ".join(f"that of '{step.id}' at rank {rank}" for step, rank in at)
        description = (
            f"one search for '{query}'{over} returns the deciding passages ({places}), without the steps before"
        )
        mend = "ask for a property that many things have, or add a branch whose passage it does not return"
        return [Problem(Cause.QUERY_COLLAPSE, description, mend)]
    return []


async def _ask_reader(
    graph: Graph, passages: Mapping[str, Passage], context: RunContext
) -> tuple[list[StepFault], tuple[Probe, ...]]:
    described = {step.id: _describe_step(graph, step) for step in graph.steps}
    verdicts = cast(dict[str, tuple[StepFault, ...]], context.memory.step_verdicts)
    # A verdict depends on the step and its operands alone, so that it stays valid while they do not change.
    inputs = {step.id: [described[step_id] for step_id in (step.id, *_operands(step))] for step in graph.steps}
    keys = {step_id: orjson.dumps(step_inputs).decode() for step_id, step_inputs in inputs.items()}
    new = [step for step in graph.steps if keys[step.id] not in verdicts]
    probes: tuple[Probe, ...] = ()
    if new:
        needed = {step_id for step in new for step_id in (step.id, *_operands(step))}
        cited = dict.fromkeys(step.citation.passage_id for step in graph.found if step.id in needed)
        # What other documents say of a member of a set is no other answer to the question.
        may_differ = [step for step in new if isinstance(step, FoundStep) and not graph.member(step)]
        other_passages = await _find_other_passages(may_differ, graph, context)
        messages = context.prompt(
            "oracle/steps",
            passages=[show_passage(passages[passage_id], numbered=True) for passage_id in cited],
            others=[show_passage(passage) for passage in other_passages],
            steps=[described[step.id] for step in graph.steps if step.id in needed],
            to_check=[step.id for step in new],
        )
        output, model, usage = await readers.read(messages, STEPS, StepsOutput, context)
        for step in new:
            verdicts[keys[step.id]] = tuple(fault for fault in output.faults if _can_be_at_fault(step, fault))
        faults = [fault for step in new for fault in verdicts[keys[step.id]]]
        answers = tuple(f"{fault.step}: {fault.fault}: {fault.reason}" for fault in faults) or ("no fault",)
        probes = (Probe(check=CHECK_NAME, model=model, answers=answers, right=int(not faults), usage=usage),)
    return [fault for step in graph.steps for fault in verdicts[keys[step.id]]], probes


async def _find_other_passages(steps: Sequence[FoundStep], graph: Graph, context: RunContext) -> list[Passage]:
    """Return for each step the best passage of a document that the graph does not cite: it may hold another answer.

    A passage with the title of the cited one comes first.
    """
    cited = {step.citation.document_id for step in graph.found}
    results = await context.retriever.search_many(list(map(graph.fill_in, steps)), context.config.retrieval.k)
    best = list[Passage]()
    for step, hits in zip(steps, results, strict=True):
        passages = [hit.passage for hit in hits if hit.passage.document_id not in cited]
        best += sorted(passages, key=lambda passage: passage.title != step.citation.title)[:1]
    return list(dict.fromkeys(best))


def _operands(step: FoundStep | ComputedStep) -> Sequence[str]:
    return step.needs if isinstance(step, ComputedStep) else ()


def _can_be_at_fault(step: FoundStep | ComputedStep, fault: StepFault) -> bool:
    return step.id == fault.step and isinstance(step, ComputedStep) is (fault.fault in _OF_COMPUTED)


def _describe_step(graph: Graph, step: FoundStep | ComputedStep) -> dict[str, object]:
    description: dict[str, object] = {"id": step.id, "question": graph.fill_in(step)}
    values: dict[str, object]
    if isinstance(step, FoundStep):
        values = {
            "answer": step.answer,
            "about": step.about,
            "passage": shown_id(step.citation.passage_id),
            "sentences": [index + 1 for index in step.citation.sentences],
            "population": step.population,
            "time": step.time,
        }
    else:
        values = {"operation": step.operation, "compares": " ".join(step.needs)}
        if operation(step.operation).gives_subjects:
            values["chooses_among"] = [graph.subject(operand) for operand in graph.needed_by(step)]
    return description | {key: value for key, value in values.items() if value}


_MENDS = {
    "unstated": "cite the sentence that states it, or take another fact",
    "contradicted": "correct the detail or drop it",
    "ambiguous": "say in the sub-question what tells it apart, or take another fact",
    "unlinked": "cite a sentence that names what the step starts from",
    "undated": "give the date in the sub-question and in `time`, or take a fact that stays as it is",
    "unrelated": "let things meet that belong together: of one list, place, event, maker or kind that people compare",
    "incomparable": "compare values of one unit, population, time and definition",
    "misnamed": "give the name of each thing in `about` of its first step, or as the answer of a step before",
}


def _to_problem(fault: StepFault) -> Problem:
    reason = " ".join(fault.reason.split()).rstrip(".") or "its sentences do not hold the answer"
    causes = {"ambiguous": Cause.AMBIGUOUS, "undated": Cause.UNDATED, "unrelated": Cause.UNNATURAL}
    cause = causes.get(fault.fault, Cause.GENERATOR_ERROR)
    return Problem(cause, f"{fault.fault}: {reason}", _MENDS[fault.fault], fault.step)


def _to_findings(graph: Graph, problems: Sequence[Problem], context: RunContext) -> tuple[Finding, ...]:
    """Return one finding for each problem of the graph, and one for each step at fault: all its problems, one remedy.

    If a passage that decides the answer is at fault in a second proposal, the remedy is to take another passage.
    """
    findings = [
        Finding(check=CHECK_NAME, cause=problem.cause, detail=f"{problem.description}: {problem.mend}.")
        for problem in problems
        if not problem.step_id
    ]
    hops = {step.id: hop for hop, step in enumerate(graph.found)}
    decisive = {step.id for step in graph.decisive}
    for step in graph.steps:
        step_problems = [problem for problem in problems if problem.step_id == step.id]
        if not step_problems:
            continue
        mend, source = step_problems[0].mend, ""
        if isinstance(step, FoundStep):
            source = f" ('{step.citation.title}')"
            if step.id in decisive:
                faults = context.memory.faulty_passages
                faults[step.citation.passage_id] += 1
                mend = _TAKE_ANOTHER if faults[step.citation.passage_id] > 1 else mend
        description = "; ".join(dict.fromkeys(problem.description for problem in step_problems))
        detail = f"step '{step.id}'{source}: {description}. To do: {mend}."
        at_fault = (hops[step.id],) if step.id in hops else ()
        findings.append(Finding(check=CHECK_NAME, cause=step_problems[0].cause, hops=at_fault, detail=detail))
    return tuple(findings)


def _is_plainly_stated(step: FoundStep) -> bool:
    text = f"{step.citation.title} | {step.citation.quote}"
    return any(mentions(text, name) for name in step.spellings)
