"""No request outgrows its model: a generator's oldest results are cut, those of solver and teacher never."""

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from pipeline.agents.agent import converse
from pipeline.agents.calls import AgentState
from pipeline.agents.tools import SOLVER_TOOLS, shown_passages
from pipeline.config.loop import AuthorLimits
from pipeline.config.models import ModelConfig, Sampling, ToolMode
from pipeline.llm.base import Request
from pipeline.llm.cached import request_digest
from pipeline.llm.chat_body import body
from pipeline.llm.token_estimate import size
from pipeline.types import Message, Stop, Trajectory
from tests.agents.conversations import make_agent, make_calls
from tests.agents.test_agent import ANSWER
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

LONG = [
    passage(f"d{n}", f"Place{n}", f"Place{n} lies here. " + f"It is known for its old word{n}. " * 25)
    for n in range(60)
]
SHELF = Shelf(*LONG)
START = (Message(role="user", content="Where?"),)
REAL = ModelConfig(provider="openai", model="m", context=12_288)
LIMITS = AuthorLimits(searches=60, turns=60, tokens=10**9, request_tokens=4096)


def run(
    outputs: Callable[[Request], Message],
    model: ModelConfig = REAL,
    *,
    author: bool = True,
    shelf: Shelf = SHELF,
    k: int = 1,
) -> tuple[Trajectory, Any]:
    llm = ScriptedLLM(outputs)
    agent = make_agent(llm, shelf, LIMITS, model=model, k=k, author=LIMITS if author else None)
    return asyncio.run(converse(agent, START, sample=0, state=AgentState())), llm


def search_one_by_one(request: Request) -> Message:
    turn = sum(message.role == "assistant" for message in request.messages)
    return make_calls(("search", {"query": f"Place{turn}"})) if turn < 40 else ANSWER


def test_no_request_of_an_author_exceeds_its_limit_and_all_passages_can_be_opened() -> None:
    trajectory, llm = run(search_one_by_one)
    assert trajectory.stop is Stop.ANSWERED
    sizes = [size(request.messages, request.tools) for request in llm.requests]
    assert max(sizes) <= LIMITS.request_tokens
    cuts = [n for n, (before, after) in enumerate(pairwise(sizes)) if after < before]
    assert len(cuts) >= 2
    assert all(sizes[n + 1] <= LIMITS.request_tokens * 0.6 for n in cuts), "a cut halves the request"
    for n, (earlier, later) in enumerate(pairwise(llm.requests)):
        grows = later.messages[: len(earlier.messages)] == earlier.messages
        assert grows is (n not in cuts), "the prefix stays until the next cut"
    text = "\n".join(message.content for message in trajectory.messages)
    assert all(f"[{passage.shown_id}] {passage.title}" in text for passage in LONG[1:40])


def test_a_passage_that_was_cut_is_shown_again_when_opened() -> None:
    def model(request: Request) -> Message:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn == 30:
            return make_calls(("open", {"passage_id": LONG[1].shown_id}))
        return make_calls(("search", {"query": f"Place{turn + 1}"})) if turn < 30 else ANSWER

    trajectory, _ = run(model)
    assert trajectory.messages[2].content.startswith("Cut to save room")
    assert LONG[1].text.strip() in trajectory.messages[-2].content


def test_a_solver_without_room_ends_and_its_results_are_not_cut() -> None:
    trajectory, llm = run(search_one_by_one, author=False)
    assert (trajectory.stop, trajectory.final) == (Stop.CONTEXT, "")
    assert REAL.room is not None
    assert LIMITS.request_tokens < size(llm.requests[-1].messages, SOLVER_TOOLS) <= REAL.room
    assert size(trajectory.messages, SOLVER_TOOLS) > REAL.room
    assert all(p.text.strip() in m.content for p, m in zip(LONG, trajectory.messages[2::2], strict=False))


def test_the_demo_model_has_no_limit() -> None:
    trajectory, _ = run(search_one_by_one, ModelConfig())
    assert trajectory.stop is Stop.ANSWERED
    assert not any("Cut to save room" in message.content for message in trajectory.messages)


