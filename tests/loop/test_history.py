"""What the refiner is shown: what every check asked and found, the rollouts, and nothing of the other split."""

import asyncio
from typing import Any

import orjson

from pipeline import config, prompts
from pipeline.agents.graph_proposals import WordedGraphArguments
from pipeline.config.models import ModelConfig, Models
from pipeline.context import RunContext
from pipeline.corpus.split import side
from pipeline.llm.token_estimate import size, tokens
from pipeline.loop.strategies import sage
from pipeline.types import (
    Cause,
    Feedback,
    Finding,
    Label,
    Passage,
    Probe,
    Rollout,
    Round,
    Searched,
    Stop,
    Trajectory,
    Verdict,
)
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


def told(
    *rounds: Round, model: ModelConfig = REAL, sets: tuple[str, ...] = (), shelf: Shelf | None = None
) -> tuple[dict[str, Any], int]:
    """The refiner's inputs, and the tokens of its first request."""
    llm = ScriptedLLM(Cast(lambda question, sample: 3, [proposal("Another one, when was it settled?")]))
    settings = config.build(sets=["strategy='sage'", "difficulty.adversarial=false", *sets]).model_copy(
        update={"models": Models(default=model)}
    )
    context = RunContext(config=settings, llm=llm, retriever=shelf or SHELF, lineage=LINEAGE)
    asyncio.run(sage.revise(seeded(), context, rounds))
    request = llm.requests[0]
    return prompts.unfence(request.messages[1].content) or {}, size(request.messages, request.tools)


SEARCHED = Searched(query=QUESTION, passage_ids=(OTHER.id, NEW.id, TOWN.id))


RIVAL = Finding(
    check="rival_answer", cause=Cause.AMBIGUOUS, hops=(2,), detail="'Secret Annals' says so", searches=(SEARCHED,)
)


def test_a_check_is_one_row_with_what_it_found_and_the_ranks_of_what_is_cited() -> None:
    probe = Probe(check="closed_book", model="m", answers=("1702",), right=0)
    inputs, _ = told(round_(0, findings=(RIVAL,), probes=(probe,)))
    found, asked = inputs["drafts"][-1]["checks"]
    searches = [{"query": QUESTION, "found": "hops[2] at rank 3; 'Vessby Tarn'"}]
    assert (found["check"], found["searches"]) == ("rival_answer", searches)
    assert asked == {"check": "closed_book", "said": "answered '1702': wrong"}
    assert inputs["drafts"][-1]["feedback"]["cause"] == "ambiguous"


def test_a_reader_whose_check_found_something_is_not_told_twice_and_equal_probes_are_one() -> None:
    recalled = [Probe(check="closed_book", model="m", answers=("Oslo",), right=0)] * 3
    grade = Probe(check="naturalness", model="m", answers=("2",), right=0)
    finding = Finding(check="naturalness", cause=Cause.UNNATURAL, detail="graded 2 of 5: stacked")
    inputs, _ = told(round_(0, findings=(finding,), probes=(grade, *recalled)))
    assert [(row["check"], row["said"]) for row in inputs["drafts"][-1]["checks"]] == [
        ("naturalness", "graded 2 of 5: stacked"),
        ("closed_book", "answered 'Oslo': wrong"),
    ]


def test_who_is_right_without_the_evidence_is_told_from_who_read_it() -> None:
    probes = [
        Probe(check="closed_book", model="m", answers=("1641",), right=1),
        Probe(check="oracle", model="m", answers=("1641",), right=1, evidence=True),
        Probe(check="graph", model="m", answers=("no fault",), right=1),
    ]
    inputs, _ = told(round_(0, probes=tuple(probes)))
    assert {row["check"]: row["said"] for row in inputs["drafts"][-1]["checks"]} == {
        "closed_book": "answered '1641': right, by heart, which alone sends no draft back",
        "oracle": "answered '1641': right",
        "graph": "a reader of the steps said: no fault",
    }
    guess = probes[1].model_copy(update={"uncited": ("Ada Holm came from Vessby",)})
    inputs, _ = told(round_(0, probes=(guess,)))
    assert inputs["drafts"][-1]["checks"][0]["said"].endswith("right, but no passage states: Ada Holm came from Vessby")


