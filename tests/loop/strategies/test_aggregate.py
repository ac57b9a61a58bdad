"""An author is offered what one link joins, and its program must prove the answer; several strategies mix by weight."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import config, corpus, prompts
from pipeline.config.gates import GateConfig
from pipeline.config.strategy_mix import draw
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.errors import UsageError
from pipeline.gates import Gates
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import aggregate
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.types import AnswerType, Message, Record, Seed, Status, Stop, sha256
from tests.loop.strategies.test_walk import MAKERS, NAMES
from tests.loop.test_episode import LINEAGE, call
from tests.scripted import ScriptedLLM

FILMS = 4
"""Of each director."""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Films of a few directors, each with its year, in words that no three share; and notes that nothing links."""
    folder: Path = tmp_path_factory.mktemp("films")
    rows = []
    for n, (name, made) in enumerate(zip(NAMES, MAKERS, strict=True)):
        text = (
            f"{name} Bay is a silent drama. Its {made} sailors were led by Ada {NAMES[n // FILMS]}holm in {1910 + n}."
        )
        rows.append((f"film{n}", f"{name} Bay", text))
        rows.append((f"note{n}", f"Note {n}", f"when rain falls one thinks of {made} and goes home early"))
    told = [json.dumps({"id": key, "title": title, "text": text}) for key, title, text in rows]
    (folder / "films.jsonl").write_text("\n".join(told))
    return corpus.load(corpus.resolve(str(folder / "films.jsonl")), folder)


class Author:
    """Plays generator, refiner and solver. The first counts one film too many in its first try; the last finds one film
    after the other, but all at once in the round before `slow`."""

    def __init__(self, slow: int = 0) -> None:
        self.slow, self.written = slow, 0
        self.draft: dict[str, Any] = {}
        self.tools, self.systems = list[set[str]](), list[str]()

    def __call__(self, request: Request) -> Message:
        turns = sum(message.role == "assistant" for message in request.messages)
        if request.tools[-1].name == "answer":
            quick = self.written <= self.slow
            titles = [one["name"] for one in self.draft["program"]["values"]]
            queries = [" ".join(titles)] if quick else titles
            return (
                call("answer", answer=self.draft["answer"])
                if turns == len(queries)
                else call("search", query=queries[turns])
            )
        told = prompts.unfence(request.messages[1].content) or {}
        if not turns:
            self.tools.append({tool.name for tool in request.tools})
            self.systems.append(request.messages[0].content)
            self.written += 1
        if "links" in told:
            self.draft = counted(told["passage"], told["links"][0])
            return call("propose", **self.draft | ({"answer": "9"} if not turns else {}))
        self.draft = self.draft | {"question": f"Once more: {self.draft['question']}"}
        return call("revise", **self.draft)


def counted(own: dict[str, Any], link: dict[str, Any]) -> dict[str, Any]:
    found = {one["id"]: one for one in (own, *link["passages"])}.values()
    years = [re.findall(r"\d{4}", one["text"])[0] for one in found]
    values = [{"hop": n, "value": years[n], "name": one["title"]} for n, one in enumerate(found)]
    hops = [
        {"sub_question": f"When was {one['title']} made?", "answer": year, "passage_id": one["id"],
         "quote": one["text"].split(". ", 1)[1]}
        for one, year in zip(found, years, strict=True)
    ]  # fmt: skip
    program = {"operation": "count", "condition": "before", "bound": "1990", "values": values,
               "set_question": f"Which films did {link['phrase']} lead?", "link": link["phrase"]}  # fmt: skip
    question = f"In how many dramas were sailors led by {link['phrase']} before 1990?"
    return {"question": question, "answer": str(len(years)), "answer_type": "number",
            "hops": hops, "program": program}  # fmt: skip


Play = Callable[..., tuple[Record, list[Request]]]


