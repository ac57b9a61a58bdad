"""The server returns the same hits as a search in process: in Search-R1's format, and as the environment's tools."""

import asyncio
import json
import re
from typing import Any

import pytest

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.environment_file import Environment, environment
from pipeline.config import RunConfig
from pipeline.config.loop import EnvironmentConfig
from pipeline.config.models import ModelConfig
from pipeline.corpus import Corpus
from pipeline.llm.base import Completion, Finish
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.question_passages import IndexChanges
from pipeline.serve.retrieval_app import MOST_PASSAGES, Served, router
from pipeline.types import Message, ToolCall, Usage
from tests.passages import passage
from tests.scripted_llm import ScriptedLLM
from tests.serve.conftest import Ask

QUERIES = ["Who designed the Kessel Bridge?", "", "\0 zzyzx", "the comet of 1936", "x" * 9000]


@pytest.fixture
def index_service(tiny: Corpus, retriever: LuceneRetriever) -> Served:
    return Served(corpus=tiny, retriever=retriever, environment=environment(RunConfig()), engine="lucene")


def post(ask: Ask, index_service: Served, path: str = "/retrieve", **body: Any) -> Any:
    return ask(router(index_service), "POST", path, json=body)


def line(answer: Any) -> str:
    assert answer.status_code == 400
    return str(answer.json()["error"]["message"])


def test_a_batch_gives_what_each_query_finds_in_process(ask: Ask, index_service: Served) -> None:
    answer = post(ask, index_service, queries=QUERIES, topk=3, return_scores=True).json()
    for query, hits in zip(QUERIES, answer["result"], strict=True):
        expected = asyncio.run(index_service.retriever.search(query, 3))
        assert [(hit["document"]["id"], hit["score"]) for hit in hits] == [(h.passage.id, h.score) for h in expected]
    first = answer["result"][0][0]["document"]["contents"]
    assert first.startswith('"Kessel Bridge"\nThe Kessel Bridge is a steel arch bridge')


def test_without_scores_documents_stand_bare(ask: Ask, index_service: Served) -> None:
    (hits,) = post(ask, index_service, queries=["Kessel Bridge"], topk=2).json()["result"]
    assert [sorted(hit) for hit in hits] == [["contents", "id"]] * 2


def test_one_query_is_a_batch_of_one(ask: Ask, index_service: Served) -> None:
    by_query = post(ask, index_service, query="Kessel Bridge", topk=2, return_scores=True).json()
    assert by_query == post(ask, index_service, queries=["Kessel Bridge"], topk=2, return_scores=True).json()


def test_a_turn_without_searches_is_no_mistake(ask: Ask, index_service: Served) -> None:
    assert post(ask, index_service, queries=[], topk=3, return_scores=True).json()["result"] == []


def test_a_title_takes_one_line_whatever_stands_in_it(ask: Ask, index_service: Served, tiny: Corpus) -> None:
    odd = passage("odd", "A\ntitle", "Text of\n two   lines.")

    class One:
        scores = True

        async def search_many(self, queries: Any, k: int) -> Any:
            from pipeline.types import Hit

            return [[Hit(passage=odd, score=1.0)] for _ in queries]

    (hits,) = post(ask, index_service._replace(retriever=One()), queries=["x"]).json()["result"]  # type: ignore[arg-type]
    assert hits[0]["contents"] == '"A title"\nText of two lines.'


