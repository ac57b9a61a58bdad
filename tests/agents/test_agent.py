"""In the tool loop a model's mistakes are sent back as text or end it with a stop, and never raise."""

import asyncio
from typing import Any, Literal

import orjson
import pytest

from pipeline.agents.agent import converse
from pipeline.agents.calls import AgentState
from pipeline.agents.tools import OPENED
from pipeline.config.loop import AgentLimits, AuthorLimits
from pipeline.config.models import ModelConfig
from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Message, Stop, Trajectory, Usage
from tests.agents.conversations import make_agent, make_calls
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

FILM = passage("f", "Lantern Bay", "It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was born in Vessby.")
BOOK = [passage("b", "Long Book", f"Chapter {n} is here.", n) for n in range(40)]
RIVER = passage("tarn/river", "Tarn", "Tarn is a river."), passage("tarn/town", "Tarn", "Tarn has a bridge.")
SHELF = Shelf(FILM, HOLM, *BOOK, *RIVER)
START = (Message(role="user", content="Where was the director of Lantern Bay born?"),)


async def find_no_fault(arguments: str, state: AgentState) -> str:
    return ""


def run(outputs: Any, limits: AgentLimits | None = None, **fields: Any) -> tuple[Trajectory, ScriptedLLM]:
    llm = ScriptedLLM(outputs)
    agent = make_agent(llm, SHELF, limits or AgentLimits(searches=4, turns=6), **fields)
    return asyncio.run(converse(agent, START, sample=3, state=AgentState())), llm


ANSWER = make_calls(("answer", {"answer": "Vessby"}))


@pytest.mark.parametrize("reasoning", ["keep", "strip"])
def test_reasoning_is_sent_back_only_if_the_model_is_to_keep_it(reasoning: Literal["keep", "strip"]) -> None:
    thought = make_calls(("search", {"query": "Lantern Bay"})).model_copy(update={"reasoning": "A film."})
    model = ModelConfig(provider="openai", model="m", reasoning=reasoning)
    trajectory, llm = run([thought, ANSWER], model=model)
    assert [request.thoughts for request in llm.requests] == [False, reasoning == "keep"]
    assert trajectory.messages[1].reasoning == "A film.", "it is part of the model's output in either case"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("search", "{}"), 'Error: query: Field required; search needs {"query":"..."}'),
        (("search", {"query": ["a"]}), 'Error: query: Input should be a valid string; search needs {"query":"..."}'),
        (("open", {"id": "p1"}), 'Error: passage_id: Field required; open needs {"passage_id":"..."}'),
        (("search", {"query": "?"}), "Error: The query holds no word."),
        (("fly", "{}"), "Error: There is no tool 'fly'."),
    ],
)
def test_wrong_arguments_are_answered_with_an_example_of_a_call(
    call: tuple[str, dict[str, Any] | str], error: str
) -> None:
    trajectory, _ = run([make_calls(call), ANSWER])
    assert trajectory.messages[2].content == error
    assert (trajectory.stop, trajectory.format_errors, trajectory.calls) == (Stop.ANSWERED, 1, ())


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_a_model_is_asked_in_its_mode_and_sees_an_example_if_it_made_no_call(
    mode: Literal["native", "schema", "text"],
) -> None:
    trajectory, llm = run(["In Vessby.", ANSWER], model=ModelConfig(provider="openai", model="m", tools=mode))
    assert {request.calls for request in llm.requests} == {mode}
    example = '{"name": "search", "arguments": {"query":"..."}}'
    examples = {
        "native": ".",
        "schema": f", for example\n{example}",
        "text": f", for example\n<tool_call>{example}</tool_call>",
    }
    error = "Your last message called no tool. Call one of: search, open, answer"
    assert trajectory.messages[2].content == error + examples[mode]


def test_searches_are_answered_until_the_model_answers() -> None:
    trajectory, llm = run(
        [make_calls(("search", {"query": "Lantern Bay"})), make_calls(("search", {"query": "Ada Holm"})), ANSWER]
    )
    assert trajectory.stop is Stop.ANSWERED
    assert [call.passage_ids for call in trajectory.calls] == [("f#0",), ("h#0",)]
    assert trajectory.messages[2].content == f"Doc 1 [{FILM.shown_id}] Lantern Bay\nIt was directed by Ada Holm."
    assert orjson.loads(trajectory.final) == {"answer": "Vessby"}
    assert {request.sample for request in llm.requests} == {3}


