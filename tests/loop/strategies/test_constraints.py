"""A thing is hidden behind clues of several documents; what one of them and what all but one fit decides its fate."""

import asyncio
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline import config, corpus, prompts
from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.config.strategy_mix import draw
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.errors import FormatError, UsageError
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import aggregate, constraints
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.types import CONSTRAINTS, AnswerType, Draft, Hop, Message, Record, Seed, Status, Stop, sha256
from tests.loop.strategies.test_walk import NAMES
from tests.loop.test_episode import LINEAGE, call
from tests.scripted import ScriptedLLM

FACTS = (
    ("was buried near Mount Orm", "was buried near Mount Ilk"),
    ("learnt at the school of Esker", "learnt at the school of Brask"),
    ("won the Tarnholt prize", "won the Quendal prize"),
)
"""Of each kind every painter has one."""
OPENINGS = ("old stones stand there", "chalk was dear then", "silver medals are rare")


@pytest.fixture(scope="module")
def painters(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Painters with each choice of facts, so that any two facts are those of two and all three those of one; each fact
    stands in a document of its own. Who had a prize in one year share only that. And notes that nothing links."""
    folder: Path = tmp_path_factory.mktemp("painters")
    rows = []
    for n, choice in enumerate(product((0, 1), repeat=len(FACTS))):
        dated = "", "", f" of {1901 + (choice[0] ^ choice[1])}"
        for kind, which in enumerate(choice):
            fact = f"Then a painter, Ada {NAMES[n]}holm, {FACTS[kind][which]}{dated[kind]}."
            text = f"On page {n} it says that {OPENINGS[kind]}. {fact}"
            rows.append((f"page{n}-{kind}", f"Leaf {NAMES[8 + 3 * n + kind]}", text))
        rows.append((f"note{n}", f"Note {n}", "when rain falls one goes home early"))
    told = [json.dumps({"id": key, "title": title, "text": text}) for key, title, text in rows]
    (folder / "painters.jsonl").write_text("\n".join(told))
    return corpus.load(corpus.resolve(str(folder / "painters.jsonl")), folder)


def loose(fact: str, page: str) -> str:
    return f"Who {fact.partition(' of 19')[0]}?"


def dated(fact: str, page: str) -> str:
    return f"Who {fact}?"


def paged(fact: str, page: str) -> str:
    return f"{loose(fact, page)[:-1]} on page {page}?" if "prize" in fact else loose(fact, page)


class Author:
    """Plays all roles. As author it hides the painter whom a link names behind the facts of three documents, in its
    first draft by the clues that `first` makes of them; the solver searches for one clue after the other."""

    def __init__(self, first: Callable[[str, str], str] = loose) -> None:
        self.ask = first
        self.draft, self.given = dict[str, Any](), dict[str, Any]()
        self.asked = list[Request]()

    def __call__(self, request: Request) -> Message:
        turns = sum(message.role == "assistant" for message in request.messages)
        told = prompts.unfence(request.messages[1].content) or {}
        if request.output:
            return Message(role="assistant", content=orjson.dumps({"items": fitting(**told)}).decode())
        if request.tools[-1].name == "answer":
            queries = [f"{hop['answer']} {hop['sub_question']}" for hop in self.draft["hops"]]
            answered = turns == len(queries)
            return call("answer", answer=self.draft["answer"]) if answered else call("search", query=queries[turns])
        self.asked.append(request)
        self.given = told if "links" in told else self.given
        self.draft = hiding(self.given, self.ask, len(self.asked))
        self.ask = loose
        return call(request.tools[-1].name, **self.draft)


def hiding(told: dict[str, Any], ask: Callable[[str, str], str], number: int) -> dict[str, Any]:
    who, linked = next((one["phrase"], one["passages"]) for one in told["links"] if one["phrase"].endswith("holm"))
    hops = []
    for one in {one["id"]: one for one in (told["passage"], *linked)}.values():
        page, fact = re.findall(r"page (\d+)", one["text"])[0], one["text"].partition("holm, ")[2].rstrip(".")
        quote = one["text"].split(". ", 1)[1]
        hops.append({"sub_question": ask(fact, page), "answer": who, "passage_id": one["id"], "quote": quote})
    said = ", and ".join(hop["sub_question"][4:-1] for hop in hops)
    question = f"In draft {number} a painter {said}. Who was it?"
    return {"question": question, "answer": who, "answer_type": "entity", "family": "conjunction", "hops": hops}


def fitting(clues: list[str], passages: list[dict[str, str]]) -> list[dict[str, str]]:
    """What a reader finds: the painters of whom the passages tell all that the clues ask."""
    wanted = [re.findall(r"Who (.+?)(?: on (page \d+))?\?", clue)[0] for clue in clues]
    painted = {one["id"]: re.findall(r"Ada \w+", one["text"]) for one in passages}
    found = {}
    for i, who in ((i, names[0]) for i, names in painted.items() if names):
        told = [one["text"] for one in passages if painted[one["id"]] == [who]]
        if all(any(f"{who}, {fact}" in text and page in text for text in told) for fact, page in wanted):
            found[who] = {"item": who, "passage": i}
    return list(found.values())


Play = Callable[..., tuple[Record, list[Request]]]


@pytest.fixture(scope="module")
def play(painters: Corpus) -> Play:
    """Runs the seed of the first page that a painter joins with two others, or of a note that none does."""
    retriever = Bm25Retriever(painters)

    def played(
        author: Callable[[Request], Message], *sets: str, linked: bool = True, strategy: str = "constraints"
    ) -> tuple[Record, list[Request]]:
        usual = "retrieval.k=3", "loop.rollouts=1", "loop.screen=1", 'checks.run=["clues"]'
        settings, llm = config.build(values={"strategy": strategy}, sets=[*usual, *sets]), ScriptedLLM(author)
        context = RunContext(settings, llm, retriever, LINEAGE, walks=prepare.walks(settings, painters))
        train = [passage for passage in painters.passages if side(passage.document_id) == "train"]
        made = (
            Seed(key=sha256(p.id), passage=p, draw=0, side="train", answer_type=AnswerType.ENTITY, target_steps=3)
            for p in train
        )
        seed = next(one for one in made if bool(aggregate.joined(one, context)) is linked)
        return asyncio.run(run_seed(seed, context)), llm.requests

    return played


def test_clues_that_fit_several_things_and_one_together_become_a_pair(play: Play) -> None:
    record, requests = play(author := Author())
    assert (record.status, record.reason, record.lineage.strategy) == (Status.ACCEPTED, "", "constraints")
    assert {tool.name for tool in requests[0].tools} == {"links", "search", "open", "check", "propose"}
    assert prompts.note("refiner/_operators") in requests[0].messages[0].content
    draft = record.draft
    assert draft
    assert draft.family == CONSTRAINTS, "whatever its author calls it"
    assert reasoning(draft) is Reasoning.CONJUNCTION
    assert record.seed.passage.id in {hop.passage_id for hop in draft.hops}
    assert len({hop.passage_id for hop in draft.hops}) == 3
    assert record.last
    fits = {probe.hops: set(probe.answers) for probe in record.last.probes if probe.check == "clues"}
    assert [len(fits[number,]) for number in range(3)] == [4, 4, 4], "how many things each clue fits"
    assert fits[0,] & fits[1,] & fits[2,] == {author.draft["answer"]}


def test_a_clue_that_fits_one_thing_alone_is_sent_back_by_name(play: Play) -> None:
    record, _ = play(author := Author(first=paged))
    back, again = record.rounds
    assert back.feedback
    (finding,) = [one for one in back.findings if one.fatal]
    assert finding.check == "not_a_clue"
    assert re.match(r"not_a_clue: 'Who won the \w+ prize on page \d\?' is not a clue", back.feedback.message)
    assert back.rollouts == ()
    assert (again.feedback, record.status) == (None, Status.ACCEPTED)
    system = author.asked[1].messages[0].content
    assert all(prompts.note(name) in system for name in ("constraints/_write", "refiner/_operators"))
    assert {tool.name for tool in author.asked[1].tools} == {"links", "search", "open", "check", "revise"}


def test_clues_of_which_all_but_one_suffice_are_sent_back(play: Play) -> None:
    record, _ = play(Author(first=dated))
    back, again = record.rounds
    assert {one.check for one in back.findings if one.fatal} == {"needless_clue"}
    assert back.feedback
    assert "fit 'Ada" in back.feedback.message
    assert back.rollouts == ()
    assert (again.feedback, record.status) == (None, Status.ACCEPTED)


def test_the_same_seed_gives_the_same_bytes(play: Play) -> None:
    one, other = (play(Author(first=dated))[0] for _ in range(2))
    assert one.model_dump_json() == other.model_dump_json()


def test_a_chain_is_no_set_of_clues(play: Play) -> None:
    def chained(request: Request) -> Message:
        message = author(request)
        made = json.loads(message.tool_calls[0].arguments)
        made["hops"][:2] = [hop | {"answer": f"painter {n}"} for n, hop in enumerate(made["hops"][:2])]
        return call(message.tool_calls[0].name, **made)

    author = Author()
    record, requests = play(chained)
    assert "2 to 4 hops are clues" in requests[1].messages[-1].content
    assert (record.status, record.draft) == (Status.REJECTED, None)


def test_a_clue_says_no_name_that_the_question_does_not(play: Play) -> None:
    def told_more(request: Request) -> Message:
        message = author(request)
        made = json.loads(message.tool_calls[0].arguments)
        made["hops"][0]["sub_question"] = made["hops"][0]["sub_question"][:-1] + ", such as Kessel?"
        return call(message.tool_calls[0].name, **made)

    author = Author()
    record, requests = play(told_more)
    assert "such as Kessel?' says 'Kessel', and the question does not" in requests[1].messages[-1].content
    assert (record.status, record.draft) == (Status.REJECTED, None)


@pytest.mark.parametrize(
    ("clue", "untold"),
    [
        ("Welcher Hafen am Tarn ist eine Gründung von Mönchen?", ""),
        ("Welcher Hafen liegt an der Quelle des Tarns?", ""),
        ("Welcher Hafen am Tarn ist eine Gründung von Kessel?", "Kessel"),
        ("Welcher Hafen ist eine Gründung der Mönche Vessbys?", "Vessbys"),
        ("Welcher Hafen am Tarn wurde um 1641 gegründet?", "1641"),
        ("Which port on the Tarn was one of the Foundations of monks?", "Foundations"),
    ],
)
def test_a_noun_is_no_name_where_every_noun_has_a_capital(clue: str, untold: str) -> None:
    english = clue.startswith("Which")
    asked = "A port lies on the Tarn." if english else "Ein Hafen liegt am Tarn. Er wurde von Mönchen gegründet."
    which = "Which port is it?" if english else "Welcher Hafen ist es?"
    titles = ("Vessby (Gründung)", "Kessel")
    hops = [
        Hop(sub_question=said, answer="Orm", passage_id=title, title=title, quote="Orm", passage_sha256="")
        for said, title in zip((clue, which), titles, strict=True)
    ]
    question = f"{asked} {which}"
    draft = Draft(question=question, answer="Orm", answer_type=AnswerType.ENTITY, hops=tuple(hops), family=CONSTRAINTS)
    if untold:
        with pytest.raises(FormatError, match=f"says '{untold}', and the question does not"):
            constraints._hidden(draft)
    else:
        constraints._hidden(draft)


@pytest.mark.parametrize(
    ("question", "clue", "untold"),
    [
        ("1998년 개봉한 영화의 감독은 부산 출신이다. 누구인가?", "어떤 감독이 1998년에 영화를 만들었나?", ""),
        ("1998年に公開された映画の監督は、東京の出身である。誰か？", "どの監督が、1998年に映画を作ったか？", ""),
        ("어느 해 개봉한 영화의 감독은 부산 출신이다. 누구인가?", "어떤 감독이 1998년에 영화를 만들었나?", "1998"),
    ],
)
def test_a_number_is_a_word_whatever_is_written_on_to_it(question: str, clue: str, untold: str) -> None:
    hops = [Hop(sub_question=clue, answer="Orm", passage_id="a", title="A", quote="Orm", passage_sha256="")] * 2
    draft = Draft(question=question, answer="Orm", answer_type=AnswerType.ENTITY, hops=tuple(hops), family=CONSTRAINTS)
    assert constraints._untold(draft, 0) == untold


def test_a_seed_without_a_link_costs_no_call(play: Play) -> None:
    record, requests = play(Author(), "links.unlinked=0", linked=False)
    assert (record.status, record.reason, requests) == (Status.REJECTED, Stop.NO_WALK, [])


def test_it_mixes_with_others_and_its_prompts_are_part_of_no_other_run(play: Play) -> None:
    mix = "constraints:1,walk:9999"
    record, _ = play(lambda request: call("propose", question="", hops=[]), strategy=mix)
    assert record.lineage.strategy == draw(mix, record.key) == "walk"
    asked = {name: set(config.build(values={"strategy": name}).digested()["prompts"]) for name in (mix, "walk")}
    assert asked[mix] - asked["walk"] == {"generator/constraints", "constraints/fit", "constraints/_write"}


def test_the_demo_model_writes_no_clues() -> None:
    with pytest.raises(UsageError, match=r"^strategy constraints: .*--model"):
        prepare.check(config.build(values={"strategy": "walk:2,constraints:1"}))