@pytest.mark.parametrize("topk", [None, 1, 5, 9])
def test_the_environment_of_a_data_set_has_the_last_word_on_k(
    ask: Ask, index_service: Served, topk: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    query = "the city of Ostrand on the river"
    free = post(ask, index_service, queries=[query], topk=topk).json()
    assert len(free["result"][0]) == free["k"] == (topk or 5)
    fixed = post(ask, index_service._replace(fixed=True), queries=[query], topk=topk).json()
    assert len(fixed["result"][0]) == fixed["k"] == 5
    assert ("it gets 5, as the environment says" in caplog.text) == (topk in (1, 9))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "queries: Field required"),
        ({"queries": "one"}, "queries: "),
        ({"query": ["one"]}, "queries: Field required"),
        ({"query": "one", "queries": ["one"]}, "query: "),
        ({"queries": ["x", 7]}, "queries.1: "),
        ({"queries": ["x"], "topk": 0}, "topk: "),
        ({"queries": ["x"], "topk": 1001}, "topk: "),
        ({"queries": ["x"], "topk": "five"}, "topk: "),
        ({"queries": ["x"], "top_k": 3}, "top_k: "),
        ({"queries": ["x"] * (MOST_PASSAGES // 5 + 1)}, "at most 50000 passages at once"),
        ({"queries": ["x"], "question_id": "q"}, "no overlays are served here"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(
    ask: Ask, index_service: Served, body: dict[str, Any], message: str
) -> None:
    assert message in line(post(ask, index_service, **body))


@pytest.mark.parametrize("raw", [b"", b"{", b"[" * 100_000, b"\xff", b'{"queries": ["\\ud800"]}'])
def test_what_is_no_json_is_told(ask: Ask, index_service: Served, raw: bytes) -> None:
    assert line(ask(router(index_service), "POST", "/retrieve", content=raw))


def test_the_environment_is_described(ask: Ask, index_service: Served) -> None:
    description = ask(router(index_service), "GET", "/environment").json()
    assert Environment.model_validate(description["environment"]) == index_service.environment
    assert (description["corpus_fingerprint"], description["retriever"]) == (index_service.corpus.fingerprint, "lucene")
    assert ask(router(index_service), "GET", "/health").json() == {"status": "ok"}


def test_a_question_sees_only_its_own_overlay(ask: Ask, index_service: Served) -> None:
    edition = passage(
        "synthetic-1", "Kessel Bridge (2nd edition)", "The Kessel Bridge of Ostrand opened on 1 May 1940."
    )
    overlaid = index_service._replace(overlays=lambda question: ([edition] if question == "q1" else [], IndexChanges()))

    def is_visible(**body: Any) -> tuple[bool, bool]:
        query = "When did the Kessel Bridge of Ostrand open?"
        (hits,) = post(ask, overlaid, queries=[query], **body).json()["result"]
        call = {"name": "search", "arguments": {"query": query}, **body}
        shown_ids = post(ask, overlaid, "/call", **call).json()["shown"]
        return any(edition.text in hit["contents"] for hit in hits), edition.shown_id in shown_ids

    assert (is_visible(question_id="q1"), is_visible(question_id="q2"), is_visible()) == (
        (True, True),
        (False, False),
        (False, False),
    )
    look = {"name": "open", "arguments": {"passage_id": edition.shown_id}, "shown": [edition.shown_id]}
    assert "1 May 1940" in post(ask, overlaid, "/call", **look, question_id="q1").json()["content"]
    assert post(ask, overlaid, "/call", **look, question_id="q2").json()["content"].startswith("Error: No search")


def test_index_changes_apply_to_their_question_only(ask: Ask, index_service: Served) -> None:
    query = "When did the Kessel Bridge of Ostrand open?"
    first, *_, last = [hit.passage for hit in asyncio.run(index_service.retriever.search(query, 9))]
    changes = IndexChanges(lifted=frozenset([last.id]), hidden=frozenset([first.id]), above=True)
    overlaid = index_service._replace(overlays=lambda question: ([], changes if question == "q1" else IndexChanges()))

    def search_ids(question: str) -> list[str]:
        call = {"name": "search", "arguments": {"query": query}, "question_id": question}
        return list(post(ask, overlaid, "/call", **call).json()["shown"])

    assert (search_ids("q1")[0], first.shown_id in search_ids("q1")) == (last.shown_id, False)
    assert (search_ids("q2")[0], last.shown_id in search_ids("q2")) == (first.shown_id, False)
    look = {"name": "open", "arguments": {"passage_id": last.shown_id}, "shown": [last.shown_id]}
    assert last.text[:40] in post(ask, overlaid, "/call", **look, question_id="q1").json()["content"]


@pytest.mark.parametrize("scores", [True, False])
def test_ids_do_not_reveal_a_distractor(ask: Ask, index_service: Served, scores: bool) -> None:
    """Questions with and without distractors look alike; a client without a question sees the corpus's ids."""
    edition = passage(
        "synthetic-1", "Kessel Bridge (2nd edition)", "The Kessel Bridge of Ostrand opened on 1 May 1940."
    )
    overlaid = index_service._replace(overlays=lambda question: ([edition] if question == "q1" else [], IndexChanges()))
    query = "When did the Kessel Bridge of Ostrand open?"

    def ids(**body: Any) -> list[str]:
        (hits,) = post(ask, overlaid, queries=[query], return_scores=scores, **body).json()["result"]
        return [(hit["document"] if scores else hit)["id"] for hit in hits]

    def called_ids(**body: Any) -> list[str]:
        call = {"name": "search", "arguments": {"query": query}}
        return list(post(ask, overlaid, "/call", **call, **body).json()["shown"])

    assert edition.shown_id in ids(question_id="q1")
    for body in ({"question_id": "q1"}, {"question_id": "q2"}):
        assert ids(**body) == called_ids(**body)
        assert all(re.fullmatch("p[0-9a-f]{12}", key) for key in ids(**body))
    assert set(ids()) <= {item.id for item in index_service.corpus.passages}


@pytest.mark.parametrize("arguments", [["x"], None, 7, True, {"query": 10**30}, {"query": ["x"]}, {}])
def test_a_model_s_mistake_is_answered_by_the_tool(ask: Ask, index_service: Served, arguments: Any) -> None:
    answers = [
        post(ask, index_service, "/call", name="search", arguments=value)
        for value in (arguments, json.dumps(arguments))
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["content"].startswith("Error: ")
    assert (
        post(ask, index_service, "/call", name="x" * 300, arguments={})
        .json()["content"]
        .startswith("Error: There is no")
    )


@pytest.mark.parametrize(
    "body", [{}, {"name": "search"}, {"name": 7, "arguments": {}}, {"name": "search", "arguments": {}, "shown": "p"}]
)
def test_a_client_s_mistake_is_refused(ask: Ask, index_service: Served, body: dict[str, Any]) -> None:
    assert line(post(ask, index_service, "/call", **body))


TURNS = (
    (("search", '{"query": "Kessel Bridge"}'), ("open", '{"passage_id": "pfeb7361c2192"}')),
    (("search", '{"query": "?!"}'), ("search", "{"), ("look", "{}"), ("search", '{"query": "zzyzx"}')),
    (("open", '{"passage_id": "p000000000000"}'), ("search", '{"query": "Kessel Bridge", "k": 9}')),
    tuple(("search", f'{{"query": "comet {n}"}}') for n in range(10)),
    (("open", '{"passage_id": "pfeb7361c2192"}'), ("search", '{"query": "Ostrand"}')),
    (("answer", '{"answer": "x"}'),),
)
"""Good calls and bad ones, more of them than a turn and the whole budget allow."""


LONG = (
    (("search", '{"query": "Kessel Bridge"}'), ("find", '{"passage_id": "pfeb7361c2192", "words": "steel arch"}')),
    (("open", '{"passage_id": "pfeb7361c2192", "position": 1}'), ("find", '{"passage_id": "p0", "words": "steel"}')),
    (("open", '{"passage_id": "pfeb7361c2192", "position": 99}'), ("find", '{"passage_id": "pfeb7361c2192"}')),
    tuple(("find", f'{{"passage_id": "pfeb7361c2192", "words": "bridge {n}"}}') for n in range(10)),
    (("find", '{"passage_id": "pfeb7361c2192", "words": "one more"}'), ("search", '{"query": "Ostrand"}')),
    (("answer", '{"answer": "x"}'),),
)


@pytest.mark.parametrize(
    ("turns", "settings", "errors"),
    [(TURNS, EnvironmentConfig(), 7), (LONG, EnvironmentConfig(pages=True, find=True), 5)],
)
def test_calls_are_answered_as_in_a_rollout_byte_for_byte(
    ask: Ask, index_service: Served, turns: Any, settings: EnvironmentConfig, errors: int
) -> None:
    index_service = index_service._replace(environment=environment(RunConfig(environment=settings)))
    calls = [tuple(ToolCall(id="", name=name, arguments=text) for name, text in turn) for turn in turns]
    messages = [Message(role="assistant", tool_calls=turn) for turn in calls]
    llm = ScriptedLLM([Completion(message=message, finish=Finish.TOOL_CALLS, usage=Usage()) for message in messages])
    context = index_service.environment
    limits = context.limits.model_copy(update={"format_errors": 9})
    agent = Agent(
        llm=llm,
        model=ModelConfig(),
        tools=context.tools,
        limits=limits,
        retriever=index_service.retriever,
        k=context.k,
        accept=lambda a, d: None,
    )
    rollout = asyncio.run(converse(agent, (Message(role="user", content="?"),), sample=0, state=AgentState()))
    observed = [message.content for message in rollout.messages if message.role == "tool"]
    assert sum(text.startswith("Error:") for text in observed) == errors
    assert observed[-1].startswith("The search budget is used up")
    state: dict[str, Any] = {"shown": [], "calls": 0}
    answers = []
    for turn in turns[:-1]:
        for index, (name, arguments) in enumerate(turn):
            body = {"name": name, "arguments": arguments, "place": index, **state}
            answer = post(ask, index_service, "/call", **body).json()
            state = {"shown": answer["shown"], "calls": answer["calls"]}
            answers.append(answer["content"])
    assert answers == observed
    last = post(ask, index_service, "/call", name="answer", arguments={"answer": "x"}, **state).json()
    assert (last["content"], last["ok"]) == ("", True)
