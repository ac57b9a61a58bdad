"""The index over HTTP, so that a model is trained in the environment in which its data was made.

- `POST /retrieve` is Search-R1's contract, which the search tools of verl, SkyRL, slime and torchtitan use too. The
  title is in quotes on the first line of `contents`, as in its corpora. Without `return_scores`, a hit is only the
  document.
- `POST /call` makes one tool call in the environment and answers with the tool message, byte for byte as in the data
  set's own rollouts. The tool answers a mistake of the model, as in a rollout; a mistake of the client is a 400.
- `POST /score` answers the scores that texts would have in the index, so that another run can add distractors to it.
- `GET /environment` describes what is served, and `GET /health` says that the server is up.

With a `question_id`, that question's overlay lies over the index. Then `/retrieve` gives the ids that agents see, since
the corpus's own ids would reveal which passages are distractors.
"""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, HTTPException, Request
from pydantic import Field, model_validator
from starlette.requests import ClientDisconnect

from pipeline.agents.calls import AgentState, Toolbox, carry_out
from pipeline.agents.environment_file import Environment
from pipeline.agents.parse import parse as parse_arguments
from pipeline.agents.tools import AnswerArguments
from pipeline.corpus import Corpus
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.passage_texts import search_r1, strip_title_quotes
from pipeline.retrieval.question_passages import IndexChanges, Overlay
from pipeline.serve.http_server import JsonRoute
from pipeline.types import Call, Data, Hit, Passage, ToolCall

logger = logging.getLogger(__name__)
MOST_PASSAGES = 50_000
"""Most passages of one answer: Search-R1 sends a training batch as one request."""
MOST_HITS = 1000
MOST_QUERIES = 10_000
MOST_SCORED = 1 << 22
"""Limit of one request for scores: its queries times the characters of its texts."""
Overlays = Callable[[str], tuple[Sequence[Passage], IndexChanges]]
"""A function from the id of a question to its own passages and its changes in the index. It may raise UsageError."""
_Id = Annotated[str, Field(max_length=200)]


class Served(NamedTuple):
    """What a server serves."""

    corpus: Corpus
    retriever: Retriever
    environment: Environment
    engine: str
    fixed: bool = False
    """Whether the environment is a data set's, so that clients cannot choose another k."""
    overlays: Overlays | None = None


class RetrieveRequest(Data):
    queries: tuple[str, ...]
    topk: int | None = Field(None, ge=1, le=MOST_HITS)
    return_scores: bool = False
    question_id: _Id = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_one_query(cls, body: Any) -> Any:
        """Accept the one text `query` in place of `queries`, which is what SkyRL sends."""
        if not isinstance(body, dict) or "queries" in body or not isinstance(body.get("query"), str):
            return body
        return {name: value for name, value in body.items() if name != "query"} | {"queries": [body["query"]]}


class RetrieveResponse(Data):
    result: list[list[dict[str, Any]]]
    """For each query its hits: `{document: {id, contents}, score}`, or only the document."""
    k: int
    score: bool
    """Whether `/score` answers too."""


class ScoreRequest(Data):
    queries: tuple[str, ...]
    texts: tuple[str, ...]
    """In the format of Search-R1's `contents`: the title is in quotes on its own line."""


class ScoreResponse(Data):
    scores: list[list[float]]
    """For each query the score that each text would have in the index. Zero or less means that it is no hit."""


class CallRequest(Data):
    """One tool call of a trajectory. `shown` and `calls` describe the calls before it: the server keeps no state."""

    name: str
    arguments: Any
    """What the model wrote, parsed or as text. The tool answers the mistake if it is not an object."""
    shown: tuple[_Id, ...] = Field((), max_length=10_000)
    """The ids of the passages that the trajectory has seen. Only these can be opened."""
    calls: int = Field(0, ge=0, le=10_000)
    """The number of earlier calls."""
    place: int = Field(0, ge=0)
    """The position of the call within its turn."""
    question_id: _Id = ""


class CallResponse(Data):
    """The tool message, and the state to send with the next call."""

    content: str
    ok: bool
    calls: int
    shown: list[str]


async def answer_call(served: Served, state: AgentState, name: str, arguments: Any, place: int = 0) -> tuple[str, bool]:
    """Carry out one tool call in the environment.

    Args:
        served: what is searched, under which limits.
        state: what the trajectory has seen and done. The call is added to it.
        name: the name of the tool.
        arguments: what the model wrote, parsed or as text.
        place: the position of the call within its turn.

    Returns:
        The tool message as a rollout gets it, and whether the call was valid.
    """
    environment = served.environment
    toolbox = Toolbox(
        tools=environment.tools,
        limits=environment.limits,
        retriever=served.retriever,
        k=environment.k,
        accept=lambda arguments, state: parse_arguments(AnswerArguments, arguments),
    )
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await carry_out(toolbox, state, ToolCall(id="", name=name, arguments=text), place)