@pytest.fixture(scope="module")
def play(films: Corpus) -> Play:
    """Runs the seed of the first film that a link joins with several others, or of a note that none does."""
    retriever = Bm25Retriever(films)

    def played(
        author: Callable[[Request], Message],
        *sets: str,
        linked: bool = True,
        strategy: str = "aggregate",
        kind: AnswerType = AnswerType.NUMBER,
    ) -> tuple[Record, list[Request]]:
        usual = "retrieval.k=3", "loop.rollouts=1", "loop.screen=1", "checks.run=[]"
        settings, llm = config.build(values={"strategy": strategy}, sets=[*usual, *sets]), ScriptedLLM(author)
        context = RunContext(settings, llm, retriever, LINEAGE, walks=prepare.walks(settings, films))
        train = [passage for passage in films.passages if side(passage.document_id) == "train"]
        made = (
            Seed(key=sha256(p.id), passage=p, draw=0, side="train", answer_type=kind, target_steps=2) for p in train
        )
        seed = next(one for one in made if bool(aggregate.joined(one, context)) is linked)
        return asyncio.run(run_seed(seed, context)), llm.requests

    return played


def test_what_a_link_joins_becomes_a_pair_once_its_program_gives_the_answer(play: Play) -> None:
    record, requests = play(author := Author())
    assert (record.status, record.reason, record.lineage.strategy) == (Status.ACCEPTED, "", "aggregate")
    back = requests[1].messages[-1].content
    assert back == f"Error: The program gives '{author.draft['answer']}', and the answer is '9'."
    assert author.tools[0] == {"links", "search", "open", "check", "propose"}
    assert "program" in requests[0].tools[-1].parameters["properties"]
    draft = record.draft
    assert draft
    assert draft.program
    assert draft.family == "aggregate"
    assert record.seed.passage.id in {hop.passage_id for hop in draft.hops}
    assert len({hop.passage_id for hop in draft.hops}) == int(draft.answer) >= 3


@pytest.mark.parametrize("kind", [AnswerType.LIST, AnswerType.BOOLEAN])
def test_what_no_operation_gives_is_asked_of_nobody(play: Play, kind: AnswerType) -> None:
    record, requests = play(author := Author(), kind=kind)
    assert record.status is Status.ACCEPTED
    told = prompts.unfence(requests[0].messages[1].content) or {}
    assert told["answer_types"][0] == "number"
    assert prompts.note(f"{kind.value}/_write") not in author.systems[0]


def test_who_revises_has_the_rules_of_programs_too(play: Play) -> None:
    record, requests = play(author := Author(slow=1))
    assert (record.status, len(record.rounds)) == (Status.ACCEPTED, 2)
    reviser = next(request for request in requests if request.tools[-1].name == "revise")
    assert prompts.note("aggregate/_write") in author.systems[1]
    assert {tool.name for tool in reviser.tools} == {"links", "search", "open", "check", "revise"}
    told = prompts.unfence(reviser.messages[1].content) or {}
    assert told["drafts"][-1]["program"]["operation"] == "count"


def test_the_export_runs_the_program_again(play: Play) -> None:
    record, _ = play(Author())
    gates, last = Gates(GateConfig()), record.rounds[-1]
    assert record.draft
    wrong = last.model_copy(update={"draft": record.draft.model_copy(update={"answer": "9"})})
    assert gates.copy().admit(gates.check(record)) is None
    drop = gates.admit(gates.check(record.model_copy(update={"rounds": (wrong,)})))
    assert drop
    assert (drop.reason, drop.why) == (
        "gate:recomputed", f"the program gives '{record.draft.answer}', and the answer is '9'"
    )  # fmt: skip


