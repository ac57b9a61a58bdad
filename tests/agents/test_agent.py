"""The tool loop: whatever a model does goes back to it as text or ends it with a stop; nothing is an exception."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import orjson
import pytest

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.tools import OPENED, SOLVER_TOOLS, AnswerArguments
from pipeline.config.loop import AgentLimits, AuthorLimits
from pipeline.config.models import ModelConfig
from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Message, Stop, ToolCall, Trajectory, Usage
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

FILM = passage("f", "Lantern Bay", "It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was born in Vessby.")
BOOK = [passage("b", "Long Book", f"Chapter {n} is here.", n) for n in range(40)]
RIVER = passage("tarn/river", "Tarn", "Tarn is a river."), passage("tarn/town", "Tarn", "Tarn has a bridge.")
SHELF = Shelf(FILM, HOLM, *BOOK, *RIVER)
START = (Message(role="user", content="Where was the director of Lantern Bay born?"),)


def say(*calls: tuple[str, dict[str, Any] | str]) -> Message:
    made = (
        ToolCall(id=f"c{n}", name=name, arguments=a if isinstance(a, str) else orjson.dumps(a).decode())
        for n, (name, a) in enumerate(calls)
    )
    return Message(role="assistant", tool_calls=tuple(made))


async def find_no_fault(arguments: str, state: AgentState) -> str:
    return ""


def run(
    outputs: Any,
    limits: AgentLimits | None = None,
    model: ModelConfig | None = None,
    check: Callable[[str, AgentState], Awaitable[str]] | None = None,
    author: AuthorLimits | None = None,
) -> tuple[Trajectory, ScriptedLLM]:
    llm = ScriptedLLM(outputs)
    agent = Agent(
        llm=llm,
        model=model or ModelConfig(),
        tools=SOLVER_TOOLS,
        limits=limits or AgentLimits(searches=4, turns=6),
        retriever=SHELF,
        k=1,
        accept=lambda arguments, state: parse(AnswerArguments, arguments),
        check=check,
        author=author,
    )
    return asyncio.run(converse(agent, START, sample=3, state=AgentState())), llm


ANSWER = say(("answer", {"answer": "Vessby"}))


@pytest.mark.parametrize("reasoning", ["keep", "strip"])
def test_thoughts_are_sent_back_only_where_the_model_is_to_keep_them(reasoning: Literal["keep", "strip"]) -> None:
    thought = say(("search", {"query": "Lantern Bay"})).model_copy(update={"reasoning": "A film."})
    model = ModelConfig(provider="openai", model="m", reasoning=reasoning)
    done, llm = run([thought, ANSWER], model=model)
    assert [request.thoughts for request in llm.requests] == [False, reasoning == "keep"]
    assert done.messages[1].reasoning == "A film.", "it is part of what the model said in either case"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("search", "{}"), 'Error: query: Field required; search needs {"query":"..."}'),
        (("search", {"query": ["a"]}), 'Error: query: Input should be a valid string; search needs {"query":"..."}'),
        (("open", {"id": "p1"}), 'Error: passage_id: Field required; open needs {"passage_id":"..."}'),
        (("search", {"query": "?"}), "Error: The query holds no word."),
        (("fly", "{}"), "Error: There is no tool 'fly'."),
    ],
)
def test_arguments_that_the_tool_does_not_take_are_answered_with_a_right_call(
    call: tuple[str, dict[str, Any] | str], said: str
) -> None:
    done, _ = run([say(call), ANSWER])
    assert done.messages[2].content == said
    assert done.format_errors == 1


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_a_model_is_asked_in_its_mode_and_shown_a_call_where_it_made_none(
    mode: Literal["native", "schema", "text"],
) -> None:
    done, llm = run(["In Vessby.", ANSWER], model=ModelConfig(provider="openai", model="m", tools=mode))
    assert {request.calls for request in llm.requests} == {mode}
    right = '{"name": "search", "arguments": {"query":"..."}}'
    shown = {
        "native": ".",
        "schema": f", for example\n{right}",
        "text": f", for example\n<tool_call>{right}</tool_call>",
    }
    said = "Your last message called no tool. Call one of: search, open, answer"
    assert done.messages[2].content == said + shown[mode]


def test_searches_are_answered_until_the_model_answers() -> None:
    done, llm = run([say(("search", {"query": "Lantern Bay"})), say(("search", {"query": "Ada Holm"})), ANSWER])
    assert done.stop is Stop.ANSWERED
    assert [call.passage_ids for call in done.calls] == [("f#0",), ("h#0",)]
    assert done.messages[2].content == f"Doc 1 [{FILM.shown_id}] Lantern Bay\nIt was directed by Ada Holm."
    assert orjson.loads(done.final) == {"answer": "Vessby"}
    assert {request.sample for request in llm.requests} == {3}


def test_messages_only_grow_and_tools_stay_the_same() -> None:
    _, llm = run([say(("search", {"query": "Lantern"})), say(("nonsense", {})), Message(role="assistant"), ANSWER])
    for earlier, later in zip(llm.requests, llm.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools


def test_the_same_words_or_document_again_is_a_repeat() -> None:
    shown = HOLM.shown_id
    searches = [say(("search", {"query": q})) for q in ("Ada Holm", "  ada, HOLM ")]
    done, _ = run([*searches, say(("open", {"passage_id": shown}), ("open", {"passage_id": shown})), ANSWER])
    assert [call.repeat for call in done.calls] == [False, True, False, True]
    assert done.steps == 2


def test_only_an_author_is_told_how_many_searches_are_left() -> None:
    for check, told in ((find_no_fault, True), (None, False)):
        done, _ = run([say(("search", {"query": "Ada Holm"})), *[ANSWER] * 9], check=check)
        observation = next(message.content for message in done.messages if message.role == "tool")
        assert observation.endswith("Searches and openings left: 3.") is told


@pytest.mark.parametrize(("author", "document"), [(AuthorLimits(searches=4, turns=6), " of tarn/town"), (None, "")])
def test_only_an_author_is_told_which_of_the_documents_of_one_title_a_passage_is_of(
    author: AuthorLimits | None, document: str
) -> None:
    searches = [say(("search", {"query": query})) for query in ("Tarn river", "Tarn bridge")]
    done, _ = run([*searches, ANSWER], author=author)
    observations = [message.content for message in done.messages if message.role == "tool"]
    river, town = (passage.shown_id for passage in RIVER)
    assert observations[0].startswith(f"Doc 1 [{river}] Tarn\n")
    assert observations[1].startswith(f"Doc 1 [{town}{document}] Tarn\n")


def test_after_the_budget_the_answer_is_forced() -> None:
    def model(request: Request) -> Message:
        forced = request.tool_choice == "answer"
        return ANSWER if forced else say(*[("search", {"query": f"Ada {n}"}) for n in range(3)])

    done, _ = run(model)
    assert done.stop is Stop.SEARCH_BUDGET
    assert len(done.calls) == 4
    assert "budget is used up" in done.messages[-2].content


def test_calls_get_ids_of_their_own() -> None:
    done, _ = run([say(("search", {"query": "Lantern"}), ("nope", {})), say(("search", {"query": "Ada"})), ANSWER])
    ids = [call.id for message in done.messages for call in message.tool_calls]
    assert len(set(ids)) == len(ids) == 4
    assert [message.tool_call_id for message in done.messages if message.role == "tool"] == ids[:3]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("nonsense", {}), "no tool 'nonsense'"),
        (("search", {"q": "x"}), "query"),
        (("search", {"query": 7}), "query"),
        (("search", {"query": " ?! "}), "no word"),
        (("search", "{"), "arguments"),
        (("search", "[" * 100_000), "arguments"),
        (("search", '{"query": "\\ud800"}'), "arguments"),
        (("search", orjson.dumps({"query": "x" * 200_000}).decode()), "longer"),
        (("open", {"passage_id": "p000000000000"}), "No search has returned"),
        (("answer", {"answer": None}), "answer"),
    ],
)
def test_a_bad_call_goes_back_to_the_model(call: tuple[str, dict[str, Any] | str], told: str) -> None:
    done, _ = run([say(call), ANSWER])
    assert done.stop is Stop.ANSWERED
    assert done.messages[2].role == "tool"
    assert told in done.messages[2].content
    assert len(done.messages[2].content) < 300
    assert (done.format_errors, done.calls) == (1, ())


@pytest.mark.parametrize("output", [Message(role="assistant", content="Vessby"), say(("nonsense", {}))])
def test_three_format_errors_in_a_row_end_it(output: Message) -> None:
    done, _ = run([output] * 3)
    assert done.stop is Stop.FORMAT_ERRORS


def test_a_good_call_forgives_the_errors_before_it() -> None:
    good, bad = say(("search", {"query": "Ada"})), say(("nonsense", {}))
    done, _ = run([bad, bad, good, bad, bad, ANSWER])
    assert (done.stop, done.format_errors) == (Stop.ANSWERED, 4)


def test_a_truncated_message_is_told_so() -> None:
    cut = Completion(message=Message(role="assistant", content="I th"), finish=Finish.LENGTH, usage=Usage(calls=1))
    done, _ = run([cut, ANSWER])
    assert "cut off" in done.messages[2].content


def test_a_message_that_only_repeats_itself_is_told_so_and_three_of_them_end_it() -> None:
    endless = Completion(message=Message(role="assistant", content="hm"), finish=Finish.REPEATS, usage=Usage(calls=1))
    done, _ = run([endless, endless, endless])
    assert "one thing again and again" in done.messages[2].content
    assert (done.stop, done.format_errors) == (Stop.FORMAT_ERRORS, 3)


@pytest.mark.parametrize("call", [("search", {"query": "Ada"}), ("nonsense", {})])
def test_an_agent_that_makes_the_same_call_again_and_again_ends(call: tuple[str, dict[str, Any]]) -> None:
    limits = AgentLimits(searches=99, turns=99, format_errors=99)
    done, llm = run(lambda request: say(call), limits)
    assert (done.stop, len(llm.requests), done.final) == (Stop.REPEATS, 5, "")
    spaced = say(("search", '{"query":"Ada"}')), say(("search", '{ "query" : "ADA" }'))
    done, llm = run([*spaced * 2, spaced[0], ANSWER], limits)
    assert (done.stop, len(llm.requests)) == (Stop.REPEATS, 5)


def test_a_call_may_come_again_beside_others() -> None:
    limits = AgentLimits(searches=99, turns=99)
    same = ("search", {"query": "Ada"})
    turns = [say(same, ("search", {"query": f"Lantern {n}"})) for n in range(9)]
    assert run([*turns, ANSWER], limits)[0].stop is Stop.ANSWERED


def test_an_endless_searcher_runs_out_of_turns() -> None:
    limits = AgentLimits(searches=99, turns=5)
    done, _ = run(lambda request: say(("search", {"query": f"Ada {len(request.messages)}"})), limits)
    assert (done.stop, done.final) == (Stop.MAX_TURNS, "")


def test_too_many_tokens_end_it() -> None:
    message = say(("search", {"query": "Ada"}))
    costly = Completion(message=message, finish=Finish.TOOL_CALLS, usage=Usage(calls=1, prompt_tokens=600))
    done, _ = run([costly] * 3, AgentLimits(searches=9, turns=9, tokens=1000))
    assert done.stop is Stop.MAX_TOKENS
    assert done.usage.calls == 2


def test_more_calls_than_a_turn_may_have_are_refused() -> None:
    limits = AgentLimits(searches=99, turns=5, calls_per_turn=2)
    done, _ = run([say(*[("search", {"query": f"Ada {n}"}) for n in range(6)]), ANSWER], limits)
    assert len(done.calls) == 2
    refused = [message.content.startswith("Error: At most 2") for message in done.messages[2:8]]
    assert refused == [False, False, True, True, True, True]
    assert (done.stop, done.format_errors) == (Stop.ANSWERED, 2), "as many as a turn may have are one error"


def test_an_open_shows_a_bounded_part_of_a_long_document() -> None:
    middle = BOOK[20]
    done, _ = run([say(("search", {"query": "20"})), say(("open", {"passage_id": middle.shown_id})), ANSWER])
    opened = done.calls[1].passage_ids
    assert len(opened) == OPENED
    assert middle.id in opened