def router(served: Served) -> APIRouter:
    service, routes = _Service(served), APIRouter(route_class=JsonRoute)
    routes.post("/retrieve")(service.retrieve)
    routes.post("/score")(service.score)
    routes.post("/call")(service.call)
    routes.get("/environment")(service.environment)
    routes.get("/health")(service.health)
    return routes


class _Service:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._has_warned = False
        self._scores = served.retriever.scores

    async def retrieve(self, request: RetrieveRequest) -> RetrieveResponse:
        k, count = self._choose_k(request.topk), len(request.queries)
        if k * count > MOST_PASSAGES:
            raise HTTPException(400, f"{count} queries of {k} passages: at most {MOST_PASSAGES} passages at once")
        retriever, _ = self._lay_over(request.question_id)
        results = await retriever.search_many(request.queries, k)
        return RetrieveResponse(
            result=[[_build_document(hit, request) for hit in hits] for hits in results], k=k, score=self._scores
        )

    async def score(self, request: ScoreRequest, connection: Request) -> ScoreResponse:
        queries, characters = len(request.queries), sum(map(len, request.texts))
        if queries > MOST_QUERIES or queries * len(request.texts) > MOST_PASSAGES:
            line = f"{queries} queries of {len(request.texts)} texts: at most {MOST_QUERIES} queries"
            raise HTTPException(400, f"{line}, and {MOST_PASSAGES} scores, at once")
        if queries * characters > MOST_SCORED:
            line = f"{queries} queries of {characters} characters: at most {MOST_SCORED} together"
            raise HTTPException(400, f"{line}; send fewer queries or texts at once")
        texts = tuple(map(strip_title_quotes, request.texts))
        scores = []
        for query in request.queries:
            scores.append(await self._served.retriever.score(query, texts))
            if await connection.is_disconnected():
                raise ClientDisconnect
        return ScoreResponse(scores=scores)

    async def call(self, request: CallRequest) -> CallResponse:
        retriever, question_passages = self._lay_over(request.question_id)
        passages = {key: self._served.corpus.find_shown(key) or question_passages.get(key) for key in request.shown}
        state = AgentState(passages={key: passage for key, passage in passages.items() if passage is not None})
        # Only the number of earlier calls matters for the tool message.
        state.calls = [Call(id="", tool="search", argument="", passage_ids=())] * request.calls
        served = self._served._replace(retriever=retriever)
        content, ok = await answer_call(served, state, request.name, request.arguments, request.place)
        new_ids = [key for key in state.passages if key not in passages]
        return CallResponse(content=content, ok=ok, calls=len(state.calls), shown=[*request.shown, *new_ids])

    async def environment(self) -> dict[str, Any]:
        served, manifest = self._served, self._served.corpus.manifest
        return {
            "environment": served.environment,
            "fixed": served.fixed,
            "corpus": manifest.name,
            "corpus_fingerprint": served.corpus.fingerprint,
            "licence": manifest.licence,
            "attribution": manifest.attribution,
            "passages": len(served.corpus.passages),
            "retriever": served.engine,
        }

    async def health(self) -> dict[str, str]:
        return {"status": "ok"}

    def _choose_k(self, topk: int | None) -> int:
        k = self._served.environment.k
        if topk is None or topk == k:
            return k
        if not self._served.fixed:
            return topk
        if not self._has_warned:
            self._has_warned = True
            logger.warning("a client asked for %d passages a search; it gets %d, as the environment says", topk, k)
        return k

    def _lay_over(self, question_id: str) -> tuple[Retriever, dict[str, Passage]]:
        """Return the index as a question sees it, and the question's own passages by shown id."""
        if not question_id:
            return self._served.retriever, {}
        if self._served.overlays is None:
            raise HTTPException(400, "no overlays are served here: leave question_id out, or serve the run with them")
        passages, changes = self._served.overlays(question_id)
        return Overlay(self._served.retriever, passages, changes), {passage.shown_id: passage for passage in passages}


def _build_document(hit: Hit, request: RetrieveRequest) -> dict[str, Any]:
    document = search_r1(hit.passage)
    if request.question_id:
        document["id"] = hit.passage.shown_id
    return {"document": document, "score": hit.score} if request.return_scores else document
