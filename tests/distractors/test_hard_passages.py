"""Distractors from the corpus: passages from deep in the hits, unchanged or altered in one place."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.agents.environment_file import environment
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import evaluate_distractors
from pipeline.distractors.encounters import encounters
from pipeline.distractors.hard_passages import build_overlay, candidates, plan_overlay
from pipeline.distractors.navigation import Navigation
from pipeline.distractors.writing_task import query, writing_task
from pipeline.exports.views import synthetic
from pipeline.llm.base import Request
from pipeline.types import DistractorEval, Message, Outcome, Passage
from tests.distractors.pair import DRAFT, FILM, HOLM, MILL, TOWN
from tests.distractors.test_accepted_pair import answer_as_solver
from tests.distractors.test_blind import REAL
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, is_synthetic, passage
from tests.records import accepted
from tests.scripted_llm import ScriptedLLM

HARLE = passage("harle", "Harle", "Harle is a town on the Oder. Harle was settled by fishermen in 1598.")
BRO = passage("bro", "Bro", "Bro is a parish. Its church was built in 1702 by Anna Lind, who died in 1759.")
SPECK = passage("speck", "Speck", "Speck is a town that was settled around 1641 too.")
WOOD = passage("wood", "Tarn Wood", "Tarn Wood is a wood. When it was felled is not known.")
NEAR = passage("near", "Vessby Abbey", "Vessby Abbey was founded when Vessby was settled. Vessby was rich by then.")
SHELF = Shelf(FILM, HOLM, TOWN, MILL, HARLE, BRO, SPECK, WOOD, NEAR)
K = 2


def make_context(*sets: str, model: Callable[[Request], Message] | None = None) -> RunContext:
    settings = config.build(sets=[*REAL, f"retrieval.k={K}", "distractors.rollouts=2", "distractors.hops=last", *sets])
    llm = ScriptedLLM(model or (lambda request: play(request, {})))
    return RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)


def reply(**fields: Any) -> Message:
    return Message(role="assistant", content=orjson.dumps(fields).decode())


def play(request: Request, choice: dict[str, Any], *, fits: bool = False) -> Message:
    """Play a solver that believes the first year it meets at even samples, and a generator that answers `choice`."""
    if request.tools:
        return answer_as_solver(request)
    name = request.output.name if request.output else ""
    if name in ("choose", "alter"):
        return reply(**choice)
    if name == "weigh":
        return reply(reason="so", fits=fits)
    if name == "detect":
        return reply(reason="", passage_id="")
    return reply(correct=False) if name == "verdict" else reply(answer="1641")


def evaluate(kind: str, choice: dict[str, Any], *sets: str, fits: bool = False) -> DistractorEval:
    kinds = f'distractors.kinds=["{kind}"]'
    context = make_context(kinds, *sets, model=lambda request: play(request, choice, fits=fits))
    evaluation = asyncio.run(evaluate_distractors(DRAFT, context))
    assert evaluation
    return evaluation


def find_candidates(*refused: Passage) -> Sequence[Passage]:
    async def look() -> list[Passage]:
        context = make_context()
        task = await writing_task(DRAFT, "hard_negative", 2, context)
        assert task
        excluded = (*task.excluded, *(source.document_id for source in refused))
        return await candidates(task.model_copy(update={"excluded": excluded}), context, ())

    return asyncio.run(look())


CHOSEN = {"reason": "another town", "passage_id": HARLE.shown_id, "claim": "1598"}
ALTERED = {
    "reason": "the name", "passage_id": HARLE.shown_id, "span": "Harle was", "replacement": "Vessby was",
    "claim": "1598", "mark": "on the Oder",
}  # fmt: skip


def test_candidates_are_beyond_the_hits_and_have_a_value_of_the_kind_but_no_answer() -> None:
    hits = [hit.passage.id for hit in asyncio.run(SHELF.search(query(DRAFT, 2), K))]
    assert hits == [NEAR.id, TOWN.id]
    assert [p.id for p in find_candidates()] == [HARLE.id, MILL.id, BRO.id]
    assert [p.id for p in find_candidates(HARLE)] == [MILL.id, BRO.id]


def test_a_passage_of_the_corpus_is_lifted_among_the_hits_unchanged() -> None:
    evaluation = evaluate("hard_negative", CHOSEN)
    (used,) = evaluation.used
    assert (used.id, used.text, used.unaltered, used.target) == (HARLE.id, HARLE.text, True, 2)
    assert [check.name for check in used.checks] == ["contradicts", "reachable", "untrue", "readable"]
    assert (evaluation.writer.calls, evaluation.reader.calls) == (0, 3)
    assert not any(HARLE.id in c.passage_ids for r in evaluation.without_distractors for c in r.trajectory.calls)
    assert all(HARLE.id in c.passage_ids for r in evaluation.with_distractors for c in r.trajectory.calls)
    assert [v.correct for v in evaluation.without_distractors_verdicts] == [True, True]
    met_first = [
        encounters(DRAFT, evaluation.used, r, correct=v.correct)[0]
        for r, v in zip(evaluation.with_distractors, evaluation.with_distractors_verdicts, strict=True)
    ]
    assert [encounter.outcome for encounter in met_first] == [Outcome.MISLED, Outcome.RESISTED]


def test_a_passage_of_the_corpus_is_not_exported_as_synthetic() -> None:
    evaluation = evaluate("hard_negative", CHOSEN)
    record = accepted(1)
    last = record.rounds[0].model_copy(update={"draft": DRAFT})
    record = record.model_copy(update={"distractor_eval": evaluation, "rounds": (last,)})
    (row,) = synthetic.rows(record, environment(config.build()))
    assert (row["synthetic"], row["passage_id"], row["competes_with"]) == (False, HARLE.id, TOWN.id)


@pytest.mark.parametrize("rank", ["among", "above"])
def test_the_rank_of_a_passage_is_a_setting(rank: str) -> None:
    evaluation = evaluate("hard_negative", CHOSEN, f"distractors.rank={rank}")
    over = build_overlay(SHELF, DRAFT, evaluation.used, make_context(f"distractors.rank={rank}").config.distractors)
    hits = asyncio.run(over.search(query(DRAFT, 2), K))
    assert len(hits) == K
    ids = [hit.passage.id for hit in hits]
    assert HARLE.id in ids
    if rank == "above":
        assert ids[0] == HARLE.id
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert asyncio.run(over.search("corn grinds", K)) == asyncio.run(SHELF.search("corn grinds", K))


def test_a_teacher_meets_a_passage_once_in_a_search() -> None:
    context = make_context()
    evaluation = evaluate("hard_negative", CHOSEN)
    over = plan_overlay(DRAFT, evaluation.used, context.config.distractors)
    navigation = Navigation(SHELF, over[0], context.config.teacher, "key", over[1])
    hits = asyncio.run(navigation.search(query(DRAFT, 2), 5))
    assert [hit.passage.id for hit in hits].count(HARLE.id) == 1
    assert len(hits) == 5


def test_a_reader_may_choose_no_passage_or_find_that_one_truly_answers() -> None:
    none = evaluate("hard_negative", {"passage_id": "", "claim": ""})
    assert (none.distractors, none.unwritten) == ((), ("hard_negative",))
    true = evaluate("hard_negative", CHOSEN, "distractors.tries=1", fits=True)
    assert [d.reason for d in true.distractors] == ["untrue"]
    assert true.without_distractors == ()


@pytest.mark.parametrize(("claim", "reason"), [("1599", "contradicts"), ("in 1598", "")])
def test_a_claim_is_copied_literally(claim: str, reason: str) -> None:
    evaluation = evaluate("hard_negative", {**CHOSEN, "claim": claim}, "distractors.tries=1")
    assert [d.reason for d in evaluation.distractors] == [reason]


@pytest.mark.parametrize("keep", [False, True])
def test_an_altered_passage_replaces_its_original_or_not(keep: bool) -> None:
    sets = f"distractors.keep_original={str(keep).lower()}"
    evaluation = evaluate("altered", ALTERED, sets)
    (used,) = evaluation.used
    assert used.text == "Harle is a town on the Oder. Vessby was settled by fishermen in 1598."
    assert (is_synthetic(used.id), used.unaltered, used.source_id) == (True, False, HARLE.id)
    assert {"marked", "no_living_person", "new", "blind"} <= {check.name for check in used.checks}
    over = build_overlay(SHELF, DRAFT, evaluation.used, make_context(sets).config.distractors)
    hits = [hit.passage.id for hit in asyncio.run(over.search("Harle town Oder", 9))]
    assert (HARLE.id in hits) is keep
    assert (asyncio.run(over.get(HARLE.id)) is not None) is keep
    assert bool(asyncio.run(over.document(HARLE.document_id))) is keep
    assert used.id in hits


@pytest.mark.parametrize("changed", [{"span": "Harle"}, {"span": "nowhere"}, {"replacement": "Harle was"}])
def test_an_alteration_that_fits_no_single_place_is_refused(changed: dict[str, str]) -> None:
    evaluation = evaluate("altered", {**ALTERED, **changed}, "distractors.tries=2")
    assert (evaluation.distractors, evaluation.unwritten) == ((), ("altered", "altered"))


def test_no_passage_about_a_living_person_is_offered_for_alteration() -> None:
    alive = passage("harle", "Harle", "Harle (born 1970) is a painter. Harle was settled by 1998 in Speck.")
    shelf = Shelf(*(alive if source is HARLE else source for source in SHELF.passages.values()))
    offered: list[Any] = []

    def record_offers(request: Request) -> Message:
        if request.output and request.output.name == "alter":
            offered.extend((prompts.unfence(request.messages[-1].content) or {})["passages"])
        return play(request, {**ALTERED, "passage_id": ""})

    context = make_context('distractors.kinds=["altered"]', model=record_offers)
    asyncio.run(evaluate_distractors(DRAFT, RunContext(context.config, context.llm, shelf, LINEAGE)))
    assert [entry["id"] for entry in offered] == [MILL.shown_id, BRO.shown_id]


def test_the_two_kinds_do_not_share_passages() -> None:
    def choose_or_alter(request: Request) -> Message:
        return play(request, CHOSEN if request.output and request.output.name == "choose" else ALTERED)

    context = make_context('distractors.kinds=["hard_negative", "altered"]', model=choose_or_alter)
    evaluation = asyncio.run(evaluate_distractors(DRAFT, context))
    assert evaluation
    assert len(evaluation.used) == 1
    assert len(evaluation.unwritten) == 1


def test_prompts_of_these_kinds_are_digested_only_in_their_runs() -> None:
    plain = config.build().digest_input()["prompts"]
    assert not any(name.startswith("hard_passage/") for name in plain)
    altered = config.build(sets=['distractors.kinds=["altered"]']).digest_input()["prompts"]
    assert {*altered} - {*plain} == {"hard_passage/altered"}