@pytest.mark.parametrize("author", [True, False])
def test_a_passage_in_the_conversation_is_only_named_again_to_an_author(author: bool) -> None:
    queries = iter(["Place7", "Place7 here", "Place7 known"])
    outputs = iter([*(make_calls(("search", {"query": query})) for query in queries), ANSWER])
    trajectory, _ = run(lambda request: next(outputs), author=author)
    is_full = [LONG[7].text.strip() in message.content for message in trajectory.messages if message.role == "tool"]
    assert is_full == ([True, False, False] if author else [True, True, True])
    assert all(f"Doc 1 [{LONG[7].shown_id}] Place7" in m.content for m in trajectory.messages if m.role == "tool")
    assert [call.passage_ids for call in trajectory.calls] == [(LONG[7].id,)] * 3


def test_a_turn_with_results_that_do_not_fit_is_cut_as_far_as_necessary() -> None:
    queries = [("search", {"query": f"Place{n}"}) for n in range(1, 9)]
    outputs = iter(
        [make_calls(*queries), make_calls(*[("search", {"query": f"Place{n}"}) for n in range(9, 17)]), ANSWER]
    )
    trajectory, llm = run(lambda request: next(outputs))
    assert trajectory.stop is Stop.ANSWERED
    assert size(llm.requests[1].messages, SOLVER_TOOLS) > LIMITS.request_tokens * 0.5
    assert max(size(request.messages, SOLVER_TOOLS) for request in llm.requests) <= LIMITS.request_tokens


def test_an_authors_older_reasoning_is_cut_with_its_older_results() -> None:
    keeping = REAL.model_copy(update={"reasoning": "keep", "sampling": Sampling(max_tokens=2000)})

    def model(request: Request) -> Message:
        turn = sum(message.role == "assistant" for message in request.messages)
        output = make_calls(("search", {"query": f"Place{turn}"})) if turn < 40 else ANSWER
        return output.model_copy(update={"reasoning": f"Thought {turn}. " * 250})

    trajectory, llm = run(model, keeping)
    assert trajectory.stop is Stop.ANSWERED
    limit = LIMITS.request_tokens + 2000
    assert max(size(request.messages, request.tools, thoughts=True) for request in llm.requests) <= limit
    thoughts = [bool(message.reasoning) for message in llm.requests[-1].messages if message.role == "assistant"]
    assert not all(thoughts)
    assert thoughts[-1]


def list_full_passages(messages: Sequence[Message]) -> set[str]:
    return {p.id for m in messages if m.role == "tool" for p in shown_passages(m.content)}


def script(*calls: Message) -> Callable[[Request], Message]:
    return lambda request: (*calls, ANSWER)[sum(message.role == "assistant" for message in request.messages)]


def test_an_opened_passage_is_shown_in_full_whether_or_not_it_was_shown_before() -> None:
    book = [passage("b", "Book", f"Chapter{n} is here.", n) for n in range(3)]
    opened = make_calls(("open", {"passage_id": book[1].shown_id}))
    trajectory, _ = run(script(make_calls(("search", {"query": "Chapter1"})), opened), shelf=Shelf(*book))
    assert [p.id for p in shown_passages(trajectory.messages[-2].content)] == [p.shown_id for p in book]


def test_a_passage_opened_in_the_turn_of_a_cut_is_in_full_in_the_next_request() -> None:
    searches = [make_calls(("search", {"query": f"Place{n}"})) for n in range(16)]
    opens = make_calls(*[("open", {"passage_id": LONG[n].shown_id}) for n in range(6)])
    _, llm = run(script(*searches, opens))
    last = llm.requests[-1].messages
    assert any("Cut to save room" in message.content for message in last), "this conversation was cut"
    assert {LONG[n].shown_id for n in range(6)} <= list_full_passages(last)


def test_only_passages_still_in_the_conversation_are_named_without_their_text() -> None:
    def model(request: Request) -> Message:
        turn = sum(message.role == "assistant" for message in request.messages)
        # Three turns in a row find each passage, and again much later.
        return make_calls(("search", {"query": f"Place{turn % 30} Place{(turn + 1) % 30} Place{(turn + 2) % 30}"}))

    _, llm = run(model, k=3)
    bare = 0
    for request in llm.requests:
        full = list_full_passages(request.messages)
        for message in request.messages:
            heads = re.findall(r"^Doc \d+ \[(p[0-9a-f]{12})\] [^\n]*(?:\n\n|\Z)", message.content, re.MULTILINE)
            bare += len(heads)
            assert full.issuperset(heads)
    assert bare > 20


