"""What the refiner is shown: what every check asked and found, the rollouts, and nothing of the other split."""

import asyncio
from typing import Any

import orjson

from pipeline import config, prompts
from pipeline.config.models import ModelConfig, Models
from pipeline.context import RunContext
from pipeline.corpus.split import side
from pipeline.llm.tokens import size, tokens
from pipeline.loop.strategies import sage
from pipeline.types import Cause, Feedback, Finding, Label, Passage, Probe, Round, Searched, Stop, Trajectory
from tests.loop.test_draft_check import draft
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, TOWN, Cast, proposal, run, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage


def of_side(name: str, title: str, text: str) -> Passage:
    return next(p for n in range(1000) if side((p := passage(f"{title}{n}", title, text)).document_id) == name)


OTHER = of_side("eval", "Secret Annals", "Vessby was founded in 1702.")
NEW = of_side("train", "Vessby Tarn", "The Tarn runs through Vessby.")
OLD = [of_side("train", f"Page{n}", f"Page{n} is long. " + "It says a lot. " * 60) for n in range(80)]
SHELF = Shelf(FILM, HOLM, TOWN, OTHER, NEW, *OLD)
REAL = ModelConfig(provider="openai", model="m")
SENT_BACK = Feedback(
    label=Label.UNSOUND, cause=Cause.AMBIGUOUS, message="'Secret Annals' gives another answer", hops=(2,)
)


def round_(index: int, question: str = QUESTION, **update: Any) -> Round:
    read = tuple(p.id for p in (FILM, HOLM, TOWN, *OLD)) if index == 0 else ()
    searched = {"id": "c", "tool": "search", "argument": "page", "passage_ids": read}
    trace = Trajectory(messages=(), calls=(searched,) if read else (), stop=Stop.ANSWERED)  # type: ignore[arg-type]
    base = {"index": index, "agent": trace, "draft": draft(question), "feedback": SENT_BACK}
    return Round(**{**base, **update})


def told(*rounds: Round, model: ModelConfig = REAL, sets: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    """The refiner's inputs, and the tokens of its first request."""
    llm = ScriptedLLM(Cast(lambda question, sample: 3, [proposal("Another one, when was it settled?")]))
    settings = config.build(sets=list(sets)).model_copy(update={"models": Models(default=model)})
    context = RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)
    asyncio.run(sage.revise(seeded(), context, rounds, SENT_BACK))
    request = llm.requests[0]
    return prompts.unfence(request.messages[1].content) or {}, size(request.messages, request.tools)


SEARCHED = Searched(query=QUESTION, passage_ids=(OTHER.id, NEW.id, TOWN.id))


def test_every_check_says_what_it_asked_and_found_and_which_of_it_is_cited() -> None:
    probe = Probe(check="naive_rag", model="m", answers=("1702",), right=0, searches=(SEARCHED,))
    finding = Finding(
        check="another_answer", cause=Cause.AMBIGUOUS, fatal=True, hops=(2,), detail="'Secret Annals' says so",
        searches=(SEARCHED,),
    )  # fmt: skip
    inputs, _ = told(round_(0, findings=(finding,), probes=(probe,)))
    asked, found = inputs["drafts"][-1]["checks"]
    assert (asked["check"], asked["answers"], asked["right"]) == ("naive_rag", ["1702"], 0)
    assert asked["searches"] == [{"query": QUESTION, "hits": ["2. Vessby Tarn", "3. Vessby = hops[2]"]}]
    assert (found["check"], found["hops"], found["fatal"]) == ("another_answer", [2], True)
    assert found["searches"] == asked["searches"]
    assert inputs["drafts"][-1]["feedback"]["cause"] == "ambiguous"


def test_nothing_of_the_other_split_is_shown_not_even_a_title() -> None:
    finding = Finding(
        check="another_answer", cause=Cause.AMBIGUOUS, fatal=True, hops=(2,), detail="'Secret Annals' says so",
        searches=(SEARCHED,),
    )  # fmt: skip
    inputs, _ = told(round_(0, findings=(finding,)))
    assert "Secret Annals" not in orjson.dumps(inputs).decode()
    assert OTHER.shown_id not in orjson.dumps(inputs).decode()


def test_cited_and_new_passages_are_whole_and_of_the_rest_a_title_of_each_document() -> None:
    probe = Probe(check="naive_rag", model="m", answers=("",), right=0, searches=(SEARCHED,))
    inputs, length = told(round_(0, probes=(probe,)))
    assert [p["title"] for p in inputs["seen"]] == ["Lantern Bay", "Ada Holm", "Vessby", "Vessby Tarn"]
    assert [p["id"] for p in inputs["titles"][:2]] == [OLD[-1].shown_id, OLD[-2].shown_id]
    assert len(inputs["titles"]) == 60
    assert length < 12_000
    assert sum(tokens(p.text) for p in OLD) > 12_000


def test_a_passage_of_the_titles_can_be_opened() -> None:
    from tests.loop.test_episode import call

    said = iter([call("open", passage_id=OLD[-1].shown_id), call("revise", **proposal("When was it, roughly?"))])
    context = RunContext(
        config=config.build().model_copy(update={"models": Models(default=REAL)}),
        llm=(llm := ScriptedLLM(lambda request: next(said))), retriever=SHELF, lineage=LINEAGE,
    )  # fmt: skip
    done = asyncio.run(sage.revise(seeded(), context, [round_(0)], SENT_BACK))
    assert OLD[-1].text.strip() in llm.requests[1].messages[-1].content
    assert done.draft is not None


def test_who_cannot_open_has_more_of_them_whole_and_the_demo_model_has_all() -> None:
    inputs, _ = told(round_(0), sets=("loop.refiner_searches=false",))
    assert inputs["titles"] == []
    assert 4 < len(inputs["seen"]) < len(OLD)
    demo, _ = told(round_(0), model=ModelConfig())
    assert {p["title"] for p in demo["seen"]} >= {p.title for p in OLD}


def test_earlier_drafts_keep_why_they_failed_and_lose_their_searches_where_there_is_no_room() -> None:
    many = tuple(SEARCHED.model_copy(update={"query": f"{n} " + "long words " * 60}) for n in range(20))
    probe = Probe(check="naive_rag", model="m", answers=("1702",), right=0, searches=many)
    rounds = [round_(n, f"{QUESTION[:-1]}, number {n}?", probes=(probe,)) for n in range(4)]
    inputs, length = told(*rounds)
    assert [draft["feedback"]["cause"] for draft in inputs["drafts"]] == ["ambiguous"] * 4
    assert ["searches" in draft["checks"][0] for draft in inputs["drafts"]] == [False, False, False, True]
    assert all(draft["checks"][0]["answers"] == ["1702"] for draft in inputs["drafts"])
    assert length < 24_000


def test_a_rollout_is_shown_with_its_queries_the_titles_found_and_its_answer() -> None:
    cast = Cast(lambda question, sample: 2)
    past = run(cast, "loop.rounds=0", "loop.early_stop=false", "loop.audit=false").rounds[0]
    inputs, _ = told(past)
    first = inputs["drafts"][-1]["rollouts"][0]
    assert (first["answer"], first["right"], first["steps"], first["stop"]) == ("1641", True, 2, "answered")
    assert first["calls"] == [
        {"tool": "search", "query": "Lantern Bay", "hits": ["1. Lantern Bay = hops[0]"]},
        {"tool": "search", "query": "Tarn monks", "hits": ["1. Vessby = hops[2]"]},
    ]
