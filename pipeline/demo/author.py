"""The demo model as author: generator, refiner, curator and composer, which find relations of the table in passages.

Each turn reads all messages again. It proposes the first chain that was not tried yet, or, if there is none, searches
for names in the passages.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from pipeline import prompts
from pipeline.demo.chains import Chain, Paths, capital, draft, meaning
from pipeline.demo.graphs import GraphPlan
from pipeline.demo.leads import PlannedSearch, drop_tried, plan_leads
from pipeline.demo.passage_facts import Seen, build_passage, facts, parse_observation
from pipeline.demo.question_wording import read_question
from pipeline.llm.base import Request
from pipeline.text import strip_tag, trim_lines
from pipeline.types import Message, ToolCall

_SEARCHES, _AT_ONCE = 12, 4
"""The most searches of an author for each hop, and in one turn."""
_PATIENCE = 8
"""The number of searches for the drawn shape of graph before another shape is taken."""
_DEEP = 4
"""The number of hops of the chain that a curator explores for, since it does not know the target."""


class Task(NamedTuple):
    """The inputs of an author."""

    passages: list[Seen]
    lengths: Sequence[int]
    """The possible lengths of the chain, in the order in which they are tried."""
    before: Sequence[str] = ()
    """Earlier questions, and passages that are found without the hops before them."""
    negatives: bool = False


def propose(request: Request) -> Message:
    inputs = _inputs(request)
    if "outline" in inputs:
        return _plan_graph(request, inputs)
    return _turn(request, inputs, Task([read_passage(inputs["passage"])], [inputs["target_steps"]]))


def _plan_graph(request: Request, inputs: dict[str, Any]) -> Message:
    """Propose the first graph that ends in another relation than those sent back, or search for what one needs."""
    seed_passage = read_passage(inputs["passage"])
    calls = [call for message in request.messages for call in message.tool_calls]
    queries = [orjson.loads(call.arguments)["query"] for call in calls if call.name == "search"]
    refused = {_name_relation(orjson.loads(call.arguments)) for call in calls if call.name == "propose"}
    paths = _paths([seed_passage], request)
    plan = GraphPlan(seed_passage, inputs["target_steps"], paths)
    searches_left = min(inputs["search_budget"], _SEARCHES * inputs["target_steps"]) - len(queries)
    search_count = min(searches_left, _AT_ONCE, inputs["calls_per_turn"]) if request.tool_choice != "propose" else 0
    searches = list(islice(drop_tried(plan.searches(), queries), max(search_count, 0)))
    # The shape that the seed draws gets some searches before another one takes its place.
    is_patient = len(queries) < _PATIENCE and bool(searches)
    for graph in plan.graphs(plan.shapes[:1] if is_patient else plan.shapes):
        if _name_relation(graph) not in refused:
            return _call_tools(request, ("propose", graph))
    if searches:
        return _call_tools(request, *(("search", {"query": search.text}) for search in searches))
    return _call_tools(request, ("propose", {"steps": []}))


def _name_relation(graph: dict[str, Any]) -> str:
    questions = [step["sub_question"] for step in graph["steps"] if "operation" not in step]
    question = read_question(questions[-1]) if questions else None
    return question.relation.name if question else ""


def revise(request: Request) -> Message:
    """Take the refiner's next turn: another chain, which is longer if the last was too easy."""
    inputs = _inputs(request)
    last, target = inputs["drafts"][-1], inputs["target_steps"]
    was_too_easy = last["feedback"]["label"] == "too_easy" and len(last["steps"]) >= target
    before = [earlier["question"] for earlier in inputs["drafts"]]
    before += [
        earlier["steps"][hop + 1]["passage_id"]
        for earlier in inputs["drafts"]
        for hop in earlier["feedback"]["hops"]
        if hop + 1 < len(earlier["steps"])
    ]
    lengths = [target + 1, target] if was_too_easy else [target]
    return _turn(request, inputs, Task(list(map(read_passage, inputs["seen"])), lengths, before))


