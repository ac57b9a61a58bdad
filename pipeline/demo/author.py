"""The demo model as author: generator, refiner, curator and composer, which read a table of relations in what they see.

Each turn reads all messages again: it proposes the first chain that was not tried yet, and where there is none it
searches for what the passages name.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from pipeline import prompts
from pipeline.demo.chains import Chain, Paths, capital, draft, meaning
from pipeline.demo.graphs import GraphPlan
from pipeline.demo.leads import PlannedSearch, drop_tried, plan_leads
from pipeline.demo.passage_facts import Seen, build_passage, facts, seen
from pipeline.demo.question_wording import read_question
from pipeline.llm.base import Request
from pipeline.text import strip_tag, trim_lines
from pipeline.types import Message, ToolCall

_SEARCHES, _AT_ONCE = 12, 4
"""Searches of one author for each hop, and of one turn."""
_PATIENCE = 8
"""Searches for the shape of graph that a seed draws, before any other one is taken."""
_DEEP = 4
"""The chain that a composer is given material for, in hops: a curator knows no target."""


class Task(NamedTuple):
    """What an author is given to work with."""

    given: list[Seen]
    lengths: Sequence[int]
    """Of the chains that it may ask for; the first is tried first."""
    before: Sequence[str] = ()
    """Questions that were asked, and passages that are found without the hops before them."""
    negatives: bool = False


def propose(request: Request) -> Message:
    """Take the generator's next turn: a graph for a writer to word, or a chain with its question."""
    inputs = _inputs(request)
    if "outline" in inputs:
        return _plan_graph(request, inputs)
    return _turn(request, inputs, Task([shown(inputs["passage"])], [inputs["target_steps"]]))


def _plan_graph(request: Request, inputs: dict[str, Any]) -> Message:
    """Propose the first graph that ends in another relation than those sent back, or search for what one needs."""
    own = shown(inputs["passage"])
    calls = [call for message in request.messages for call in message.tool_calls]
    asked = [orjson.loads(call.arguments)["query"] for call in calls if call.name == "search"]
    refused = {_name_relation(orjson.loads(call.arguments)) for call in calls if call.name == "propose"}
    results = [passage for message in request.messages if message.role == "tool" for passage in seen(message.content)]
    paths = Paths(list({passage.id: passage for passage in [own, *results]}.values()))
    plan = GraphPlan(own, inputs["target_steps"], paths)
    left = min(inputs["search_budget"], _SEARCHES * inputs["target_steps"]) - len(asked)
    at_once = min(left, _AT_ONCE, inputs["calls_per_turn"]) if request.tool_choice != "propose" else 0
    searches = list(islice(drop_tried(plan.searches(), asked), max(at_once, 0)))
    # The shape that the seed draws gets some searches before another one takes its place.
    is_patient = len(asked) < _PATIENCE and bool(searches)
    for graph in plan.graphs(plan.shapes[:1] if is_patient else plan.shapes):
        if _name_relation(graph) not in refused:
            return _called(request, ("propose", graph))
    if searches:
        return _called(request, *(("search", {"query": search.text}) for search in searches))
    return _called(request, ("propose", {"steps": []}))


def _name_relation(graph: dict[str, Any]) -> str:
    questions = [step["sub_question"] for step in graph["steps"] if "operation" not in step]
    asked = read_question(questions[-1]) if questions else None
    return asked.relation.name if asked else ""


def revise(request: Request) -> Message:
    """The refiner's next turn: another chain, longer where the last was too easy."""
    inputs = _inputs(request)
    last, target = inputs["drafts"][-1], inputs["target_steps"]
    easy = last["feedback"]["label"] == "too_easy" and len(last["steps"]) >= target
    before = [one["question"] for one in inputs["drafts"]]
    before += [
        one["steps"][hop + 1]["passage_id"]
        for one in inputs["drafts"]
        for hop in one["feedback"]["hops"]
        if hop + 1 < len(one["steps"])
    ]
    lengths = [target + 1, target] if easy else [target]
    return _turn(request, inputs, Task(list(map(shown, inputs["seen"])), lengths, before))


