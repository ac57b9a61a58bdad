"""The author as the tool loop sees it: from walks, from searches of its own, after feedback, and over a path."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from pipeline.agents.graph_proposals import ComposeArguments, WordedGraphArguments, to_graph
from pipeline.agents.tools import (
    COMPOSER_TOOLS,
    EXPLORE,
    GENERATOR_TOOLS,
    GRAPH_TOOLS,
    REFINER_TOOLS,
    ExploreArguments,
    render,
    show_passage,
)
from pipeline.demo.author import compose, explore, propose, revise
from pipeline.demo.comparisons import ComputedQuestion, read
from pipeline.llm.base import Request, Tool
from pipeline.loop.strategies.base import to_draft
from pipeline.operations import evaluate
from pipeline.prompts import fence
from pipeline.text import contains, words
from pipeline.types import Draft, Message, Passage, ToolCall
from pipeline.types.graph import Graph

TEXTS = {
    "Harbour Lights": "Harbour Lights is a 2004 Canadian drama film directed by Mira Tollund. Critics liked it.",
    "Mira Tollund": "Mira Tollund (born 4 May 1961) is a Canadian film director. She was born in Ostrava Bay.",
    "Ostrava Bay": "Ostrava Bay is a town in the east. It is in Merrick County. It was founded in 1823.",
    "Merrick County": "Merrick County is a county. It was named after Josiah Merrick. It was established in 1790.",
    "Josiah Merrick": "Josiah Merrick (12 March 1741 - 9 July 1802) was a British army officer.",
    "Anna Reed": "Anna Reed (born 9 June 1975) is a Canadian film director. She lives in Velia.",
    "Paul Stone": "Paul Stone (born 1 March 1938) is a Canadian film director. He has three sons.",
    "Green Fields": "Green Fields is a 1999 Canadian comedy film written by Anton Weiss.",
    "The Long Road": "The Long Road is a 1987 film directed by Anton Weiss. It was produced by Greta Lund.",
    "Low Marsh": "Low Marsh is a village in the north. It is in Barrow County.",
    "The Weather": "The weather of the coast is mild, with rain in most months and little snow on the hills.",
}
PASSAGES = {
    title: Passage(id=f"d{n}#0", document_id=f"d{n}", title=title, text=text, start=0, end=len(text))
    for n, (title, text) in enumerate(TEXTS.items())
}
BY_ID = {passage.shown_id: passage for passage in PASSAGES.values()}


def search(query: str, k: int = 3) -> list[Passage]:
    """By shared words, titles counting twice; no passage without one."""
    asked = set(words(query)) - {"the", "in", "of", "was", "a", "is", "by"}
    scored = [(2 * len(asked & set(words(p.title))) + len(asked & set(words(p.text))), p) for p in PASSAGES.values()]
    return [p for score, p in sorted(scored, key=lambda it: (-it[0], it[1].id)) if score][:k]


def asked(tools: Sequence[Tool], **inputs: Any) -> Request:
    told = {
        "target_steps": 2,
        "search_budget": 20,
        "check_budget": 0,
        "calls_per_turn": 4,
    } | inputs
    return Request(
        model="embedded", messages=(Message(role="user", content=fence(told, "0" * 16)),), tools=tuple(tools)
    )


def start(title: str, **inputs: Any) -> Request:
    return asked(GENERATOR_TOOLS, passage=show_passage(PASSAGES[title], numbered=True), **inputs)


def plan(title: str, **inputs: Any) -> Request:
    return asked(GRAPH_TOOLS, passage=show_passage(PASSAGES[title], numbered=True), outline=[], **inputs)


def check_graph(arguments: dict[str, Any], steps: int) -> Graph:
    """Return a proposed graph whose steps cite their answers and whose computed answer its operation settles."""
    graph = to_graph(orjson.dumps(arguments).decode(), BY_ID)
    assert graph is not None
    assert len(graph.found) >= steps
    assert all(contains(step.citation.quote, step.answer) for step in graph.found)
    return graph.with_answers({step_id: outcome.answer for step_id, outcome in evaluate(graph).items()})


def conversed(agent: Any, request: Request) -> tuple[dict[str, Any], list[str]]:
    """The arguments of the last call, and all queries, with `search` for the corpus."""
    queries: list[str] = []
    for _ in range(20):
        message = agent(request)
        if message.tool_calls[0].name != "search":
            return orjson.loads(message.tool_calls[0].arguments), queries
        queries += [orjson.loads(call.arguments)["query"] for call in message.tool_calls]
        found = [
            Message(
                role="tool",
                tool_call_id=call.id,
                content=render(search(orjson.loads(call.arguments)["query"]), heads_only=(), numbered=True),
            )
            for call in message.tool_calls
        ]
        request = request.model_copy(update={"messages": (*request.messages, message, *found)})
    raise AssertionError("it never ends")


def sound(made: dict[str, Any], steps: int) -> Draft:
    """Return the draft, whose quotes hold their answers and whose question names nothing in between."""
    proposed = WordedGraphArguments.model_validate(made)
    draft = to_draft(proposed, proposed.question, BY_ID)
    assert draft
    assert len(draft.hops) == steps
    for before, hop in zip((None, *draft.hops), draft.hops, strict=False):
        assert contains(hop.quote, hop.answer)
        assert before is None or contains(f"{hop.title} {hop.quote}", before.answer)
        assert not contains(draft.question, hop.answer)
    return draft


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_it_searches(steps: int) -> None:
    made, queries = conversed(propose, start("Harbour Lights", target_steps=steps))
    assert queries
    sound(made, steps)


def test_what_has_no_page_is_passed_through_by_what_is_said_of_it() -> None:
    made, _ = conversed(propose, start("Green Fields"))
    assert sound(made, 2).question == 'Who produced the 1987 film directed by the writer of the film "Green Fields"?'


def test_the_last_turn_ends_it() -> None:
    made = propose(start("The Weather").model_copy(update={"tool_choice": "propose"}))
    assert made.tool_calls[0].name == "propose"
    assert orjson.loads(made.tool_calls[0].arguments)["question"] == ""


@pytest.mark.parametrize(("label", "steps"), [("too_easy", 3), ("unsolved", 2)])
def test_another_question_comes_after_feedback_a_longer_one_where_it_was_too_easy(label: str, steps: int) -> None:
    made, _ = conversed(propose, start("Harbour Lights"))
    feedback = {"label": label, "cause": "superficial", "message": "", "hops": []}
    seen = [show_passage(passage, numbered=True) for passage in PASSAGES.values()]
    request = asked(REFINER_TOOLS, drafts=[made | {"feedback": feedback}], seen=seen)
    again, _ = conversed(revise, request)
    assert sound(again, steps).question != made["question"]


def test_a_passage_that_was_found_without_its_hop_is_not_used_again() -> None:
    made, _ = conversed(propose, start("Harbour Lights"))
    feedback = {"label": "too_easy", "cause": "superficial", "message": "", "hops": [0]}
    seen = [show_passage(passage, numbered=True) for passage in PASSAGES.values()]
    again, _ = conversed(revise, asked(REFINER_TOOLS, drafts=[made | {"feedback": feedback}], seen=seen))
    assert made["steps"][1]["passage_id"] not in {step["passage_id"] for step in again["steps"]}


def test_a_path_is_explored_by_what_it_names_and_composed_of_what_it_holds() -> None:
    path: list[dict[str, Any]] = []
    tried: list[dict[str, str]] = []
    for _ in range(5):
        request = asked(
            (EXPLORE,), passage=show_passage(PASSAGES["Harbour Lights"], numbered=True), path=path, left=5, tried=tried
        )
        step = ExploreArguments.model_validate_json(explore(request).tool_calls[0].arguments)
        assert step.tool == "search"
        assert step.argument not in {one["argument"] for one in tried}
        assert step.intent
        found = search(step.argument)
        path.append(
            {"argument": step.argument, "passages": [show_passage(passage, numbered=True) for passage in found]}
        )
        tried.append({"argument": step.argument})
    path.append({"argument": "village", "passages": [show_passage(PASSAGES["Low Marsh"], numbered=True)]})
    request = asked(
        COMPOSER_TOOLS,
        passage=show_passage(PASSAGES["Harbour Lights"], numbered=True),
        path=path,
        least_hops=2,
        target_steps=3,
    )
    made, _ = conversed(compose, request)
    sound({name: value for name, value in made.items() if name != "negative_aspect"}, 3)
    assert ComposeArguments.model_validate(made).negative_aspect


@pytest.mark.parametrize("title", ["Harbour Lights", "Mira Tollund", "Anna Reed"])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_graph_is_planned_from_what_the_searches_returned(title: str, steps: int) -> None:
    arguments, queries = conversed(propose, plan(title, target_steps=steps))
    assert queries
    check_graph(arguments, steps)


def test_a_comparison_rests_on_one_thing_that_the_question_does_not_name() -> None:
    arguments, _ = conversed(propose, plan("Anna Reed", target_steps=4))
    graph = check_graph(arguments, 4)
    comparison = read(graph.last.sub_question)
    assert isinstance(comparison, ComputedQuestion)
    assert {step.answer for step in graph.found if step.needs == ()} > {"Mira Tollund"}
    assert not contains(graph.last.sub_question, "Mira Tollund")


def test_after_a_refusal_another_relation_is_asked_for() -> None:
    request, asked = plan("Harbour Lights", target_steps=2), []
    while (arguments := conversed(propose, request)[0])["steps"]:
        asked.append(arguments["steps"][-1]["sub_question"])
        call = ToolCall(id="call0", name="propose", arguments=orjson.dumps(arguments).decode())
        refusal = Message(role="tool", tool_call_id=call.id, content="The graph cannot be used yet:\n- mend it")
        turns = (Message(role="assistant", tool_calls=(call,)), refusal)
        request = request.model_copy(update={"messages": (*request.messages, *turns)})
    assert len({*asked}) == len(asked) > 1


def test_without_a_graph_it_gives_up() -> None:
    assert conversed(propose, plan("The Weather"))[0] == {"steps": []}
