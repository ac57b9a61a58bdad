"""No request outgrows its model: an author's oldest results are cut, and what solver and teacher read never is."""

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments, shown_passages
from pipeline.config.loop import AuthorLimits
from pipeline.config.models import ModelConfig, Sampling, ToolMode
from pipeline.llm.base import Request
from pipeline.llm.cached import request_digest
from pipeline.llm.chat_body import body
from pipeline.llm.token_estimate import size
from pipeline.types import Message, Stop, Trajectory
from tests.agents.test_agent import ANSWER, say
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

LONG = [
    passage(f"d{n}", f"Place{n}", f"Place{n} lies here. " + f"It is known for its old word{n}. " * 25)
    for n in range(60)
]
SHELF = Shelf(*LONG)
START = (Message(role="user", content="Where?"),)
REAL = ModelConfig(provider="openai", model="m", context=12_288)
LIMITS = AuthorLimits(searches=60, turns=60, tokens=10**9, request_tokens=4096)


def run(
    llm: Callable[[Request], Message],
    model: ModelConfig = REAL,
    *,
    author: bool = True,
    shelf: Shelf = SHELF,
    k: int = 1,
) -> tuple[Trajectory, Any]:
    scripted = ScriptedLLM(llm)
    agent = Agent(
        llm=scripted,
        model=model,
        tools=SOLVER_TOOLS,
        limits=LIMITS,
        retriever=shelf,
        k=k,
        accept=lambda arguments, state: parse(AnswerArguments, arguments),
        author=LIMITS if author else None,
    )
    return asyncio.run(converse(agent, START, sample=0, state=AgentState())), scripted


def one_by_one(request: Request) -> Message:
    made = sum(message.role == "assistant" for message in request.messages)
    return say(("search", {"query": f"Place{made}"})) if made < 40 else ANSWER


def test_no_request_of_an_author_is_larger_than_its_limit_and_all_can_still_be_opened() -> None:
    done, llm = run(one_by_one)
    assert done.stop is Stop.ANSWERED
    sizes = [size(request.messages, request.tools) for request in llm.requests]
    assert max(sizes) <= LIMITS.request_tokens
    cuts = [n for n, (before, after) in enumerate(pairwise(sizes)) if after < before]
    assert len(cuts) >= 2
    assert all(sizes[n + 1] <= LIMITS.request_tokens * 0.6 for n in cuts), "to half, not by one result each turn"
    for n, (earlier, later) in enumerate(pairwise(llm.requests)):
        grows = later.messages[: len(earlier.messages)] == earlier.messages
        assert grows is (n not in cuts), "the prefix stays until the next cut"
    told = "\n".join(message.content for message in done.messages)
    assert all(f"[{passage.shown_id}] {passage.title}" in told for passage in LONG[1:40])


def test_what_was_cut_is_shown_again_when_it_is_opened() -> None:
    def model(request: Request) -> Message:
        made = sum(message.role == "assistant" for message in request.messages)
        if made == 30:
            return say(("open", {"passage_id": LONG[1].shown_id}))
        return say(("search", {"query": f"Place{made + 1}"})) if made < 30 else ANSWER

    done, _ = run(model)
    assert done.messages[2].content.startswith("Cut to save room")
    assert LONG[1].text.strip() in done.messages[-2].content


def test_a_solver_that_has_no_room_left_ends_and_none_of_what_it_read_is_cut() -> None:
    done, llm = run(one_by_one, author=False)
    assert (done.stop, done.final) == (Stop.CONTEXT, "")
    assert REAL.room is not None
    assert LIMITS.request_tokens < size(llm.requests[-1].messages, SOLVER_TOOLS) <= REAL.room
    assert size(done.messages, SOLVER_TOOLS) > REAL.room
    assert all(p.text.strip() in m.content for p, m in zip(LONG, done.messages[2::2], strict=False))