def test_links_whose_documents_state_values_come_first(tmp_path: Path) -> None:
    """And not those that the fewest documents hold."""
    rows = [{"id": "own", "title": "Sea Fog", "text": "Sea Fog was filmed near Ostra Vale for Ada Holm in 1934."}]
    rows += [{"id": f"note{n}", "title": f"Note {n}", "text": f"when rain falls one thinks of {n}"} for n in range(600)]
    rows += [
        {"id": f"{at}{n}", "title": f"{at} {n}", "text": text}
        for n in range(3)
        for at, text in [
            ("walk", f"A path near Ostra Vale leads past {MAKERS[n]} meadows to the coast."),
            ("film", f"It was filmed by {MAKERS[n + 4]} crews for Ada Holm in {1930 + n}."),
        ]
    ]
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, rows)))
    few = corpus.load(corpus.resolve(str(tmp_path / "few.jsonl")), tmp_path)
    settings = config.build(values={"strategy": "aggregate"})
    shown = list[str]()

    def none(request: Request) -> Message:
        shown.extend(one["phrase"] for one in (prompts.unfence(request.messages[1].content) or {})["links"])
        return call("propose", question="", answer="", answer_type="number", hops=[])

    walks = prepare.walks(settings, few)
    context = RunContext(settings, ScriptedLLM(none), Bm25Retriever(few), LINEAGE, walks=walks)
    own = next(passage for passage in few.passages if passage.document_id == "own")
    seed = Seed(key=sha256("own"), passage=own, draw=0, side="train", answer_type=AnswerType.NUMBER, target_steps=2)
    asyncio.run(run_seed(seed, context))
    assert shown.index("Ada Holm") < shown.index("Ostra Vale")


def test_a_draft_without_a_program_goes_back(play: Play) -> None:
    def bare(request: Request) -> Message:
        message = author(request)
        arguments = json.loads(message.tool_calls[0].arguments)
        return call(message.tool_calls[0].name, **{k: v for k, v in arguments.items() if k != "program"})

    author = Author()
    record, requests = play(bare)
    assert "program" in requests[1].messages[-1].content
    assert (record.status, record.draft) == (Status.REJECTED, None)


def test_whoever_finds_nothing_to_ask_needs_no_program(play: Play) -> None:
    record, requests = play(lambda request: call("propose", question="", answer="", answer_type="number", hops=[]))
    assert (record.status, record.reason, len(requests)) == (Status.REJECTED, "no_draft", 1)


def test_a_seed_without_a_link_costs_no_call(play: Play) -> None:
    record, requests = play(Author(), "links.unlinked=0", linked=False)
    assert (record.status, record.reason, requests) == (Status.REJECTED, Stop.NO_WALK, [])


def test_strategies_mix_by_weight_whatever_their_order() -> None:
    keys = [sha256(str(n)) for n in range(3000)]
    drawn = Counter(draw("aggregate:1,walk:2", key) for key in keys)
    assert drawn["walk"] + drawn["aggregate"] == 3000
    assert 1900 < drawn["walk"] < 2100
    first, other = (config.build(values={"strategy": mix}) for mix in ("walk:2,aggregate", "aggregate:1, walk:2"))
    assert first.digest() == other.digest() != config.build(values={"strategy": "walk"}).digest()
    assert {draw("sage", key) for key in keys} == {"sage"}
    assert config.build(values={"strategy": "walk:7"}).digest() == config.build(values={"strategy": "walk"}).digest()


def test_a_seed_of_a_mix_names_the_strategy_that_it_drew(play: Play) -> None:
    record, requests = play(lambda request: call("propose", question="", hops=[]), strategy="aggregate:1,sage:9999")
    assert record.lineage.strategy == draw("aggregate:1,sage:9999", record.key) == "sage"
    assert "links" not in {tool.name for tool in requests[0].tools}
    record, _ = play(Author(), strategy="aggregate:9999,sage:1")
    assert (record.lineage.strategy, record.status) == ("aggregate", Status.ACCEPTED)


@pytest.mark.parametrize("mix", ["walk:0", "walk:2,walk:1", "walk:x", "", "walk,", "walk:2:1"])
def test_a_mix_that_is_none_is_a_mistake(mix: str) -> None:
    with pytest.raises(UsageError, match=r"^strategy[^\n]*walk:2,aggregate:1"):
        config.build(values={"strategy": mix})


def test_the_demo_model_writes_no_programs() -> None:
    with pytest.raises(UsageError, match="--model"):
        prepare.check(config.build(values={"strategy": "walk:2,aggregate:1"}))
    with pytest.raises(UsageError, match="no strategy 'nosuch'"):
        prepare.check(config.build(values={"strategy": "walk:2,nosuch:1"}))
