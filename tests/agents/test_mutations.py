"""10,000 mutated model outputs of every kind are read or are a `FormatError`; no agent ends in an exception."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.agents import graph_proposals, judge, readers, tools
from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.structured import request_object
from pipeline.config.loop import AgentLimits
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError
from pipeline.llm import reply
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.retry import CallFailure
from pipeline.loop.strategies.sage import read_draft
from pipeline.types import Data, Message, Stop, Usage
from tests.conftest import Figures
from tests.hostile_texts import HOSTILE
from tests.loop.cast import FILM, HOLM, SHELF, TOWN, make_proposal
from tests.scripted_llm import ScriptedLLM

PROPOSAL = make_proposal()
SHAPES: tuple[tuple[type[Data], dict[str, Any]], ...] = (
    (tools.SearchArguments, {"query": "Ada Holm painter"}),
    (tools.OpenArguments, {"passage_id": FILM.shown_id}),
    (tools.AnswerArguments, {"answer": "1641"}),
    (graph_proposals.WordedGraphArguments, PROPOSAL),
    (tools.ExploreArguments, {"tool": "search", "argument": "Ada Holm", "intent": "who is she"}),
    (judge.VerdictOutput, {"reason": "the same year", "correct": True}),
    (readers.ReadOutput, {"reason": "Vessby: founded 1641", "answer": "1641"}),
    (readers.CitedOutput, {"facts": [{"fact": "founded 1641", "passage": TOWN.shown_id}], "answer": "1641"}),
    (readers.CheckOutput, {"reason": "all stated", "fits": False}),
)
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**40, "", [], {}, [[]], {"": None}, "\ud83e\udded", "x" * 200_000, *HOSTILE,
)  # fmt: skip
TEXTS = (
    "NaN", "Infinity", "1e999", "\\ud800", "\\u0000", '"', "{", "}", "[" * 5000, "]", ",", ":", "//", "/*", "'",
    "\ufeff",
    "```json\n", "<tool_call>", "</tool_call>", "<think>", "\ud800", "\x00", "\x1b", "\u2028", "true", "null",
    '{"a":' * 2000, "rm -rf /", "../../etc/passwd", "{{ 7*7 }}",
)  # fmt: skip
SEED = 20261121


def mutate_tree(tree: Any, chance: random.Random) -> Any:
    """Return the tree with one value replaced, removed or given a neighbour."""
    if isinstance(tree, dict) and tree and chance.random() < 0.85:
        key = chance.choice(list(tree))
        kind = chance.randrange(5)
        if kind == 0:
            return {k: v for k, v in tree.items() if k != key}
        if kind == 1:
            return {**tree, chance.choice(["extra", "__class__", key.upper(), ""]): chance.choice(ODD)}
        return {**tree, key: mutate_tree(tree[key], chance)}
    if isinstance(tree, list) and tree and chance.random() < 0.85:
        index = chance.randrange(len(tree))
        kind = chance.randrange(4)
        if kind == 0:
            return tree * chance.choice([2, 50])
        return [*tree[:index], mutate_tree(tree[index], chance), *tree[index + kind % 2 :]]
    return chance.choice(ODD)


def mutate_text(text: str, chance: random.Random) -> str:
    """Return the text cut, doubled, or with text inserted or removed, once to three times."""
    for _ in range(chance.randint(1, 3)):
        start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        text = chance.choice(
            [
                text[:start],
                text[start:],
                text[:start] + text[end:],
                text + text,
                text[:start] + chance.choice(TEXTS) + text[start:],
                text[:start] + chance.choice(TEXTS) + text[end:],
                text[:start] + chr(chance.randrange(1, 0x2FFF)) + text[start:],
            ]
        )[:400_000]
    return text


def make_output(tree: dict[str, Any], chance: random.Random) -> str:
    if chance.random() < 0.5:
        return json.dumps(mutate_tree(tree, chance), ensure_ascii=chance.random() < 0.5)
    return mutate_text(json.dumps(tree), chance)


def read_completion(content: str, calls: list[tuple[str, str]]) -> Completion:
    """Return what our client reads from a server's answer, or an empty completion if it is no answer."""
    written = [{"id": "x", "type": "function", "function": {"name": name, "arguments": text}} for name, text in calls]
    message = {"role": "assistant", "content": content, "tool_calls": written}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    try:
        return reply.completion(body.encode(), (*tools.SOLVER_TOOLS, *tools.GENERATOR_TOOLS[2:]))
    except CallFailure:
        return Completion(message=Message(role="assistant"), finish=Finish.EMPTY, usage=Usage(calls=1))