def test_the_demo_model_has_no_limit() -> None:
    done, _ = run(one_by_one, ModelConfig())
    assert done.stop is Stop.ANSWERED
    assert not any("Cut to save room" in message.content for message in done.messages)


@pytest.mark.parametrize("author", [True, False])
def test_what_the_conversation_shows_is_only_named_to_an_author(author: bool) -> None:
    queries = iter(["Place7", "Place7 here", "Place7 known"])
    again = iter([*(say(("search", {"query": query})) for query in queries), ANSWER])
    done, _ = run(lambda request: next(again), author=author)
    whole = [LONG[7].text.strip() in message.content for message in done.messages if message.role == "tool"]
    assert whole == ([True, False, False] if author else [True, True, True])
    assert all(f"Doc 1 [{LONG[7].shown_id}] Place7" in m.content for m in done.messages if m.role == "tool")
    assert [call.passage_ids for call in done.calls] == [(LONG[7].id,)] * 3


def test_one_turn_that_brings_more_than_fits_is_cut_as_far_as_it_must() -> None:
    queries = [("search", {"query": f"Place{n}"}) for n in range(1, 9)]
    turns = iter([say(*queries), say(*[("search", {"query": f"Place{n}"}) for n in range(9, 17)]), ANSWER])
    done, llm = run(lambda request: next(turns))
    assert done.stop is Stop.ANSWERED
    assert size(llm.requests[1].messages, SOLVER_TOOLS) > LIMITS.request_tokens * 0.5
    assert max(size(request.messages, SOLVER_TOOLS) for request in llm.requests) <= LIMITS.request_tokens


def test_an_author_s_older_thoughts_are_cut_with_its_older_results() -> None:
    keeping = REAL.model_copy(update={"reasoning": "keep", "sampling": Sampling(max_tokens=2000)})

    def model(request: Request) -> Message:
        made = sum(message.role == "assistant" for message in request.messages)
        said = say(("search", {"query": f"Place{made}"})) if made < 40 else ANSWER
        return said.model_copy(update={"reasoning": f"Thought {made}. " * 250})

    done, llm = run(model, keeping)
    assert done.stop is Stop.ANSWERED
    most = LIMITS.request_tokens + 2000
    assert max(size(request.messages, request.tools, thoughts=True) for request in llm.requests) <= most
    thoughts = [bool(message.reasoning) for message in llm.requests[-1].messages if message.role == "assistant"]
    assert not all(thoughts)
    assert thoughts[-1]


def shown_whole(messages: Sequence[Message]) -> set[str]:
    return {p.id for m in messages if m.role == "tool" for p in shown_passages(m.content)}


def turns(*calls: Message) -> Callable[[Request], Message]:
    return lambda request: (*calls, ANSWER)[sum(message.role == "assistant" for message in request.messages)]


def test_what_is_opened_is_shown_whole_whether_it_was_shown_before_or_not() -> None:
    book = [passage("b", "Book", f"Chapter{n} is here.", n) for n in range(3)]
    opened = say(("open", {"passage_id": book[1].shown_id}))
    done, _ = run(turns(say(("search", {"query": "Chapter1"})), opened), shelf=Shelf(*book))
    assert [p.id for p in shown_passages(done.messages[-2].content)] == [p.shown_id for p in book]


def test_what_is_opened_in_the_turn_that_cuts_its_first_showing_stands_whole_in_the_next_request() -> None:
    searches = [say(("search", {"query": f"Place{n}"})) for n in range(16)]
    opens = say(*[("open", {"passage_id": LONG[n].shown_id}) for n in range(6)])
    _, llm = run(turns(*searches, opens))
    last = llm.requests[-1].messages
    assert any("Cut to save room" in message.content for message in last), "the test is of a conversation that was cut"
    assert {LONG[n].shown_id for n in range(6)} <= shown_whole(last)


