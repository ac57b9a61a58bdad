"""The demo generator works in the tool loop: from walks, from its own searches, after feedback, and over a path."""

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
    """Rank passages by shared words; words of the title count twice."""
    query_words = set(words(query)) - {"the", "in", "of", "was", "a", "is", "by"}
    scored = [
        (2 * len(query_words & set(words(p.title))) + len(query_words & set(words(p.text))), p)
        for p in PASSAGES.values()
    ]
    return [p for score, p in sorted(scored, key=lambda it: (-it[0], it[1].id)) if score][:k]


def make_request(tools: Sequence[Tool], **inputs: Any) -> Request:
    values = {
        "target_steps": 2,
        "search_budget": 20,
        "check_budget": 0,
        "calls_per_turn": 4,
    } | inputs
    return Request(
        model="embedded", messages=(Message(role="user", content=fence(values, "0" * 16)),), tools=tuple(tools)
    )


def request_draft(title: str, **inputs: Any) -> Request:
    return make_request(GENERATOR_TOOLS, passage=show_passage(PASSAGES[title], numbered=True), **inputs)


def request_plan(title: str, **inputs: Any) -> Request:
    return make_request(GRAPH_TOOLS, passage=show_passage(PASSAGES[title], numbered=True), outline=[], **inputs)


def check_graph(arguments: dict[str, Any], steps: int) -> Graph:
    """Return a proposed graph whose steps cite their answers and whose computed answer its operation settles."""
    graph = to_graph(orjson.dumps(arguments).decode(), BY_ID)
    assert graph is not None
    assert len(graph.found) >= steps
    assert all(contains(step.citation.quote, step.answer) for step in graph.found)
    return graph.with_answers({step_id: outcome.answer for step_id, outcome in evaluate(graph).items()})


def run_conversation(agent: Any, request: Request) -> tuple[dict[str, Any], list[str]]:
    """Run a conversation over `search`. Return the arguments of the last call, and all queries."""
    queries: list[str] = []
    for _ in range(20):
        message = agent(request)
        if message.tool_calls[0].name != "search":
            return orjson.loads(message.tool_calls[0].arguments), queries
        queries += [orjson.loads(call.arguments)["query"] for call in message.tool_calls]
        results = [
            Message(
                role="tool",
                tool_call_id=call.id,
                content=render(search(orjson.loads(call.arguments)["query"]), heads_only=(), numbered=True),
            )
            for call in message.tool_calls
        ]
        request = request.model_copy(update={"messages": (*request.messages, message, *results)})
    raise AssertionError("it never ends")


def check_draft(arguments: dict[str, Any], steps: int) -> Draft:
    """Return the draft, whose quotes hold their answers and whose question names nothing in between."""
    proposed = WordedGraphArguments.model_validate(arguments)
    draft = to_draft(proposed, proposed.question, BY_ID)
    assert draft
    assert len(draft.hops) == steps
    for previous, hop in zip((None, *draft.hops), draft.hops, strict=False):
        assert contains(hop.quote, hop.answer)
        assert previous is None or contains(f"{hop.title} {hop.quote}", previous.answer)
        assert not contains(draft.question, hop.answer)
    return draft


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_it_searches(steps: int) -> None:
    arguments, queries = run_conversation(propose, request_draft("Harbour Lights", target_steps=steps))
    assert queries
    check_draft(arguments, steps)


def test_what_has_no_page_is_passed_through_by_what_is_said_of_it() -> None:
    arguments, _ = run_conversation(propose, request_draft("Green Fields"))
    assert (
        check_draft(arguments, 2).question
        == 'Who produced the 1987 film directed by the writer of the film "Green Fields"?'
    )


def test_the_last_turn_ends_it() -> None:
    arguments = propose(request_draft("The Weather").model_copy(update={"tool_choice": "propose"}))
    assert arguments.tool_calls[0].name == "propose"
    assert orjson.loads(arguments.tool_calls[0].arguments)["question"] == ""