def iterate_outputs(count: int) -> Iterator[tuple[type[Data], str]]:
    chance = random.Random(SEED)
    for number in range(count):
        shape, tree = SHAPES[number % len(SHAPES)]
        yield shape, make_output(tree, chance)


def test_every_unmutated_shape_is_read() -> None:
    for shape, tree in SHAPES:
        assert parse(shape, json.dumps(tree))


def test_null_is_no_alias() -> None:
    steps = [step | {"answer_aliases": None} for step in PROPOSAL["steps"]]
    arguments = parse(graph_proposals.WordedGraphArguments, json.dumps(PROPOSAL | {"steps": steps}))
    assert [step.answer_aliases for step in arguments.steps] == [()] * len(steps)


def test_ten_thousand_mutated_outputs_are_values_or_format_errors(figures: Figures) -> None:
    state = AgentState(passages={p.shown_id: p for p in (FILM, HOLM, TOWN)})
    outcomes, longest = Counter[str](), 0
    for shape, raw in iterate_outputs(10_000):
        try:
            value = parse(shape, raw)
        except FormatError as error:
            longest = max(longest, len(str(error)))
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        assert value.model_validate_json(value.model_dump_json()) == value, "it can be journalled"
        if shape is graph_proposals.WordedGraphArguments:
            try:
                draft = read_draft(raw, state)
                outcomes["drafts"] += draft is not None
            except FormatError:
                outcomes["drafts refused"] += 1
    assert min(outcomes["refused"], outcomes["read"], outcomes["drafts"], outcomes["drafts refused"]) > 40, outcomes
    figures({"outputs": 10_000}, {"read": outcomes["read"], "refused": outcomes["refused"], "exceptions": 0})
    assert longest < 300, "an error is sent back to the model, so it does not repeat the output at length"


@pytest.mark.parametrize("block", range(4))
async def test_agents_end_with_a_stop_whatever_a_model_answers(block: int) -> None:
    """Run solver and generator with mutated calls, unknown tools, many calls or none."""
    chance = random.Random(SEED + block)
    names = [*(tool.name for tool in tools.SOLVER_TOOLS), "propose", "rm -rf /", ""]

    def say(request: Request) -> Completion:
        shapes = chance.choices(SHAPES[:4], k=chance.choice([0, 1, 1, 1, 2, 20]))
        return read_completion(
            mutate_text("so", chance), [(chance.choice(names), make_output(tree, chance)) for _, tree in shapes]
        )

    for number in range(60):
        agent = Agent(
            llm=ScriptedLLM(say),
            model=ModelConfig(),
            tools=(tools.SOLVER_TOOLS, tools.GENERATOR_TOOLS)[number % 2],
            limits=AgentLimits(searches=4, turns=8, format_errors=6),
            retriever=SHELF,
            k=2,
            accept=read_draft if number % 2 else lambda arguments, state: parse(tools.AnswerArguments, arguments),
        )
        trajectory = await converse(agent, (Message(role="user", content="?"),), sample=number, state=AgentState())
        assert trajectory.stop in set(Stop)
        assert len(trajectory.calls) <= 4 + 20
        assert all(call.tool in ("search", "open") for call in trajectory.calls)


async def test_structured_answers_are_values_or_one_format_error() -> None:
    chance = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    for shape, tree in SHAPES[5:] * 100:
        model = ScriptedLLM(lambda request, tree=tree: read_completion(make_output(tree, chance), []))  # type: ignore[misc]
        try:
            value, _ = await request_object(model, ModelConfig(), (), "any", shape)
            outcomes["read"] += isinstance(value, shape)
        except FormatError:
            outcomes["refused"] += 1
    assert sum(outcomes.values()) == 100 * len(SHAPES[5:])
    assert min(outcomes.values()) > 3, outcomes


async def test_a_second_attempt_at_structured_output_repeats_the_prompt() -> None:
    shape, _ = SHAPES[5]
    model = ScriptedLLM(lambda request: "no JSON")
    with pytest.raises(FormatError):
        await request_object(model, ModelConfig(), (Message(role="user", content="?"),), "any", shape)
    assert [request.shared_prefix for request in model.requests] == [0.0, 1.0, 1.0]
