"""What an author is offered from the links of a real corpus, and what becomes of its seed."""

import asyncio
import json
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline import config, corpus, prompts
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.links.offered_walks import offers
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.text import sentences
from pipeline.types import AnswerType, Message, Passage, Record, Seed, Status, Stop
from tests.loop.test_episode import LINEAGE, call
from tests.scripted import ScriptedLLM

NAMES = ["".join(parts) for parts in product("Bor Tal Ves Mun Kir Ost".split(), "da mi ro be".split(), "nlst")]
MAKERS = [" ".join(parts) for parts in permutations("tall old poor sick proud".split())][: len(NAMES)]
"""No two the same, and all the same to a search."""
EACH = 7
"""One film in so many ends in a town of which the year is known: few enough for the year to say something."""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Films, each by a director of its own, who comes from a town of their own; and notes that nothing links."""
    folder: Path = tmp_path_factory.mktemp("films")
    rows = []
    for n, (name, makers) in enumerate(zip(NAMES, MAKERS, strict=True)):
        who, town = f"Ada {NAMES[-1 - n]}holm", f"{name}by"
        made = f"founded in {1400 + n}" if n % EACH == 0 else "walled"
        rows += [
            (f"film{n}", f"{name} Bay", f"{name} Bay is a silent drama. The drama was directed by {who}."),
            (f"who{n}", who, f"{who} was a painter. The painter came from {town} as a child."),
            (f"town{n}", town, f"{town} lies on a river. It was {made} by {makers} monks."),
            (f"note{n}", f"Note {n}", f"when rain falls one thinks of {makers} and goes home early"),
        ]
    told = [json.dumps({"id": key, "title": title, "text": text}) for key, title, text in rows]
    (folder / "films.jsonl").write_text("\n".join(told))
    return corpus.load(corpus.resolve(str(folder / "films.jsonl")), folder)


class Author:
    """Plays generator, refiner and solver. The first takes a walk hop by hop, but `skips` in its first try; the last
    searches in the rounds for so many hops."""

    def __init__(self, *steps: int, skips: int = 0) -> None:
        self.steps, self.skips = steps or (3,), skips
        self.hops, self.told = list[dict[str, Any]](), list[dict[str, Any]]()

    def __call__(self, request: Request) -> Message:
        turns = sum(message.role == "assistant" for message in request.messages)
        if request.tools[-1].name == "answer":
            steps = self.steps[min(len(self.told), len(self.steps)) - 1]
            found = [*self.hops[: steps - 1], self.hops[-1]]
            if turns == steps:
                return call("answer", answer=found[-1]["answer"])
            return call("search", query=found[turns]["of"])
        told = prompts.unfence(request.messages[1].content) or {}
        if not turns:
            self.told.append(told)
            return call("links", passage_id=told["passage"]["id"] if "passage" in told else told["start"])
        if "passage" in told:
            self.hops = [hop(told["walks"][0], number) for number in range(3)]
        tried = self.hops[self.skips :] if turns == 1 else self.hops
        hops = [{key: value for key, value in one.items() if key != "of"} for one in tried]
        number, film = len(self.told), self.hops[0]["of"]
        question = f"A painter made the drama {film}. When was the painter's home founded, in draft {number}?"
        made = {"question": question, "answer": hops[-1]["answer"], "answer_type": "number", "hops": hops}
        return call(request.tools[-1].name, **made)


def hop(walk: dict[str, Any], number: int) -> dict[str, Any]:
    here, after = walk["passages"][number], walk["passages"][number + 1 :]
    answer = after[0]["bridge"] if after else walk["ends"][0]
    quote = next(said for a, b in sentences(here["text"]) if answer in (said := here["text"][a:b]))
    asks = {"sub_question": f"What of {here['title']}?", "answer": answer, "passage_id": here["id"], "quote": quote}
    return {**asks, "of": here["title"]}


class Played(NamedTuple):
    record: Record
    requests: list[Request]


Play = Callable[..., Played]


@pytest.fixture(scope="module")
def play(films: Corpus) -> Play:
    """Runs the seed of the first passage that has a walk of three hops, or of one that has none."""
    retriever = Bm25Retriever(films)

    def played(author: Callable[[Request], Message], *sets: str, start: Passage) -> Played:
        usual = "retrieval.k=3", "loop.rollouts=1", "loop.screen=1", "checks.run=[]"
        settings, llm = config.build(values={"strategy": "walk"}, sets=[*usual, *sets]), ScriptedLLM(author)
        context = RunContext(settings, llm, retriever, LINEAGE, walks=prepare.walks(settings, films))
        seed = Seed(key="ab" * 32, passage=start, draw=0, side="train", answer_type=AnswerType.NUMBER, target_steps=3)
        return Played(asyncio.run(run_seed(seed, context)), llm.requests)

    over = prepare.walks(config.build(), films)["train"]
    train = [passage for passage in films.passages if side(passage.document_id) == "train"]
    found = (p for p in train if asyncio.run(offers(over, films.place(p.id) or 0, 3, [retriever], 3)))
    starts = {True: next(found), False: next(p for p in train if p.title.startswith("Note"))}
    return lambda author, *sets, walk=True: played(author, *sets, start=starts[walk])


def test_a_walk_becomes_a_pair_without_a_search(play: Play) -> None:
    record, requests = play(author := Author())
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    first, draft = author.told[0], record.draft
    assert (first["target_steps"], first["search_budget"]) == (3, 12)
    assert draft is not None
    assert draft.hops[0].passage_id == record.seed.passage.id
    tools = {request.tools[-1].name: {tool.name for tool in request.tools} for request in requests}
    assert tools["propose"] == {"links", "search", "open", "check", "propose"}
    assert tools["answer"] == {"search", "open", "answer"}


def test_a_look_at_links_counts_as_a_search_and_stays_on_its_side(play: Play) -> None:
    record, requests = play(Author(), "generator.searches=1", "generator.checks=0")
    agent = record.rounds[0].agent
    assert [(one.tool, one.repeat) for one in agent.calls] == [("links", False)]
    assert agent.calls[0].passage_ids
    assert all(side(i.rpartition("#")[0]) == "train" for i in agent.calls[0].passage_ids)
    assert agent.stop is Stop.SEARCH_BUDGET
    said = next(message for message in requests[1].messages if message.role == "tool")
    assert "holm', in 2 documents:\n[p" in said.content


def test_a_seed_without_a_walk_costs_no_call(play: Play) -> None:
    record, requests = play(Author(), "links.unlinked=0", walk=False)
    assert (record.status, record.reason, requests) == (Status.REJECTED, "no_walk", [])
    assert not any(used.calls for used in record.usage.values())


def test_a_share_of_those_goes_the_way_of_sage(play: Play) -> None:
    _, requests = play(lambda request: call("propose", question="", hops=[]), "links.unlinked=1", walk=False)
    assert {tool.name for tool in requests[0].tools} == {"search", "open", "check", "propose"}
    assert "walks" not in (prompts.unfence(requests[0].messages[1].content) or {"walks": ""})


def test_who_revises_is_given_what_else_leads_on_from_before_the_hop_that_failed(play: Play) -> None:
    record, requests = play(author := Author(2, 3))
    assert (record.status, len(record.rounds)) == (Status.ACCEPTED, 2)
    told = author.told[1]
    failed = told["drafts"][-1]["feedback"]["hops"][0]
    before = told["drafts"][-1]["hops"][failed - 1]["answer"]
    assert before in {link["phrase"] for link in told["links"]}
    assert told["start"] == record.seed.passage.shown_id
    reviser = next(request for request in requests if request.tools[-1].name == "revise")
    assert {tool.name for tool in reviser.tools} == {"links", "search", "open", "check", "revise"}


def test_a_question_that_passes_its_own_passage_by_goes_back(play: Play) -> None:
    record, requests = play(Author(skips=1))
    back = requests[2].messages[-1].content
    assert back == f"Error: One of the hops must rest on the given passage, {record.seed.passage.shown_id}."
    assert record.status is Status.ACCEPTED


def test_links_are_part_of_what_is_digested_where_questions_rest_on_them() -> None:
    def digest(strategy: str, most: int) -> str:
        return config.build(values={"strategy": strategy}, sets=[f"links.most_documents={most}"]).digest()

    assert digest("walk", 20) != digest("walk", 21)
    assert digest("sage", 20) == digest("sage", 21)