@pytest.mark.parametrize(("label", "steps"), [("too_easy", 3), ("unsolved", 2)])
def test_another_question_comes_after_feedback_a_longer_one_where_it_was_too_easy(label: str, steps: int) -> None:
    arguments, _ = run_conversation(propose, request_draft("Harbour Lights"))
    feedback = {"label": label, "cause": "superficial", "message": "", "hops": []}
    shown_passages = [show_passage(passage, numbered=True) for passage in PASSAGES.values()]
    request = make_request(REFINER_TOOLS, drafts=[arguments | {"feedback": feedback}], seen=shown_passages)
    revised, _ = run_conversation(revise, request)
    assert check_draft(revised, steps).question != arguments["question"]


def test_a_passage_that_was_found_without_its_hop_is_not_used_again() -> None:
    arguments, _ = run_conversation(propose, request_draft("Harbour Lights"))
    feedback = {"label": "too_easy", "cause": "superficial", "message": "", "hops": [0]}
    shown_passages = [show_passage(passage, numbered=True) for passage in PASSAGES.values()]
    revised, _ = run_conversation(
        revise, make_request(REFINER_TOOLS, drafts=[arguments | {"feedback": feedback}], seen=shown_passages)
    )
    assert arguments["steps"][1]["passage_id"] not in {step["passage_id"] for step in revised["steps"]}


def test_a_path_is_explored_by_what_it_names_and_composed_of_what_it_holds() -> None:
    path: list[dict[str, Any]] = []
    past_queries: list[dict[str, str]] = []
    for _ in range(5):
        request = make_request(
            (EXPLORE,),
            passage=show_passage(PASSAGES["Harbour Lights"], numbered=True),
            path=path,
            left=5,
            tried=past_queries,
        )
        step = ExploreArguments.model_validate_json(explore(request).tool_calls[0].arguments)
        assert step.tool == "search"
        assert step.argument not in {query_made["argument"] for query_made in past_queries}
        assert step.intent
        passages = search(step.argument)
        path.append(
            {"argument": step.argument, "passages": [show_passage(passage, numbered=True) for passage in passages]}
        )
        past_queries.append({"argument": step.argument})
    path.append({"argument": "village", "passages": [show_passage(PASSAGES["Low Marsh"], numbered=True)]})
    request = make_request(
        COMPOSER_TOOLS,
        passage=show_passage(PASSAGES["Harbour Lights"], numbered=True),
        path=path,
        least_hops=2,
        target_steps=3,
    )
    arguments, _ = run_conversation(compose, request)
    check_draft({name: value for name, value in arguments.items() if name != "negative_aspect"}, 3)
    assert ComposeArguments.model_validate(arguments).negative_aspect


@pytest.mark.parametrize("title", ["Harbour Lights", "Mira Tollund", "Anna Reed"])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_graph_is_planned_from_what_the_searches_returned(title: str, steps: int) -> None:
    arguments, queries = run_conversation(propose, request_plan(title, target_steps=steps))
    assert queries
    check_graph(arguments, steps)


def test_a_comparison_rests_on_one_thing_that_the_question_does_not_name() -> None:
    arguments, _ = run_conversation(propose, request_plan("Anna Reed", target_steps=4))
    graph = check_graph(arguments, 4)
    comparison = read(graph.last.sub_question)
    assert isinstance(comparison, ComputedQuestion)
    assert {step.answer for step in graph.found if step.needs == ()} > {"Mira Tollund"}
    assert not contains(graph.last.sub_question, "Mira Tollund")


def test_after_a_refusal_another_relation_is_asked_for() -> None:
    request, sub_questions = request_plan("Harbour Lights", target_steps=2), []
    while (arguments := run_conversation(propose, request)[0])["steps"]:
        sub_questions.append(arguments["steps"][-1]["sub_question"])
        call = ToolCall(id="call0", name="propose", arguments=orjson.dumps(arguments).decode())
        refusal = Message(role="tool", tool_call_id=call.id, content="The graph cannot be used yet:\n- mend it")
        turns = (Message(role="assistant", tool_calls=(call,)), refusal)
        request = request.model_copy(update={"messages": (*request.messages, *turns)})
    assert len({*sub_questions}) == len(sub_questions) > 1


def test_without_a_graph_it_gives_up() -> None:
    assert run_conversation(propose, request_plan("The Weather"))[0] == {"steps": []}