def test_messages_only_grow_and_tools_stay_the_same() -> None:
    _, llm = run(
        [make_calls(("search", {"query": "Lantern"})), make_calls(("nonsense", {})), Message(role="assistant"), ANSWER]
    )
    for earlier, later in zip(llm.requests, llm.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools


def test_the_same_words_or_document_again_is_a_repeat() -> None:
    shown = HOLM.shown_id
    searches = [make_calls(("search", {"query": q})) for q in ("Ada Holm", "  ada, HOLM ")]
    trajectory, _ = run(
        [*searches, make_calls(("open", {"passage_id": shown}), ("open", {"passage_id": shown})), ANSWER]
    )
    assert [call.repeat for call in trajectory.calls] == [False, True, False, True]
    assert trajectory.steps == 2


def test_only_an_author_is_told_how_many_searches_are_left() -> None:
    for check, is_told in ((find_no_fault, True), (None, False)):
        trajectory, _ = run([make_calls(("search", {"query": "Ada Holm"})), *[ANSWER] * 9], check=check)
        observation = next(message.content for message in trajectory.messages if message.role == "tool")
        assert observation.endswith("Searches and openings left: 3.") is is_told


@pytest.mark.parametrize(("author", "document"), [(AuthorLimits(searches=4, turns=6), " of tarn/town"), (None, "")])
def test_only_an_author_is_told_the_document_of_a_passage_with_a_shared_title(
    author: AuthorLimits | None, document: str
) -> None:
    searches = [make_calls(("search", {"query": query})) for query in ("Tarn river", "Tarn bridge")]
    trajectory, _ = run([*searches, ANSWER], author=author)
    observations = [message.content for message in trajectory.messages if message.role == "tool"]
    river, town = (passage.shown_id for passage in RIVER)
    assert observations[0].startswith(f"Doc 1 [{river}] Tarn\n")
    assert observations[1].startswith(f"Doc 1 [{town}{document}] Tarn\n")


def test_after_the_budget_the_answer_is_forced() -> None:
    def model(request: Request) -> Message:
        forced = request.tool_choice == "answer"
        return ANSWER if forced else make_calls(*[("search", {"query": f"Ada {n}"}) for n in range(3)])

    trajectory, _ = run(model)
    assert trajectory.stop is Stop.SEARCH_BUDGET
    assert len(trajectory.calls) == 4
    assert "budget is used up" in trajectory.messages[-2].content


def test_calls_get_unique_ids() -> None:
    trajectory, _ = run(
        [make_calls(("search", {"query": "Lantern"}), ("nope", {})), make_calls(("search", {"query": "Ada"})), ANSWER]
    )
    ids = [call.id for message in trajectory.messages for call in message.tool_calls]
    assert len(set(ids)) == len(ids) == 4
    assert [message.tool_call_id for message in trajectory.messages if message.role == "tool"] == ids[:3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("search", {"query": 7}), "query"),
        (("search", "{"), "arguments"),
        (("search", "[" * 100_000), "arguments"),
        (("search", '{"query": "\\ud800"}'), "arguments"),
        (("search", orjson.dumps({"query": "x" * 200_000}).decode()), "longer"),
        (("open", {"passage_id": "p000000000000"}), "No search has returned"),
        (("answer", {"answer": None}), "answer"),
    ],
)
def test_a_bad_call_is_sent_back_to_the_model(call: tuple[str, dict[str, Any] | str], message: str) -> None:
    trajectory, _ = run([make_calls(call), ANSWER])
    assert trajectory.stop is Stop.ANSWERED
    assert trajectory.messages[2].role == "tool"
    assert message in trajectory.messages[2].content
    assert len(trajectory.messages[2].content) < 300
    assert (trajectory.format_errors, trajectory.calls) == (1, ())


@pytest.mark.parametrize("output", [Message(role="assistant", content="Vessby"), make_calls(("nonsense", {}))])
def test_three_format_errors_in_a_row_end_the_conversation(output: Message) -> None:
    trajectory, _ = run([output] * 3)
    assert trajectory.stop is Stop.FORMAT_ERRORS


