"""Generators may look at the links of a corpus: of their side of the split, or of both for a given question."""

import asyncio
from itertools import permutations, product
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline import config, corpus
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.train_eval_split import side
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.types import AnswerType, Given, Message, Seed
from tests.loop.cast import LINEAGE, call
from tests.passages import passage
from tests.scripted_llm import ScriptedLLM

NAMES = ["".join(parts) for parts in product("Bor Tal Ves Mun Kir Ost".split(), "da mi ro be".split(), "nlst")]
MAKERS = [" ".join(parts) for parts in permutations("tall old poor sick proud".split())][: len(NAMES)]
"""Distinct names that a search ranks alike."""
ASKED = passage("question-1", "Question", "In what year was it made?")


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Build a corpus of three films per director, and notes without links."""
    folder: Path = tmp_path_factory.mktemp("films")
    rows: list[dict[str, str]] = []
    for n, (name, makers) in enumerate(zip(NAMES, MAKERS, strict=True)):
        text = f"{name} Bay is a silent drama. It was made by Ada {NAMES[n // 3]}holm and {makers} men in {1910 + n}."
        rows += [
            {"id": f"film{n}", "title": f"{name} Bay", "text": text},
            {"id": f"note{n}", "title": f"Note {n}", "text": f"when rain falls one thinks of {makers} and goes home"},
        ]
    (folder / "films.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return corpus.load(corpus.resolve(str(folder / "films.jsonl")), folder)


def make_settings(*sets: str, model: str = "m") -> RunConfig:
    models = {"default": {"provider": "openai", "model": model, "base_urls": ["http://localhost:1/v1"]}}
    usual = "questions.file=q.jsonl", "retrieval.k=1", "loop.rounds=1", "loop.audit=false", "checks.enabled=[]"
    return config.build(values={"models": models} if model else {}, sets=[*usual, *sets])


@pytest.mark.parametrize("linked", [True, False])
def test_links_of_both_sides_are_offered_to_a_rewriter_if_there_are_any(films: Corpus, *, linked: bool) -> None:
    pages = [page for page in films.passages if page.title.endswith("Bay")]
    threes = [pages[n : n + 3] for n in range(0, len(pages), 3)]
    first, *remaining = next(t for t in threes if {side(page.document_id) for page in t} == {"train", "eval"})
    offered, listings = list[set[str]](), list[str]()

    def author(request: Request) -> Message:
        if request.tools[-1].name == "answer":
            return call("answer", answer="nobody")
        offered.append({tool.name for tool in request.tools})
        listings.extend(message.content for message in request.messages if message.name == "links")
        if linked and not any(message.role == "tool" for message in request.messages):
            return call("links", passage_id=first.shown_id)
        return call("rewrite", question="", operator="link", steps=[])

    settings = make_settings()
    question = Given(
        passage=ASKED, answer=first.text[-5:-1], answer_aliases=(), answer_type=AnswerType.DATE,
        documents=(frozenset([first.document_id]),),
    )  # fmt: skip
    links = prepare.links_of_sides(settings, films) if linked else {}
    context = RunContext(
        settings, ScriptedLLM(author), Bm25Retriever(films), LINEAGE, links=links, given={ASKED.id: question}
    )
    seed = Seed(key="ab" * 32, passage=ASKED, draw=0, side="train", target_steps=2)
    asyncio.run(run_seed(seed, context))
    assert ("links" in offered[0]) is linked
    if linked:
        assert all(page.shown_id in listings[0] for page in remaining)


@pytest.mark.parametrize("linked", [True, False])
def test_planner_of_graphs_is_offered_links_of_its_side_if_there_are_any(films: Corpus, *, linked: bool) -> None:
    pages = [page for page in films.passages if page.title.endswith("Bay")]
    threes = [pages[n : n + 3] for n in range(0, len(pages), 3)]
    sides = ["eval", "train", "train"]
    trios = (sorted(trio, key=lambda page: side(page.document_id)) for trio in threes)
    other, first, second = next(trio for trio in trios if [side(page.document_id) for page in trio] == sides)
    requests = list[Request]()

    def planner(request: Request) -> Message:
        requests.append(request)
        if linked and len(requests) == 1:
            return call("links", passage_id=first.shown_id)
        return call("propose", steps=[])

    settings = make_settings("strategy=compose").model_copy(update={"questions": config.build().questions})
    links = prepare.links_of_sides(settings, films) if linked else {}
    context = RunContext(settings, ScriptedLLM(planner), Bm25Retriever(films), LINEAGE, links=links)
    asyncio.run(run_seed(Seed(key="ab" * 32, passage=first, draw=0, side="train", target_steps=2), context))
    assert ("links" in {tool.name for tool in requests[0].tools}) is linked
    if linked:
        listing = requests[1].messages[-1].content
        assert f"[{second.shown_id}] {second.title}: [1] {second.title} is a silent drama. [2] It was made" in listing
        assert other.shown_id not in listing


@pytest.mark.parametrize(
    ("arguments", "opened"), [({}, True), ({"model": ""}, False), ({"sets": ("loop.refiner_searches=false",)}, False)]
)
def test_links_are_opened_only_for_a_model_that_rewrites_by_searching(
    arguments: dict[str, Any], *, opened: bool
) -> None:
    settings = make_settings(*arguments.get("sets", ()), model=arguments.get("model", "m"))
    assert settings.uses_links is opened
    assert ("links" in settings.digest_input()) is opened