def test_evidence_is_cut_last_and_a_search_shows_cut_passages_again() -> None:
    film = passage("film", "Lantern Bay", "Lantern Bay was directed by Ada Holm. " + "It was a quiet film. " * 30)
    holm = passage("holm", "Ada Holm", "Ada Holm was born in Vessby. " + "Her first years were quiet ones. " * 25)
    town = passage("town", "Vessby", "Vessby was founded by monks. " + "It is a quiet place by the water. " * 25)
    first = [make_calls(("search", {"query": title})) for title in ("Lantern Bay", "Ada Holm")]
    thought = f"The chain begins with {film.shown_id}."
    cites = make_calls(("search", {"query": "Vessby"})).model_copy(update={"content": thought})
    fillers = [make_calls(("search", {"query": f"Place{n}"})) for n in range(24)]
    repeats = [make_calls(("search", {"query": query})) for query in ("Vessby", "Place0")]
    trajectory, llm = run(script(*first, cites, *fillers, *repeats), shelf=Shelf(film, holm, town, *LONG))
    before = list_full_passages(llm.requests[-3].messages)
    assert LONG[0].shown_id not in before, "this conversation was cut"
    assert {film.shown_id, holm.shown_id} <= before, "cited by id, or named later in the agent's own query"
    assert shown_passages(trajectory.messages[-2].content)[0].id == LONG[0].shown_id


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_what_a_server_sees_only_grows_in_every_mode_except_the_words_that_force_a_call(mode: ToolMode) -> None:
    errors = iter(
        [
            Message(role="assistant", content="Hm."),
            make_calls(("search", {"query": "Place1"})),
            make_calls(("look", {})),
        ]
    )
    trajectory, llm = run(lambda request: next(errors, search_one_by_one(request)), author=False)
    assert trajectory.stop is Stop.CONTEXT
    sent = [body(request.model_copy(update={"calls": mode}), 0) for request in llm.requests]
    assert len(sent) > 4
    for previous, later in pairwise(sent):
        *before, last = previous["messages"]
        assert later.get("tools") == previous.get("tools")
        assert later["messages"][: len(before)] == before
        # Results given in words are part of the user's message, which may grow.
        assert later["messages"][len(before)]["content"].startswith(last["content"])
    forced = llm.requests[-1].model_copy(update={"calls": mode, "tool_choice": "answer"})
    *before, last = body(forced, 0)["messages"]
    assert before == sent[-1]["messages"][:-1]
    assert last["content"].startswith(sent[-1]["messages"][-1]["content"])


def test_each_request_knows_the_share_that_it_has_in_common_with_the_previous_one() -> None:
    _, llm = run(search_one_by_one)
    first, *later = llm.requests
    assert first.shared_prefix == 0
    cuts = 0
    for previous, request in pairwise(llm.requests):
        total = size(request.messages, request.tools)
        if request.messages[: len(previous.messages)] == previous.messages:
            assert request.shared_prefix == size(previous.messages, previous.tools) / total
        else:
            cuts += 1
            assert 0 < request.shared_prefix < 0.75 < size(previous.messages, previous.tools) / total
    assert cuts >= 2
    assert later[0].shared_prefix > 0
    assert request_digest(first) == request_digest(first.model_copy(update={"shared_prefix": 0.5}))


def test_a_search_shows_its_best_new_passages_whole_and_one_numbered_sentence_of_the_others() -> None:
    filler = " ".join(f"It has street {n}." for n in range(30))
    towns = [passage(f"t{n}", f"Town{n}", f"Town{n} is a town. {filler} Its mill burnt in 190{n}.") for n in range(4)]
    llm = ScriptedLLM([make_calls(("search", {"query": "town mill burnt"}))] * 2 + [ANSWER])
    agent = make_agent(llm, Shelf(*towns), LIMITS, k=4, author=LIMITS, numbered=True, most_whole=2)
    trajectory = asyncio.run(converse(agent, START, sample=0, state=AgentState()))
    first, second = (message.content.split("\n\n") for message in trajectory.messages if message.role == "tool")
    assert [block.count("It has street") for block in first] == [30, 30, 0, 0]
    ranked = [block.split("] ")[1].partition("\n")[0] for block in first]
    assert [title.partition(": ")[2] for title in ranked[2:]] == ["[32", "[32"]
    assert all(block.endswith(f"Its mill burnt in 190{title[4]}.") for block, title in zip(first, ranked, strict=True))
    assert [block.count("It has street") for block in second] == [0, 0, 30, 30], "only what was not whole before"