def compose(request: Request) -> Message:
    """The composer's next turn: the longest chain that the path holds."""
    inputs = _inputs(request)
    least = inputs["least_hops"]
    lengths = range(max(inputs["target_steps"], least), least - 1, -1)
    return _turn(request, inputs, Task(_of_path(inputs), lengths, negatives=True))


def explore(request: Request) -> Message:
    """The curator's next action."""
    inputs = _inputs(request)
    tried = [action["argument"] for action in inputs["tried"]]
    for query in _queries(Paths(_of_path(inputs)), tried, _DEEP):
        return _called(request, ("explore", {"tool": "search", "argument": query.text, "intent": query.intent}))
    return _called(request, ("explore", {"tool": "leave"}))


def _turn(request: Request, inputs: dict[str, Any], task: Task) -> Message:
    last, tools = request.tools[-1].name, {tool.name for tool in request.tools}
    made = [call for message in request.messages for call in message.tool_calls]
    asked = [orjson.loads(call.arguments)["query"] for call in made if call.name == "search"]
    told = [passage for message in request.messages if message.role == "tool" for passage in seen(message.content)]
    paths = Paths(list({passage.id: passage for passage in [*task.given, *told]}.values()))
    forced = request.tool_choice == last
    if chain := next(_untried(paths, task), None):
        negatives = {"negative_aspect": _negatives(chain, paths.passages)} if task.negatives else {}
        return _called(request, (last, draft(chain) | negatives))
    left = min(inputs["search_budget"], _SEARCHES * min(task.lengths)) - len(asked)
    if not forced and "search" in tools and left > 0:
        at_once = min(left, _AT_ONCE, inputs["calls_per_turn"])
        if queries := list(islice(_queries(paths, asked, min(task.lengths)), at_once)):
            return _called(request, *(("search", {"query": query.text}) for query in queries))
    return _called(request, (last, {"question": "", "steps": []}))


def _untried(paths: Paths, task: Task) -> Iterator[Chain]:
    favoured = frozenset(passage.id for passage in task.given)
    for length in task.lengths:
        for chain in paths.asked(length, favoured):
            cited = {hop.passage.id for hop in chain}
            if cited.isdisjoint(task.before) and capital(meaning(chain).question()) not in task.before:
                yield chain


def _queries(paths: Paths, asked: Sequence[str], length: int) -> Iterator[PlannedSearch]:
    """What to search for: what the longest chains lead to, or begin with; then what the first passages name."""
    return drop_tried(plan_leads(paths, length), asked)


def _negatives(chain: Chain, passages: Sequence[Seen]) -> list[dict[str, str]]:
    """Return what the passages tell of other things in the relation that the question asks for."""
    last = chain[-1]
    return [
        {
            "dimension": "doppelganger",
            "misleading_claim": fact.value,
            "disambiguation": f"It is told of {strip_tag(passage.title)}.",
            "distraction_text": fact.quote,
        }
        for passage in passages
        for fact in facts(passage)
        if fact.relation.query == last.exit.relation.query
        and passage.id != last.passage.id
        and fact.value != last.exit.value
    ][:3]


def _of_path(inputs: dict[str, Any]) -> list[Seen]:
    return list(map(shown, [inputs["passage"], *(passage for step in inputs["path"] for passage in step["passages"])]))


def _inputs(request: Request) -> dict[str, Any]:
    return next(found for message in request.messages if (found := prompts.unfence(message.content)) is not None)


def shown(passage: dict[str, Any]) -> Seen:
    """Return a passage of the inputs, as a search would have shown it."""
    title, text = " ".join(passage["title"].split()), passage["text"]
    return build_passage(passage["id"], title, text if text.startswith("[1] ") else trim_lines(text))


def _called(request: Request, *calls: tuple[str, dict[str, Any]]) -> Message:
    # As an agent numbers them, so that records are the same over the wire.
    first = sum(len(message.tool_calls) for message in request.messages)
    made = [
        ToolCall(id=f"call{number:05d}", name=name, arguments=orjson.dumps(arguments).decode())
        for number, (name, arguments) in enumerate(calls, first)
    ]
    return Message(role="assistant", tool_calls=tuple(made))
