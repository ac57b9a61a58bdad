"""A model that repeats itself until its tokens end is stopped early; long honest answers are not changed."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config.models import Limits, ModelConfig, Sampling
from pipeline.llm import repetition
from pipeline.llm.base import Finish, Request
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.repetition import STEP, loop_start
from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer

REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),), tools=SOLVER_TOOLS)
BEGUN = "I look up who built the bridge. "
UNITS = {
    "new lines": "\n",
    "spaces": " ",
    "mixed white space": "\n\n  \t",
    "one mark": "!",
    "a word": "search ",
    "a line": "I need to call the search tool first.\n",
    "a call": '<tool_call>{"name": "search", "arguments": {"query": "bridge"}}</tool_call>\n',
    "a long phrase": "The monks of the town on the Tarn had built the bridge, and the bridge was built by monks. " * 5,
    "without spaces": "桥是僧人建的。",
}
HONEST = {
    "numbered lines": "".join(f"{n}. The bridge of the year {1000 + n} was built by monks.\n" for n in range(120)),
    "a table": "| year | built |\n|---|---|\n" + "".join(f"| {1000 + n} | {n % 7} |\n" for n in range(400)),
    "counting": " ".join(map(str, range(2000))),
    "a rule": "Results\n" + "-" * 200 + "\nNone were found, and so I search on.",
    "equal rows, and then more": "| – | – |\n" * 40 + "That is all that the table holds.",
    "nested JSON": "[" * 90 + '{"a": 1}' + "]" * 90,
    "prose": " ".join(random.Random(1).choices("the a bridge town monk was built by in of river".split(), k=900)),
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_the_start_of_a_repetition_is_found(unit: str) -> None:
    text = (BEGUN + unit * 4000)[:4000]
    start = loop_start(text)
    assert start is not None
    assert len(BEGUN) - 1 <= start <= len(BEGUN) + len(unit) + 1


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_long_lists_tables_and_prose_are_no_repetition_wherever_they_are_cut(text: str) -> None:
    assert [end for end in range(0, len(text), 7) if loop_start(text[:end]) is not None] == []


@given(st.text(min_size=0, max_size=60), st.text(min_size=1, max_size=90), st.integers(0, 90))
def test_any_repetition_is_found_wherever_it_is_cut(before: str, unit: str, cut: int) -> None:
    text = before + unit * (2 + 600 // len(unit) + repetition.TIMES)
    start = loop_start(text[: len(text) - cut % len(unit)])
    assert start is not None
    assert start <= len(before) + len(unit)


async def ask_server(
    answers: list[str], *, finish: str = "length", field: str = "content", max_tokens: int = 4096
) -> Any:
    """Return the completions of a server that cuts these answers at the requested tokens, four characters each."""

    def script(number: int, body: dict[str, Any]) -> dict[str, Any]:
        text, limit = answers[min(number, len(answers) - 1)], 4 * body["max_completion_tokens"]
        usage = {"prompt_tokens": 10, "completion_tokens": min(len(text), limit) // 4}
        return {
            "choices": [{"message": {field: text[:limit]}, "finish_reason": finish if len(text) > limit else "stop"}],
            "usage": usage,
        }

    async with FaultyServer(script=script) as server:
        config = ModelConfig(provider="openai", model="m", base_url=server.url, limits=Limits(timeout_seconds=5))
        model, request = (
            OpenAIModel(config, 0),
            REQUEST.model_copy(update={"sampling": Sampling(max_tokens=max_tokens)}),
        )
        completions = [await model.complete(request)]
        while len(server.asked) < len(answers):
            completions.append(await model.complete(request))
    return completions, [body["max_completion_tokens"] for body in server.asked]


@pytest.mark.slow
@pytest.mark.parametrize("finish", ["length", "stop"])
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
async def test_a_repetition_costs_one_step(unit: str, field: str, finish: str) -> None:
    (completion,), limits = await ask_server([BEGUN + unit * 20_000], finish=finish, field=field)
    assert (completion.finish, limits, completion.usage.completion_tokens) == (Finish.REPEATS, [STEP], STEP)
    output = completion.message.content + completion.message.reasoning
    assert output.startswith(BEGUN.strip())
    assert len(output) <= len(BEGUN) + len(unit) + 1


@pytest.mark.parametrize("finish", ["length", "stop"])
async def test_a_long_answer_is_complete_and_the_next_is_asked_for_in_one_piece(finish: str) -> None:
    long = HONEST["counting"]
    completions, limits = await ask_server([long, long, long], finish=finish)
    assert limits == [STEP, 4096, 4096]
    assert [completion.message.content for completion in completions] == [long, long]
    assert [completion.usage.calls for completion in completions] == [1, 1]
    assert completions[0].usage.completion_tokens == STEP + len(long) // 4
    # This server reports no cached tokens; the second piece repeats the prompt of the first.
    cached = [(completion.usage.prompt_tokens, completion.usage.estimated_cached_tokens) for completion in completions]
    assert cached == [(20, 10), (10, 0)]


async def test_after_an_endless_answer_steps_are_used_again() -> None:
    endless = "so I search. " * 9000
    completions, limits = await ask_server([HONEST["counting"], HONEST["counting"], endless, endless])
    assert limits == [STEP, 4096, 4096, STEP]
    assert [completion.finish for completion in completions] == [Finish.STOP, Finish.REPEATS, Finish.REPEATS]


async def test_an_answer_at_the_limit_does_not_lead_to_one_piece() -> None:
    endless = " ".join(map(str, range(9000)))
    _, limits = await ask_server([endless, endless, "so I search. " * 9000])
    assert limits == [STEP, 4096, STEP]


async def test_a_short_limit_is_one_request() -> None:
    completions, limits = await ask_server([HONEST["counting"]], max_tokens=1500)
    assert (completions[0].finish, limits) == (Finish.LENGTH, [1500])
