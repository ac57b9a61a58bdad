"""The embedded curator and composer: where to look next on a path, and what to ask of it.

Both read the path again as a graph, as the generator does its walk. The curator looks up the name that would make the
longest chain; the composer asks about the best chain that the path holds, and tries it out where it may search.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator import chance, final, nothing, read_inputs, searched, searches, shown
from pipeline.embedded.generator_chain import Chain
from pipeline.embedded.generator_graph import readings
from pipeline.embedded.generator_walk import Goal, Walk
from pipeline.embedded.observed import Seen
from pipeline.llm.base import Request
from pipeline.text import sentences
from pipeline.types import Message

_DEEP = 4
"""The chain that the curator explores for, in hops: it knows no target."""
_LOOKED_AT = 40


def explore(request: Request) -> Message:
    """The next action of a path."""
    inputs = read_inputs(request)
    walk = Walk(Goal(_DEEP, ("entity",), 0), [shown(inputs["passage"])], _found(inputs), chance(request, inputs))
    tried = {action["argument"].lower() for action in inputs["tried"]}
    name = next((name for name in walk.frontier() if name.lower() not in tried), "")
    if not name:
        return final(request, {"tool": "leave"})
    return final(request, {"tool": "search", "argument": name, "intent": _intent(walk, name)})


def _intent(walk: Walk, name: str) -> str:
    for title, told in walk.graph.stated.items():
        if any(stated.fact.kind == "link" and readings(stated)[:1] == (name,) for stated in told):
            return f"{plain(title)} leads to {name}: find what is stated of it."
    if name in {plain(title) for title in walk.graph.nodes}:
        return f"Find what else is stated of {name}, and who names it."
    return f"Find out what {name} is."


def compose(request: Request) -> Message:
    """The composer's next turn: a search that tries a question out, or the question."""
    inputs = read_inputs(request)
    read = _found(inputs)
    tried_out = searched(request.messages, [shown(inputs["passage"]), *(hit for hits in read.values() for hit in hits)])
    found = {**read, **tried_out}
    steps, least = inputs["target_steps"], inputs["least_hops"]
    goal = Goal(max(steps, least), inputs["answer_types"], inputs["search_budget"])
    walk = Walk(goal, [shown(inputs["passage"])], found, chance(request, inputs))
    left = 0 if request.tool_choice == "compose" else goal.budget - len(tried_out)
    for chain in _candidates(walk, least):
        if walk.failed(chain):
            continue
        if queries := walk.untried(chain)[:left]:
            return searches(request, queries)
        return final(request, {**walk.arguments(chain), "negative_aspect": _negatives(walk, chain)})
    return final(request, nothing(goal.type))


def _candidates(walk: Walk, least: int) -> Iterator[Chain]:
    """The wanted type first, then others; only what is said in two sentences."""
    for length in range(walk.goal.steps, least - 1, -1):
        for kind in walk.goal.types:
            for chain in walk.ranked(length, kind)[:_LOOKED_AT]:
                if len(sentences(walk.ask(chain))) <= 2:
                    yield chain


def _found(inputs: dict[str, Any]) -> dict[str, list[Seen]]:
    """What each action of the path brought, as far as it is shown: a passage is shown once, and later by its id alone,
    and some are named only."""
    read = {inputs["passage"]["id"]: shown(inputs["passage"])}
    for step in inputs["path"]:
        read |= {passage["id"]: shown(passage) for passage in step["passages"]}
    return {step["argument"]: [read[i] for i in step["found"] if i in read] for step in inputs["path"]}


def _negatives(walk: Walk, chain: Chain) -> list[dict[str, str]]:
    """Facts of the answer's relation that the path holds about something else."""
    asked, end = chain.final.stated.fact, chain.titles[-1]
    rivals = [
        (title, stated)
        for title, told in sorted(walk.graph.stated.items())
        for stated in told
        if title != end and stated.fact.relation == asked.relation and stated.object != chain.final.answer
    ]
    return [
        {
            "dimension": "doppelganger",
            "misleading_claim": stated.object,
            "disambiguation": f"It is stated of {plain(title)}, not of {plain(end)}.",
            "distraction_text": stated.quote,
        }
        for title, stated in rivals[:_MOST_NEGATIVES]
    ]


_MOST_NEGATIVES = 3
