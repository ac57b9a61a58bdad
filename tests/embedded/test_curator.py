"""The embedded curator follows names from passage to passage; the composer asks about the chain that they make."""

from typing import Any

import orjson
import pytest

from pipeline.agents.tools import COMPOSER_TOOLS, EXPLORE, ComposeArguments, ExploreArguments, render
from pipeline.embedded.curator import compose, explore
from pipeline.llm.base import Request, Tool
from pipeline.prompts import fence
from pipeline.text import contains, sentences
from pipeline.types import Message
from tests.embedded.test_generator import PASSAGES, search

BOUNDARY = "0123456789abcdef"
SEED = next(p for p in PASSAGES if p.title == "Harbour Lights")
NAMES = ("Mira Tollund", "Ostrava Bay", "Merrick County")


def asked(tools: tuple[Tool, ...], choice: str = "auto", **inputs: Any) -> Request:
    told = {"passage": {"id": SEED.shown_id, "title": SEED.title, "text": SEED.text}, **inputs}
    user = Message(role="user", content=fence(told, BOUNDARY))
    return Request(model="embedded", messages=(Message(role="system"), user), tools=tools, tool_choice=choice)


def path(*queries: str) -> list[dict[str, Any]]:
    known, told = {SEED.id}, []
    for query in queries:
        found = search(query, 3)
        fresh = [p for p in found if p.id not in known]
        known |= {p.id for p in found}
        shown = [{"id": p.shown_id, "title": p.title, "text": p.text} for p in fresh]
        told.append(
            {"tool": "search", "argument": query, "intent": "", "found": [p.shown_id for p in found], "passages": shown}
        )
    return told


def arguments(message: Message) -> dict[str, Any]:
    return orjson.loads(message.tool_calls[0].arguments)


def explored(*queries: str, tried: tuple[str, ...] = ()) -> ExploreArguments:
    actions = [{"tool": "search", "argument": query, "outcome": ""} for query in (*queries, *tried)]
    request = asked((EXPLORE,), path=path(*queries), left=5, tried=actions)
    return ExploreArguments.model_validate(arguments(explore(request)))


def test_it_follows_names_that_the_path_states_something_about() -> None:
    done: list[str] = []
    while len(done) < 4:
        step = explored(*done)
        held = " ".join(p.text for query in ("Harbour Lights", *done) for p in search(query, 3))
        assert step.tool == "search"
        assert step.argument in held
        assert step.argument in step.intent
        assert step.argument not in done
        done.append(step.argument)
    assert {"Mira Tollund", "Ostrava Bay"} <= set(done)


def test_it_takes_another_way_where_one_was_tried_and_leaves_where_none_is_left() -> None:
    seen: list[str] = []
    while (step := explored(tried=tuple(seen))).tool == "search":
        assert step.argument not in seen
        seen.append(step.argument)
    assert "Mira Tollund" in seen
    assert step.tool == "leave"


def composed(steps: int, *queries: str, budget: int = 0, least: int = 2) -> ComposeArguments:
    request = asked(
        COMPOSER_TOOLS,
        path=path(*queries),
        answer_types=["date", "entity", "number"],
        target_steps=steps,
        least_hops=least,
        search_budget=budget,
    )
    while (message := compose(request)).tool_calls[0].name == "search":
        results = [
            Message(
                role="tool",
                tool_call_id=c.id,
                name="search",
                content=render(search(orjson.loads(c.arguments)["query"])),
            )
            for c in message.tool_calls
        ]
        request = request.model_copy(update={"messages": (*request.messages, message, *results)})
    return ComposeArguments.model_validate(arguments(message))


@pytest.mark.parametrize("steps", [2, 3])
def test_it_asks_along_the_path_in_two_sentences_at_most_and_names_nothing_between(steps: int) -> None:
    made = composed(steps, *NAMES)
    assert len(made.hops) == steps
    assert len(sentences(made.question)) <= 2
    assert not any(contains(made.question, hop.answer) for hop in made.hops)


def test_it_gives_nothing_where_the_path_has_too_few_hops() -> None:
    assert composed(3, least=3).question == ""


def test_it_tries_its_question_out_where_it_may_search() -> None:
    request = asked(
        COMPOSER_TOOLS,
        path=path(*NAMES),
        answer_types=["date", "entity", "number"],
        target_steps=3,
        least_hops=2,
        search_budget=9,
    )
    assert {call.name for call in compose(request).tool_calls} == {"search"}
    forced = request.model_copy(update={"tool_choice": "compose"})
    assert [call.name for call in compose(forced).tool_calls] == ["compose"]


def test_facts_of_the_same_kind_about_others_are_its_negative_aspects() -> None:
    made = composed(4, *NAMES, "Carleton Polytechnic")
    texts = " ".join(p.text for p in PASSAGES)
    assert made.negative_aspect
    for negative in made.negative_aspect:
        assert negative.misleading_claim != made.answer
        assert negative.misleading_claim in negative.distraction_text
        assert negative.distraction_text in texts
