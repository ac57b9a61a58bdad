"""The refiner sees every check, finding and rollout, and nothing of the other split."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson

from pipeline import prompts
from pipeline.agents.graph_proposals import WordedGraphArguments
from pipeline.config.models import ModelConfig, Models
from pipeline.corpus.train_eval_split import side
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
from tests.loop.cast import FILM, HOLM, QUESTION, TOWN, Cast, make_context, make_proposal, make_seed, run
from tests.loop.checked_drafts import make_draft
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM


def find_passage(split: str, title: str, text: str) -> Passage:
    return next(p for n in range(1000) if side((p := passage(f"{title}{n}", title, text)).document_id) == split)


OTHER = find_passage("eval", "Secret Annals", "Vessby was founded in 1702.")
NEW = find_passage("train", "Vessby Tarn", "The Tarn runs through Vessby.")
OLD = [find_passage("train", f"Page{n}", f"Page{n} is long. " + "It says a lot. " * 60) for n in range(80)]
SHELF = Shelf(FILM, HOLM, TOWN, OTHER, NEW, *OLD)
REAL = ModelConfig(provider="openai", model="m")
SENT_BACK = Feedback(
    label=Label.UNSOUND, cause=Cause.AMBIGUOUS, message="'Secret Annals' gives another answer", hops=(2,)
)


def make_round(index: int, question: str = QUESTION, **update: Any) -> Round:
    read = tuple(p.id for p in (FILM, HOLM, TOWN, *OLD)) if index == 0 else ()
    searched = {"id": "c", "tool": "search", "argument": "page", "passage_ids": read}
    trace = Trajectory(messages=(), calls=(searched,) if read else (), stop=Stop.ANSWERED)  # type: ignore[arg-type]
    base = {"index": index, "agent": trace, "draft": make_draft(question), "feedback": SENT_BACK}
    return Round(**{**base, **update})


def revise(
    *rounds: Round, model: ModelConfig = REAL, sets: tuple[str, ...] = (), shelf: Shelf | None = None
) -> tuple[dict[str, Any], int]:
    """Return the refiner's inputs, and the tokens of its first request."""
    llm = ScriptedLLM(Cast(lambda question, sample: 3, [make_proposal("Another one, when was it settled?")]))
    context = make_context(llm, *sets, retriever=shelf or SHELF)
    context = replace(context, config=context.config.model_copy(update={"models": Models(default=model)}))
    asyncio.run(sage.revise(make_seed(), context, rounds))
    request = llm.requests[0]
    return prompts.unfence(request.messages[1].content) or {}, size(request.messages, request.tools)


SEARCHED = Searched(query=QUESTION, passage_ids=(OTHER.id, NEW.id, TOWN.id))


RIVAL = Finding(
    check="rival_answer", cause=Cause.AMBIGUOUS, hops=(2,), detail="'Secret Annals' says so", searches=(SEARCHED,)
)


def test_a_check_is_one_row_with_its_finding_and_the_ranks_of_cited_passages() -> None:
    probe = Probe(check="closed_book", model="m", answers=("1702",), right=0)
    inputs, _ = revise(make_round(0, findings=(RIVAL,), probes=(probe,)))
    finding, memory = inputs["drafts"][-1]["checks"]
    searches = [{"query": QUESTION, "found": "hops[2] at rank 3; 'Vessby Tarn'"}]
    assert (finding["check"], finding["searches"]) == ("rival_answer", searches)
    assert memory == {"check": "closed_book", "said": "answered '1702': wrong"}
    assert inputs["drafts"][-1]["feedback"]["cause"] == "ambiguous"


def test_a_check_with_a_finding_is_told_once_and_equal_probes_are_merged() -> None:
    recalled = [Probe(check="closed_book", model="m", answers=("Oslo",), right=0)] * 3
    grade = Probe(check="naturalness", model="m", answers=("2",), right=0)
    finding = Finding(check="naturalness", cause=Cause.UNNATURAL, detail="graded 2 of 5: stacked")
    inputs, _ = revise(make_round(0, findings=(finding,), probes=(grade, *recalled)))
    assert [(row["check"], row["said"]) for row in inputs["drafts"][-1]["checks"]] == [
        ("naturalness", "graded 2 of 5: stacked"),
        ("closed_book", "answered 'Oslo': wrong"),
    ]


def test_a_right_answer_from_memory_is_distinguished_from_one_with_the_evidence() -> None:
    probes = [
        Probe(check="closed_book", model="m", answers=("1641",), right=1),
        Probe(check="oracle", model="m", answers=("1641",), right=1, evidence=True),
        Probe(check="graph", model="m", answers=("no fault",), right=1),
    ]
    inputs, _ = revise(make_round(0, probes=tuple(probes)))
    assert {row["check"]: row["said"] for row in inputs["drafts"][-1]["checks"]} == {
        "closed_book": "answered '1641': right, by heart, which alone sends no draft back",
        "oracle": "answered '1641': right",
        "graph": "a reader of the steps said: no fault",
    }
    guess = probes[1].model_copy(update={"uncited": ("Ada Holm came from Vessby",)})
    inputs, _ = revise(make_round(0, probes=(guess,)))
    assert inputs["drafts"][-1]["checks"][0]["said"].endswith("right, but no passage states: Ada Holm came from Vessby")


