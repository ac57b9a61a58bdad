"""The demo model as author: generator, refiner, curator and composer, which read a table of relations in what they see.

Each turn reads all messages again: it proposes the first chain that was not tried yet, and where there is none it
searches for what the passages name.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from pipeline import prompts
from pipeline.demo.chains import Chain, Paths, capital, draft, meaning, start
from pipeline.demo.passage_facts import Seen, facts, remove_numbers, seen
from pipeline.llm.base import Request
from pipeline.text import untagged, words
from pipeline.types import Message, ToolCall

_SEARCHES, _AT_ONCE = 12, 4
"""Searches of one author for each hop, and of one turn."""
_DEEP = 4
"""The chain that a composer is given material for, in hops: a curator knows no target."""
_TYPES = ("date", "entity", "number")
_NAME = re.compile(r"[A-ZÀ-Þ][\w'’.-]{1,60}+(?: (?:(?:of|the|de|van|von) )*+[A-ZÀ-Þ][\w'’.-]{0,60}\w)+")


class PlannedSearch(NamedTuple):
    text: str
    intent: str


class Task(NamedTuple):
    """What an author is given to work with."""

    given: list[Seen]
    lengths: Sequence[int]
    """Of the chains that it may ask for; the first is tried first."""
    before: Sequence[str] = ()
    """Questions that were asked, and passages that are found without the hops before them."""
    negatives: bool = False


def propose(request: Request) -> Message:
    """The generator's next turn."""
    inputs = _inputs(request)
    if "outline" in inputs:  # it has no rules for evidence graphs
        return _called(request, ("propose", {"steps": []}))
    return _turn(request, inputs, Task([shown(inputs["passage"])], [inputs["target_steps"]]))


def revise(request: Request) -> Message:
    """The refiner's next turn: another chain, longer where the last was too easy."""
    inputs = _inputs(request)
    last, target = inputs["drafts"][-1], inputs["target_steps"]
    easy = last["feedback"]["label"] == "too_easy" and len(last["hops"]) >= target
    before = [one["question"] for one in inputs["drafts"]]
    before += [
        one["hops"][hop + 1]["passage_id"]
        for one in inputs["drafts"]
        for hop in one["feedback"]["hops"]
        if hop + 1 < len(one["hops"])
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
        for chain in paths.asked(length, _TYPES, favoured):
            cited = {hop.passage.id for hop in chain}
            if cited.isdisjoint(task.before) and capital(meaning(chain).question()) not in task.before:
                yield chain


def _queries(paths: Paths, asked: Sequence[str], length: int) -> Iterator[PlannedSearch]:
    """What to search for: what the longest chains lead to, or begin with; then what the first passages name."""
    tried = {" ".join(words(query)) for query in asked}
    for query in _leads(paths, length):
        said = " ".join(words(query.text))
        if said and said not in tried:
            tried.add(said)
            yield query


def _leads(paths: Paths, length: int) -> Iterator[PlannedSearch]:
    for hops in range(length - 1, 0, -1):
        useful = paths.of(hops)
        for chain in useful:
            fact, first = chain[-1].exit, start(chain).name
            if fact.relation.to:
                yield PlannedSearch(f"{fact.value} {fact.relation.query}", f"{first} leads to {fact.value}.")
        for chain in useful:
            yield PlannedSearch(start(chain).name, f"Find what leads to {start(chain).name}.")
    for passage in paths.passages[:4]:
        for name in (untagged(passage.title), *_NAME.findall(passage.text)):
            yield PlannedSearch(name, f"Find what is told of {name}.")


def _negatives(chain: Chain, passages: Sequence[Seen]) -> list[dict[str, str]]:
    """Return what the passages tell of other things in the relation that the question asks for."""
    last = chain[-1]
    return [
        {
            "dimension": "doppelganger",
            "misleading_claim": fact.value,
            "disambiguation": f"It is told of {untagged(passage.title)}.",
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
    """A passage of the inputs, as a search would have shown it."""
    return Seen(passage["id"], " ".join(passage["title"].split()), remove_numbers(passage["text"]))


def _called(request: Request, *calls: tuple[str, dict[str, Any]]) -> Message:
    # As an agent numbers them, so that records are the same over the wire.
    first = sum(len(message.tool_calls) for message in request.messages)
    made = [
        ToolCall(id=f"call{number:05d}", name=name, arguments=orjson.dumps(arguments).decode())
        for number, (name, arguments) in enumerate(calls, first)
    ]
    return Message(role="assistant", tool_calls=tuple(made))
