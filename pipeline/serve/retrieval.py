"""The index over HTTP, so that a model is trained on the very environment that its data was made in.

`POST /retrieve` is Search-R1's contract, which verl's search tool speaks too: `{queries, topk, return_scores}` gives
`{result: [[{document: {id, contents}, score}]]}`. The title stands in quotes on the first line of `contents`, as in its
corpora; without scores the documents stand bare. `POST /call` carries out one call of a tool of the environment and
answers with the tool message, byte for byte as the data set's own rollouts were answered. What a model got
wrong is answered by the tool, as in a rollout; what a client got wrong is a 400. Both take a `question_id`: then that
question's overlay lies over the index, and `/retrieve` too gives the ids that agents are shown: those of the corpus
would tell which passages are distractors. `GET /environment` says what is served, `GET /health` that it is.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from pipeline.agents.environment import Environment
from pipeline.agents.loop import AgentState, Toolbox, carry_out
from pipeline.agents.parse import parse as parse_arguments
from pipeline.agents.tools import AnswerArguments
from pipeline.corpus import Corpus
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.overlay import Overlay
from pipeline.retrieval.passages import search_r1
from pipeline.serve.bodies import Refused
from pipeline.serve.door import Endpoint, parse
from pipeline.types import Call, Data, Hit, Passage, ToolCall

logger = logging.getLogger(__name__)
MOST_PASSAGES = 50_000
"""Of one answer: a whole training batch of Search-R1 comes as one request."""
MOST_HITS = 1000
Overlays = Callable[[str], Sequence[Passage]]
"""The id of a question → the passages that lie over the index for it alone; none for most. Raises UsageError."""
_Id = Annotated[str, Field(max_length=200)]


class Served(NamedTuple):
    """What is served. `fixed`: the environment is a data set's, and its k holds whatever a client asks for."""

    corpus: Corpus
    retriever: Retriever
    environment: Environment
    engine: str
    fixed: bool = False
    overlays: Overlays | None = None


class Query(Data):
    """Search-R1's request."""

    queries: tuple[str, ...]
    topk: int | None = Field(None, ge=1, le=MOST_HITS)
    return_scores: bool = False
    question_id: _Id = ""


class Asked(Data):
    """One tool call of a trajectory. `shown` and `calls` say what came before it: the server remembers nothing."""

    name: str
    arguments: Any
    """As the model has given them, parsed or as text: what is no object is its mistake, and the tool's to answer."""
    shown: tuple[_Id, ...] = Field((), max_length=10_000)
    """The ids, as they were shown, of the passages that the trajectory has seen: only these can be opened."""
    calls: int = Field(0, ge=0, le=10_000)
    """Searches and opens that were carried out before."""
    place: int = Field(0, ge=0)
    """Of the call within its turn."""
    question_id: _Id = ""


def endpoints(served: Served) -> Mapping[tuple[str, str], Endpoint]:
    service = _Service(served)
    return {
        ("POST", "/retrieve"): service.retrieve,
        ("POST", "/call"): service.call,
        ("GET", "/environment"): service.about,
        ("GET", "/health"): service.health,
    }


class _Service:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._by_shown = {passage.shown_id: passage for passage in served.corpus.passages}
        self._told = False

    async def retrieve(self, raw: bytes) -> object:
        asked = parse(Query.model_validate_json, raw)
        k = self._k(asked.topk)
        if k * len(asked.queries) > MOST_PASSAGES:
            raise Refused(
                400, f"{len(asked.queries)} queries of {k} passages: at most {MOST_PASSAGES} passages at once"
            )
        retriever, _ = self._over(asked.question_id)
        found = await retriever.search_many(asked.queries, k)
        return {"result": [[_told(hit, asked) for hit in hits] for hits in found], "k": k}

    async def call(self, raw: bytes) -> object:
        asked = parse(Asked.model_validate_json, raw)
        retriever, own = self._over(asked.question_id)
        known = {key: self._by_shown.get(key) or own.get(key) for key in asked.shown}
        state = AgentState(passages={key: passage for key, passage in known.items() if passage is not None})
        # Which calls they were matters to a rollout's own account alone, not to what is observed.
        state.calls = [Call(id="", tool="search", argument="", passage_ids=())] * asked.calls
        call = ToolCall(id="", name=asked.name, arguments=_text(asked.arguments))
        content, good = await carry_out(self._toolbox(retriever), state, call, asked.place)
        made = state.calls[asked.calls :]
        shown = [key for key in state.passages if key not in known]
        return {"content": content, "ok": good, "calls": asked.calls + len(made), "shown": [*asked.shown, *shown]}

    async def about(self, raw: bytes) -> object:
        served = self._served
        return {
            "environment": served.environment.model_dump(mode="json"),
            "fixed": served.fixed,
            "corpus": served.corpus.manifest.name,
            "corpus_fingerprint": served.corpus.fingerprint,
            "licence": served.corpus.manifest.licence,
            "attribution": served.corpus.manifest.attribution,
            "passages": len(served.corpus.passages),
            "retriever": served.engine,
        }

    async def health(self, raw: bytes) -> object:
        return {"status": "ok"}

    def _k(self, topk: int | None) -> int:
        k = self._served.environment.k
        if topk is None or topk == k:
            return k
        if self._served.fixed and not self._told:
            self._told = True
            logger.warning(
                "asked for %d passages a search; the data set's environment says %d, so those are given", topk, k
            )
        return k if self._served.fixed else topk

    def _over(self, question_id: str) -> tuple[Retriever, dict[str, Passage]]:
        """The index as a question sees it, and its own passages by shown id."""
        if not question_id:
            return self._served.retriever, {}
        if self._served.overlays is None:
            raise Refused(400, "no overlays are served here: leave question_id out, or serve the run that has them")
        passages = self._served.overlays(question_id)
        over = Overlay(self._served.retriever, passages) if passages else self._served.retriever
        return over, {passage.shown_id: passage for passage in passages}

    def _toolbox(self, retriever: Retriever) -> Toolbox:
        environment = self._served.environment
        return Toolbox(
            tools=environment.tools,
            limits=environment.limits,
            retriever=retriever,
            k=environment.k,
            accept=lambda arguments, state: parse_arguments(AnswerArguments, arguments),
        )


def _told(hit: Hit, asked: Query) -> dict[str, Any]:
    document = search_r1(hit.passage)
    if asked.question_id:
        document["id"] = hit.passage.shown_id
    return {"document": document, "score": hit.score} if asked.return_scores else document


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