def test_steps_are_shown_in_the_form_in_which_they_may_be_proposed() -> None:
    inputs, _ = revise(make_round(0))
    last = inputs["drafts"][-1]["steps"][-1]
    assert (last["answer"], last["passage_id"], last["sentences"]) == ("1641", TOWN.shown_id, [2])
    assert WordedGraphArguments.model_validate({"question": "?", "steps": inputs["drafts"][-1]["steps"]})


def test_nothing_of_the_other_split_is_shown_not_even_a_title() -> None:
    inputs, _ = revise(make_round(0, findings=(RIVAL,)))
    assert "Secret Annals" not in orjson.dumps(inputs).decode()
    assert OTHER.shown_id not in orjson.dumps(inputs).decode()


def test_only_cited_and_new_passages_are_shown_in_full() -> None:
    inputs, length = revise(make_round(0, findings=(RIVAL,)))
    assert [p["title"] for p in inputs["seen"]] == ["Lantern Bay", "Ada Holm", "Vessby", "Vessby Tarn"]
    assert not any(p.shown_id in orjson.dumps(inputs).decode() for p in OLD)
    assert length < 6_000
    assert sum(tokens(p.text) for p in OLD) > 12_000


def test_a_refiner_that_cannot_open_sees_more_in_full_and_the_demo_model_sees_all() -> None:
    inputs, _ = revise(make_round(0), sets=("loop.refiner_searches=false",))
    assert 4 < len(inputs["seen"]) < len(OLD)
    demo, _ = revise(make_round(0), model=ModelConfig())
    assert {p["title"] for p in demo["seen"]} >= {p.title for p in OLD}


def test_an_earlier_draft_is_reduced_to_question_answers_and_reason() -> None:
    rounds = [make_round(n, f"{QUESTION[:-1]}, number {n}?", findings=(RIVAL,)) for n in range(4)]
    inputs, _ = revise(*rounds)
    assert [set(draft) for draft in inputs["drafts"][:-1]] == [{"question", "steps", "feedback"}] * 3
    assert [step["answer"] for step in inputs["drafts"][0]["steps"]] == ["Ada Holm", "Vessby", "1641"]
    assert [draft["feedback"]["cause"] for draft in inputs["drafts"]] == ["ambiguous"] * 4
    assert inputs["drafts"][-1]["checks"][0]["searches"]


def test_searches_that_are_too_long_for_a_request_are_left_out() -> None:
    many = tuple(SEARCHED.model_copy(update={"query": f"{n} " + "long words " * 60}) for n in range(40))
    inputs, length = revise(make_round(0, findings=(RIVAL.model_copy(update={"searches": many}),)))
    assert inputs["drafts"][-1]["checks"] == [{"check": "rival_answer", "said": "[hidden title] says so"}]
    assert length < 6_000


def test_a_rollout_is_shown_with_its_queries_the_ranks_of_cited_passages_and_its_answer() -> None:
    cast = Cast(lambda question, sample: 2)
    past = run(cast, "loop.rounds=0", "loop.early_stop=false", "loop.audit=false").rounds[0]
    inputs, _ = revise(past)
    first = inputs["drafts"][-1]["rollouts"][0]
    assert (first["answer"], first["right"], first["steps"], first["stop"]) == ("1641", True, 2, "answered")
    assert first["calls"] == [
        {"query": "Lantern Bay", "found": "hops[0] at rank 1"},
        {"query": "founded monks", "found": "hops[2] at rank 1"},
    ]


def test_an_opened_document_is_named_once() -> None:
    ids = (FILM.id, *(passage(NEW.document_id, NEW.title, f"More {n}.", n).id for n in range(3)))
    opening = {"id": "c", "tool": "open", "argument": "p", "passage_ids": ids}
    trace = Trajectory(messages=(), calls=(opening,), stop=Stop.ANSWERED)  # type: ignore[arg-type]
    rollout = Rollout(sample=0, trajectory=trace, answer="1702")
    verdict = Verdict(
        sample=0, right=False, supported=False, method="none", steps=1, calls=1, hit_step=None, found_at=(1, None, None)
    )
    inputs, _ = revise(make_round(0, rollouts=(rollout,), verdicts=(verdict,)))
    (call,) = inputs["drafts"][-1]["rollouts"][0]["calls"]
    assert call == {"tool": "open", "found": "hops[0] at rank 1; 'Vessby Tarn'"}