def test_only_what_still_stands_in_the_conversation_is_named_as_shown() -> None:
    def model(request: Request) -> Message:
        made = sum(message.role == "assistant" for message in request.messages)
        # Each passage is found by three turns in a row, and again much later.
        return say(("search", {"query": f"Place{made % 30} Place{(made + 1) % 30} Place{(made + 2) % 30}"}))

    _, llm = run(model, k=3)
    bare = 0
    for request in llm.requests:
        whole = shown_whole(request.messages)
        for message in request.messages:
            heads = re.findall(r"^Doc \d+ \[(p[0-9a-f]{12})\] [^\n]*(?:\n\n|\Z)", message.content, re.MULTILINE)
            bare += len(heads)
            assert whole.issuperset(heads)
    assert bare > 20


def test_evidence_is_cut_last_and_a_search_shows_again_what_was_cut() -> None:
    film = passage("film", "Lantern Bay", "Lantern Bay was directed by Ada Holm. " + "It was a quiet film. " * 30)
    holm = passage("holm", "Ada Holm", "Ada Holm was born in Vessby. " + "Her first years were quiet ones. " * 25)
    town = passage("town", "Vessby", "Vessby was founded by monks. " + "It is a quiet place by the water. " * 25)
    first = [say(("search", {"query": title})) for title in ("Lantern Bay", "Ada Holm")]
    thought = f"The chain begins with {film.shown_id}."
    cites = say(("search", {"query": "Vessby"})).model_copy(update={"content": thought})
    others = [say(("search", {"query": f"Place{n}"})) for n in range(24)]
    again = [say(("search", {"query": query})) for query in ("Vessby", "Place0")]
    done, llm = run(turns(*first, cites, *others, *again), shelf=Shelf(film, holm, town, *LONG))
    before = shown_whole(llm.requests[-3].messages)
    assert LONG[0].shown_id not in before, "the test is of a conversation that was cut"
    assert {film.shown_id, holm.shown_id} <= before, "cited by its id; named since in the agent's own query"
    assert shown_passages(done.messages[-2].content)[0].id == LONG[0].shown_id


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_what_a_server_sees_only_grows_in_every_mode_but_for_the_words_that_force_a_call(mode: ToolMode) -> None:
    errors = iter([Message(role="assistant", content="Hm."), say(("search", {"query": "Place1"})), say(("look", {}))])
    done, llm = run(lambda request: next(errors, one_by_one(request)), author=False)
    assert done.stop is Stop.CONTEXT
    sent = [body(request.model_copy(update={"calls": mode}), 0) for request in llm.requests]
    assert len(sent) > 4
    for previous, later in pairwise(sent):
        *before, last = previous["messages"]
        assert later.get("tools") == previous.get("tools")
        assert later["messages"][: len(before)] == before
        # Results in words are the user's, and the user's message may grow.
        assert later["messages"][len(before)]["content"].startswith(last["content"])
    forced = llm.requests[-1].model_copy(update={"calls": mode, "tool_choice": "answer"})
    *before, last = body(forced, 0)["messages"]
    assert before == sent[-1]["messages"][:-1]
    assert last["content"].startswith(sent[-1]["messages"][-1]["content"])


def test_each_request_knows_which_share_of_it_the_previous_one_begins_with() -> None:
    _, llm = run(one_by_one)
    first, *others = llm.requests
    assert first.shared_prefix == 0
    cuts = 0
    for previous, request in pairwise(llm.requests):
        whole = size(request.messages, request.tools)
        if request.messages[: len(previous.messages)] == previous.messages:
            assert request.shared_prefix == size(previous.messages, previous.tools) / whole
        else:
            cuts += 1
            assert 0 < request.shared_prefix < 0.75 < size(previous.messages, previous.tools) / whole
    assert cuts >= 2
    assert others[0].shared_prefix > 0
    assert request_digest(first) == request_digest(first.model_copy(update={"shared_prefix": 0.5}))