def compose(request: Request) -> Message:
    inputs = _inputs(request)
    least = inputs["least_hops"]
    lengths = range(max(inputs["target_steps"], least), least - 1, -1)
    return _turn(request, inputs, Task(_path_passages(inputs), lengths, negatives=True))


def explore(request: Request) -> Message:
    inputs = _inputs(request)
    tried_queries = [action["argument"] for action in inputs["tried"]]
    for query in _queries(Paths(_path_passages(inputs)), tried_queries, _DEEP):
        return _call_tools(request, ("explore", {"tool": "search", "argument": query.text, "intent": query.intent}))
    return _call_tools(request, ("explore", {"tool": "leave"}))


def _turn(request: Request, inputs: dict[str, Any], task: Task) -> Message:
    last, tools = request.tools[-1].name, {tool.name for tool in request.tools}
    calls = [call for message in request.messages for call in message.tool_calls]
    made_queries = [orjson.loads(call.arguments)["query"] for call in calls if call.name == "search"]
    paths = _paths(task.passages, request)
    must_finish = request.tool_choice == last
    if chain := next(_find_untried(paths, task), None):
        negatives = {"negative_aspect": _rival_facts(chain, paths.passages)} if task.negatives else {}
        return _call_tools(request, (last, draft(chain) | negatives))
    searches_left = min(inputs["search_budget"], _SEARCHES * min(task.lengths)) - len(made_queries)
    if not must_finish and "search" in tools and searches_left > 0:
        search_count = min(searches_left, _AT_ONCE, inputs["calls_per_turn"])
        if queries := list(islice(_queries(paths, made_queries, min(task.lengths)), search_count)):
            return _call_tools(request, *(("search", {"query": query.text}) for query in queries))
    return _call_tools(request, (last, {"question": "", "steps": []}))


def _paths(passages: list[Seen], request: Request) -> Paths:
    observations = [message.content for message in request.messages if message.role == "tool"]
    retrieved = [passage for observation in observations for passage in parse_observation(observation)]
    return Paths(list({passage.id: passage for passage in [*passages, *retrieved]}.values()))


def _find_untried(paths: Paths, task: Task) -> Iterator[Chain]:
    given_ids = frozenset(passage.id for passage in task.passages)
    for length in task.lengths:
        for chain in paths.find_askable(length, given_ids):
            cited = {hop.passage.id for hop in chain}
            if cited.isdisjoint(task.before) and capital(meaning(chain).question()) not in task.before:
                yield chain


def _queries(paths: Paths, made_queries: Sequence[str], length: int) -> Iterator[PlannedSearch]:
    """Plan searches for the ends and starts of the longest chains, then for names in the first passages."""
    return drop_tried(plan_leads(paths, length), made_queries)


def _rival_facts(chain: Chain, passages: Sequence[Seen]) -> list[dict[str, str]]:
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


def _path_passages(inputs: dict[str, Any]) -> list[Seen]:
    path = (passage for step in inputs["path"] for passage in step["passages"])
    return list(map(read_passage, [inputs["passage"], *path]))


def _inputs(request: Request) -> dict[str, Any]:
    return next(inputs for message in request.messages if (inputs := prompts.unfence(message.content)) is not None)


def read_passage(passage: dict[str, Any]) -> Seen:
    """Convert a passage of the inputs to the form in which a search shows it."""
    title, text = " ".join(passage["title"].split()), passage["text"]
    return build_passage(passage["id"], title, text if text.startswith("[1] ") else trim_lines(text))


def _call_tools(request: Request, *calls: tuple[str, dict[str, Any]]) -> Message:
    # Number the calls as an agent does, so that records are the same over the wire.
    first = sum(len(message.tool_calls) for message in request.messages)
    tool_calls = [
        ToolCall(id=f"call{number:05d}", name=name, arguments=orjson.dumps(arguments).decode())
        for number, (name, arguments) in enumerate(calls, first)
    ]
    return Message(role="assistant", tool_calls=tuple(tool_calls))
