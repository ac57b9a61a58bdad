"""A remote index can be searched, and every wrong, slow or missing answer of its server is handled."""

import asyncio
import resource
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import orjson
import pytest

from pipeline.config import build
from pipeline.corpus import Corpus
from pipeline.errors import RetrievalError, UsageError
from pipeline.llm import retry
from pipeline.retrieval import http
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.http import HttpRetriever
from pipeline.retrieval.question_passages import Overlay
from pipeline.run import prepare
from pipeline.types import Hit
from tests.passages import passage
from tests.server_process import serving

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
BRIDGE, COMET = "Kessel_Bridge", "Comet_Volkova"


@contextmanager
def run_server(answer: Answer, requests: list[Any] | None = None) -> Iterator[str]:
    """Serve `answer(body)` for every request, as JSON unless it is bytes."""

    class Foreign(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if requests is not None:
                requests.append((body, dict(self.headers)))
            status, value = answer(body)
            raw = value if isinstance(value, bytes) else orjson.dumps(value)
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            return

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/retrieve"
    finally:
        listening.shutdown()
        listening.server_close()


def make_answer(*hits: tuple[Any, str, Any]) -> Answer:
    """Answer every query with these hits: id, contents, score."""
    documents = [{"document": {"id": key, "contents": text, "title": "x"}, "score": score} for key, text, score in hits]
    return lambda body: (200, {"result": [documents for _ in body["queries"]]})


def indexed_text(tiny: Corpus, document: str) -> str:
    (passage,) = (passage for passage in tiny.passages if passage.document_id == document)
    return f'"{passage.title}"\n{passage.text}'


def search(tiny: Corpus, url: str, k: int = 5) -> list[Hit]:
    return asyncio.run(HttpRetriever(tiny, url).search("x", k))


def test_hits_are_passages_of_the_corpus_by_their_id_or_their_documents(tiny: Corpus) -> None:
    comet, bridge = (
        (COMET, indexed_text(tiny, COMET), 0.5),
        (f"{BRIDGE}#0", indexed_text(tiny, BRIDGE).replace(" ", "\n  "), 0.75),
    )
    with run_server(make_answer(comet, bridge, comet)) as url:
        hits = search(tiny, url)
        assert [(hit.passage.id, hit.score) for hit in hits] == [(f"{BRIDGE}#0", 0.75), (f"{COMET}#0", 0.5)]
        assert [hit.passage.id for hit in search(tiny, url, 1)] == [f"{BRIDGE}#0"]


def test_requests_have_the_format_of_search_r1(tiny: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIGSITE_TOKEN", "secret")
    requests: list[Any] = []
    with run_server(make_answer(), requests) as url:
        asyncio.run(HttpRetriever(tiny, f"{url}#e5").search_many(["a\0", "b"] * 200, 7))
    sizes = sorted(len(body["queries"]) for body, _ in requests)
    assert sizes == [1, 144, 256]
    assert requests[1][0].keys() == {"queries", "topk", "return_scores"}
    assert (requests[1][0]["queries"][0], requests[1][0]["topk"], requests[1][0]["return_scores"]) == ("a ", 7, True)
    assert {headers["Authorization"] for _, headers in requests} == {"Bearer secret"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (make_answer(("nobody", "x", 1.0)), "returned 'nobody', which the corpus 'tiny' does not hold"),
        (make_answer((f"{BRIDGE}#0", "another text", 1.0)), "different texts for 'Kessel_Bridge#0'"),
        (make_answer((BRIDGE, "x", None)), "does not follow Search-R1's contract: result.0.0.score"),
        (lambda body: (200, {"result": []}), "answered 0 of 1 queries"),
        (lambda body: (200, {"detail": "x"}), "does not follow Search-R1's contract: result"),
        (lambda body: (200, b"<html>"), "does not follow Search-R1's contract: the response"),
        (lambda body: (200, {"result": [[]], "k": 0}), "serves a data set and returns only 0 hits"),
        (lambda body: (404, b"not \x1b[31mhere"), "answered 404: not here"),
        (lambda body: (401, {}), "put it into the environment variable DIGSITE_TOKEN"),
        (lambda body: (503, {}), "no retriever answers at .* \\(status 503\\)"),
    ],
)
def test_a_wrong_server_is_reported_at_once(tiny: Corpus, answer: Answer, message: str) -> None:
    with run_server(answer) as url, pytest.raises((RetrievalError, UsageError), match=message):
        HttpRetriever(tiny, url)


@contextmanager
def run_raw_server(head: bytes, chunk: bytes, pause: float) -> Iterator[str]:
    """Send the head and then the chunk without end, with pauses."""

    def endless(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 " + head + b"\r\n\r\n")
            while not stopped.wait(pause):
                connection.sendall(chunk)

    def accepting() -> None:
        with suppress(OSError):
            while True:
                Thread(target=endless, args=(listening.accept()[0],), daemon=True).start()

    stopped = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=accepting, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/retrieve"
        finally:
            stopped.set()


def make_bomb() -> bytes:
    """Compress 65 MiB of blanks to 64 kB."""
    packer = zlib.compressobj(9, wbits=31)
    return packer.compress(b" " * (65 << 20)) + packer.flush()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"200 OK", "sent more than 64 MiB"),
        (b"400 No", "answered 400: x"),
        (b"503 No", "status 503"),
        (b"200 OK\r\nContent-Encoding: gzip", "sent more than 64 MiB"),
        (b"500 No\r\nContent-Encoding: gzip", "status 500"),
    ],
)
def test_an_endless_answer_is_cut_off(tiny: Corpus, head: bytes, message: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chunk = make_bomb() if b"gzip" in head else b"x" * (1 << 20)
    with run_raw_server(head, chunk, 0) as url, pytest.raises(RetrievalError, match=message):
        HttpRetriever(tiny, url)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < 300


@pytest.mark.parametrize("head", [b"200 OK", b"500 No", b"200 OK\r\nContent-Length: 9"])
def test_a_trickling_answer_is_given_up(tiny: Corpus, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(http, "_SECONDS", 0.5)
    with run_raw_server(head, b" ", 0.1) as url, pytest.raises(RetrievalError, match="no complete response within"):
        HttpRetriever(tiny, url)


@pytest.mark.slow
@pytest.mark.parametrize(
    "echo",
    [
        lambda token: (400, f"bad header: Bearer {token}".encode()),
        lambda token: (400, "".join(f"{letter}\u200e\x1b[1m" for letter in token).encode()),
        lambda token: (400, "\u200b".join(token).encode()),
        lambda token: (400, b"x" * 290 + token.encode()),
        lambda token: (200, {"result": [[{"document": {"id": token, "contents": "x"}, "score": 1}]]}),
    ],
)
def test_an_echoed_token_is_not_shown(
    tiny: Corpus, monkeypatch: pytest.MonkeyPatch, echo: Callable[[str], tuple[int, Any]]
) -> None:
    monkeypatch.setenv("DIGSITE_TOKEN", "hunter2-and-more")
    with run_server(lambda body: echo("hunter2-and-more")) as url, pytest.raises(RetrievalError) as caught:
        HttpRetriever(tiny, url)
    assert "hunter2" not in str(caught.value)


def test_no_proxy_is_used_for_this_machine(tiny: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with run_server(make_answer((BRIDGE, indexed_text(tiny, BRIDGE), 1.0))) as url:
        assert search(tiny, url)


async def test_the_retriever_opens_inside_a_running_loop(tiny: Corpus) -> None:
    with run_server(make_answer((BRIDGE, indexed_text(tiny, BRIDGE), 1.0))) as url:
        assert await HttpRetriever(tiny, url).search("x", 5)


def test_a_missing_server_is_reported_at_once(tiny: Corpus) -> None:
    with pytest.raises(RetrievalError, match="no retriever answers at http://127.0.0.1:9/retrieve"):
        HttpRetriever(tiny, "http://127.0.0.1:9/retrieve")


@pytest.mark.parametrize(("failures", "recovers"), [(3, True), (http.ATTEMPTS, False)])
def test_trouble_is_retried_a_limited_number_of_times(
    tiny: Corpus, monkeypatch: pytest.MonkeyPatch, failures: int, recovers: bool
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.001)
    requests: list[Any] = []
    healthy = make_answer((BRIDGE, indexed_text(tiny, BRIDGE), 1.0))
    with run_server(lambda body: (500, b"") if 1 < len(requests) <= failures + 1 else healthy(body), requests) as url:
        retriever = HttpRetriever(tiny, url)
        if recovers:
            assert asyncio.run(retriever.search("x", 5))
        else:
            with pytest.raises(RetrievalError, match="status 500"):
                asyncio.run(retriever.search("x", 5))
    assert len(requests) == 1 + min(failures + 1, http.ATTEMPTS)


def test_the_identity_has_the_name_of_the_index_but_not_the_host() -> None:
    def digest(retriever: str) -> str:
        return build(values={"retrieval": {"retriever": retriever}}).digest()

    assert digest("http://one:8000/retrieve#e5") == digest("https://two/search#e5")
    assert len({digest(r) for r in ("lucene", "http://one/retrieve", "http://one/retrieve#e5", "http://one#bge")}) == 4
    assert build(values={"retrieval": {"retriever": "http://one/retrieve#e5"}}).retrieval.identity == "http#e5"


@pytest.mark.parametrize("address", ["ftp://one/x", "http:///x", "http://me:secret@one/x", "http://one/x?key=secret"])
def test_an_address_holds_no_secret(address: str) -> None:
    with pytest.raises(UsageError, match="retrieval.retriever: must") as caught:
        build(values={"retrieval": {"retriever": address}})
    assert "secret" not in str(caught.value)


async def test_a_server_without_scores_takes_no_distractors(tiny: Corpus) -> None:
    with run_server(make_answer()) as url:
        retriever = HttpRetriever(tiny, url)
        with pytest.raises(UsageError, match=r"outside its index, and .* does not: use a server with /score"):
            await retriever.score("bridge", ["a bridge"])
        values = {"retrieval": {"retriever": url}, "distractors": {"kinds": ["doppelganger"]}}
        with pytest.raises(UsageError, match="distractors need a retriever that can score"):
            prepare.context(build(values=values), tiny)


def make_scoring_answer(scores: Any) -> Answer:
    return lambda body: (200, {"scores": scores} if "texts" in body else {"result": [[]], "score": True})


async def test_texts_are_scored_in_their_indexed_form(tiny: Corpus) -> None:
    requests: list[Any] = []
    with run_server(make_scoring_answer([[0.5, -1.0]]), requests) as url:
        assert await HttpRetriever(tiny, url).score("q\0", ["The\ttitle\nIts text. ", "no title"]) == [0.5, -1.0]
    assert requests[-1][0] == {"queries": ["q "], "texts": ['"The title"\nIts text.', "no title"]}


@pytest.mark.parametrize(
    ("scores", "message"),
    [([[0.5]], "/score answered 1 of 2 texts"), ([], "answered 0 of 2 texts"), ([["x", 1]], r"contract: scores\.0\.0")],
)
async def test_wrong_scores_are_an_error(tiny: Corpus, scores: Any, message: str) -> None:
    with run_server(make_scoring_answer(scores)) as url, pytest.raises(RetrievalError, match=message):
        await HttpRetriever(tiny, url).score("q", ["a", "b"])


@pytest.mark.slow
async def test_distractors_rank_over_a_remote_index_as_over_a_local_one(tiny: Corpus, indexes: Path) -> None:
    added = [passage(f"own{n}", p.title, p.text.upper()) for n, p in enumerate(tiny.passages[:5])]
    local = Overlay(LuceneRetriever(tiny, indexes), added)
    with serving("serve", "tiny", "--out", indexes) as (_, address):
        remote = Overlay(HttpRetriever(tiny, address), added)
        for query in ("the city of Ostrand on the river", tiny.passages[0].title, "zzyzx"):
            assert await remote.search(query, 20) == await local.search(query, 20)