def test_a_good_call_resets_the_count_of_errors() -> None:
    good, bad = make_calls(("search", {"query": "Ada"})), make_calls(("nonsense", {}))
    trajectory, _ = run([bad, bad, good, bad, bad, ANSWER])
    assert (trajectory.stop, trajectory.format_errors) == (Stop.ANSWERED, 4)


def test_a_truncated_message_is_answered_with_an_error() -> None:
    cut = Completion(message=Message(role="assistant", content="I th"), finish=Finish.LENGTH, usage=Usage(calls=1))
    trajectory, _ = run([cut, ANSWER])
    assert "cut off" in trajectory.messages[2].content


def test_a_message_that_only_repeats_itself_is_an_error_and_three_end_the_conversation() -> None:
    endless = Completion(message=Message(role="assistant", content="hm"), finish=Finish.REPEATS, usage=Usage(calls=1))
    trajectory, _ = run([endless, endless, endless])
    assert "one thing again and again" in trajectory.messages[2].content
    assert (trajectory.stop, trajectory.format_errors) == (Stop.FORMAT_ERRORS, 3)


@pytest.mark.parametrize("call", [("search", {"query": "Ada"}), ("nonsense", {})])
def test_an_agent_that_repeats_one_call_ends(call: tuple[str, dict[str, Any]]) -> None:
    limits = AgentLimits(searches=99, turns=99, format_errors=99)
    trajectory, llm = run(lambda request: make_calls(call), limits)
    assert (trajectory.stop, len(llm.requests), trajectory.final) == (Stop.REPEATS, 5, "")
    spaced = make_calls(("search", '{"query":"Ada"}')), make_calls(("search", '{ "query" : "ADA" }'))
    trajectory, llm = run([*spaced * 2, spaced[0], ANSWER], limits)
    assert (trajectory.stop, len(llm.requests)) == (Stop.REPEATS, 5)


def test_a_call_may_be_repeated_next_to_other_calls() -> None:
    limits = AgentLimits(searches=99, turns=99)
    same = ("search", {"query": "Ada"})
    turns = [make_calls(same, ("search", {"query": f"Lantern {n}"})) for n in range(9)]
    assert run([*turns, ANSWER], limits)[0].stop is Stop.ANSWERED


def test_an_endless_searcher_runs_out_of_turns() -> None:
    limits = AgentLimits(searches=99, turns=5)
    trajectory, _ = run(lambda request: make_calls(("search", {"query": f"Ada {len(request.messages)}"})), limits)
    assert (trajectory.stop, trajectory.final) == (Stop.MAX_TURNS, "")


def test_too_many_tokens_end_the_conversation() -> None:
    message = make_calls(("search", {"query": "Ada"}))
    costly = Completion(message=message, finish=Finish.TOOL_CALLS, usage=Usage(calls=1, prompt_tokens=600))
    trajectory, _ = run([costly] * 3, AgentLimits(searches=9, turns=9, tokens=1000))
    assert trajectory.stop is Stop.MAX_TOKENS
    assert trajectory.usage.calls == 2


def test_calls_over_the_limit_of_a_turn_are_refused() -> None:
    limits = AgentLimits(searches=99, turns=5, calls_per_turn=2)
    trajectory, _ = run([make_calls(*[("search", {"query": f"Ada {n}"}) for n in range(6)]), ANSWER], limits)
    assert len(trajectory.calls) == 2
    refused = [message.content.startswith("Error: At most 2") for message in trajectory.messages[2:8]]
    assert refused == [False, False, True, True, True, True]
    assert (trajectory.stop, trajectory.format_errors) == (Stop.ANSWERED, 2), "as many as a turn may have are one error"


def test_an_open_shows_a_bounded_part_of_a_long_document() -> None:
    middle = BOOK[20]
    trajectory, _ = run(
        [make_calls(("search", {"query": "20"})), make_calls(("open", {"passage_id": middle.shown_id})), ANSWER]
    )
    opened = trajectory.calls[1].passage_ids
    assert len(opened) == OPENED
    assert middle.id in opened