def test_steps_are_shown_as_their_author_may_hand_them_in() -> None:
    inputs, _ = told(round_(0))
    last = inputs["drafts"][-1]["steps"][-1]
    assert (last["answer"], last["passage_id"], last["sentences"]) == ("1641", TOWN.shown_id, [2])
    assert WordedGraphArguments.model_validate({"question": "?", "steps": inputs["drafts"][-1]["steps"]})


def test_nothing_of_the_other_split_is_shown_not_even_a_title() -> None:
    inputs, _ = told(round_(0, findings=(RIVAL,)))
    assert "Secret Annals" not in orjson.dumps(inputs).decode()
    assert OTHER.shown_id not in orjson.dumps(inputs).decode()


def test_cited_and_new_passages_are_whole_and_no_other() -> None:
    inputs, length = told(round_(0, findings=(RIVAL,)))
    assert [p["title"] for p in inputs["seen"]] == ["Lantern Bay", "Ada Holm", "Vessby", "Vessby Tarn"]
    assert not any(p.shown_id in orjson.dumps(inputs).decode() for p in OLD)
    assert length < 6_000
    assert sum(tokens(p.text) for p in OLD) > 12_000


def test_who_cannot_open_has_more_of_them_whole_and_the_demo_model_has_all() -> None:
    inputs, _ = told(round_(0), sets=("loop.refiner_searches=false",))
    assert 4 < len(inputs["seen"]) < len(OLD)
    demo, _ = told(round_(0), model=ModelConfig())
    assert {p["title"] for p in demo["seen"]} >= {p.title for p in OLD}


def test_an_earlier_draft_is_its_question_its_answers_and_why_it_failed() -> None:
    rounds = [round_(n, f"{QUESTION[:-1]}, number {n}?", findings=(RIVAL,)) for n in range(4)]
    inputs, _ = told(*rounds)
    assert [set(draft) for draft in inputs["drafts"][:-1]] == [{"question", "steps", "feedback"}] * 3
    assert [step["answer"] for step in inputs["drafts"][0]["steps"]] == ["Ada Holm", "Vessby", "1641"]
    assert [draft["feedback"]["cause"] for draft in inputs["drafts"]] == ["ambiguous"] * 4
    assert inputs["drafts"][-1]["checks"][0]["searches"]


def test_searches_that_are_too_long_for_a_request_are_left_out() -> None:
    many = tuple(SEARCHED.model_copy(update={"query": f"{n} " + "long words " * 60}) for n in range(40))
    inputs, length = told(round_(0, findings=(RIVAL.model_copy(update={"searches": many}),)))
    assert inputs["drafts"][-1]["checks"] == [{"check": "rival_answer", "said": "[hidden title] says so"}]
    assert length < 6_000


def test_a_rollout_is_shown_with_its_queries_the_ranks_of_what_is_cited_and_its_answer() -> None:
    cast = Cast(lambda question, sample: 2)
    past = run(cast, "loop.rounds=0", "loop.early_stop=false", "loop.audit=false").rounds[0]
    inputs, _ = told(past)
    first = inputs["drafts"][-1]["rollouts"][0]
    assert (first["answer"], first["right"], first["steps"], first["stop"]) == ("1641", True, 2, "answered")
    assert first["calls"] == [
        {"query": "Lantern Bay", "found": "hops[0] at rank 1"},
        {"query": "founded monks", "found": "hops[2] at rank 1"},
    ]


def test_an_opened_document_is_named_once() -> None:
    ids = (FILM.id, *(passage(NEW.document_id, NEW.title, f"More {n}.", n).id for n in range(3)))
    opened = {"id": "c", "tool": "open", "argument": "p", "passage_ids": ids}
    trace = Trajectory(messages=(), calls=(opened,), stop=Stop.ANSWERED)  # type: ignore[arg-type]
    rollout = Rollout(sample=0, trajectory=trace, answer="1702")
    verdict = Verdict(
        sample=0, right=False, supported=False, method="none", steps=1, calls=1, hit_step=None, found_at=(1, None, None)
    )
    inputs, _ = told(round_(0, rollouts=(rollout,), verdicts=(verdict,)))
    (only,) = inputs["drafts"][-1]["rollouts"][0]["calls"]
    assert only == {"tool": "open", "found": "hops[0] at rank 1; 'Vessby Tarn'"}
