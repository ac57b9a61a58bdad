"""Distractors that the corpus gives: passages from deep in the hits as they stand, and ones altered in one place."""

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
from tests.distractors.test_accepted_pair import solver
from tests.distractors.test_blind import REAL
from tests.distractors.test_checks import DRAFT, FILM, HOLM, MILL, TOWN
from tests.loop.cast import LINEAGE
from tests.records import accepted
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage
from tests.shelf import synthetic as is_synthetic

HARLE = passage("harle", "Harle", "Harle is a town on the Oder. Harle was settled by fishermen in 1598.")
BRO = passage("bro", "Bro", "Bro is a parish. Its church was built in 1702 by Anna Lind, who died in 1759.")
SPECK = passage("speck", "Speck", "Speck is a town that was settled around 1641 too.")
WOOD = passage("wood", "Tarn Wood", "Tarn Wood is a wood. When it was felled is not known.")
NEAR = passage("near", "Vessby Abbey", "Vessby Abbey was founded when Vessby was settled. Vessby was rich by then.")
SHELF = Shelf(FILM, HOLM, TOWN, MILL, HARLE, BRO, SPECK, WOOD, NEAR)
K = 2


def context(*sets: str, model: Callable[[Request], Message] | None = None) -> RunContext:
    settings = config.build(sets=[*REAL, f"retrieval.k={K}", "distractors.rollouts=2", "distractors.hops=last", *sets])
    llm = ScriptedLLM(model or (lambda request: answering(request, {})))
    return RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)


def said(**fields: Any) -> Message:
    return Message(role="assistant", content=orjson.dumps(fields).decode())


def answering(request: Request, made: dict[str, Any], *, fits: bool = False) -> Message:
    """A cast whose solver believes the first year that it meets at even samples, and whose author says `made`."""
    if request.tools:
        return solver(request)
    name = request.output.name if request.output else ""
    if name in ("choose", "alter"):
        return said(**made)
    if name == "weigh":
        return said(reason="so", fits=fits)
    if name == "detect":
        return said(reason="", passage_id="")
    return said(correct=False) if name == "verdict" else said(answer="1641")


def evaluated(kind: str, made: dict[str, Any], *sets: str, fits: bool = False) -> DistractorEval:
    held = context(f'distractors.kinds=["{kind}"]', *sets, model=lambda request: answering(request, made, fits=fits))
    found = asyncio.run(evaluate_distractors(DRAFT, held))
    assert found
    return found


def found(*refused: Passage) -> Sequence[Passage]:
    async def look() -> list[Passage]:
        held = context()
        task = await writing_task(DRAFT, "hard_negative", 2, held)
        assert task
        excluded = (*task.excluded, *(one.document_id for one in refused))
        return await candidates(task.model_copy(update={"excluded": excluded}), held, ())

    return asyncio.run(look())


CHOSEN = {"reason": "another town", "passage_id": HARLE.shown_id, "claim": "1598"}
ALTERED = {
    "reason": "the name", "passage_id": HARLE.shown_id, "span": "Harle was", "replacement": "Vessby was",
    "claim": "1598", "mark": "on the Oder",
}  # fmt: skip


def test_candidates_lie_beyond_the_hits_and_hold_a_value_of_the_kind_but_no_answer() -> None:
    shown = [hit.passage.id for hit in asyncio.run(SHELF.search(query(DRAFT, 2), K))]
    assert shown == [NEAR.id, TOWN.id]
    assert [p.id for p in found()] == [HARLE.id, MILL.id, BRO.id]
    assert [p.id for p in found(HARLE)] == [MILL.id, BRO.id]


def test_a_passage_of_the_corpus_is_lifted_among_the_hits_as_it_stands() -> None:
    made = evaluated("hard_negative", CHOSEN)
    (used,) = made.used
    assert (used.id, used.text, used.unaltered, used.target) == (HARLE.id, HARLE.text, True, 2)
    assert [check.name for check in used.checks] == ["contradicts", "reachable", "untrue", "readable"]
    assert (made.writer.calls, made.reader.calls) == (0, 3)
    assert not any(HARLE.id in c.passage_ids for r in made.without_distractors for c in r.trajectory.calls)
    assert all(HARLE.id in c.passage_ids for r in made.with_distractors for c in r.trajectory.calls)
    assert [v.correct for v in made.without_distractors_verdicts] == [True, True]
    met = [
        encounters(DRAFT, made.used, r, correct=v.correct)[0]
        for r, v in zip(made.with_distractors, made.with_distractors_verdicts, strict=True)
    ]
    assert [one.outcome for one in met] == [Outcome.MISLED, Outcome.RESISTED]


def test_it_is_exported_as_what_it_is() -> None:
    made = evaluated("hard_negative", CHOSEN)
    record = accepted(1)
    record = record.model_copy(
        update={
            "distractor_eval": made,
            "rounds": (record.rounds[0].model_copy(update={"draft": DRAFT}),),
        }
    )
    (row,) = synthetic.rows(record, environment(config.build()))
    assert (row["synthetic"], row["passage_id"], row["competes_with"]) == (False, HARLE.id, TOWN.id)


@pytest.mark.parametrize("rank", ["among", "above"])
def test_it_stands_where_the_setting_says(rank: str) -> None:
    made = evaluated("hard_negative", CHOSEN, f"distractors.rank={rank}")
    over = build_overlay(SHELF, DRAFT, made.used, context(f"distractors.rank={rank}").config.distractors)
    hits = asyncio.run(over.search(query(DRAFT, 2), K))
    assert len(hits) == K
    places = [hit.passage.id for hit in hits]
    assert HARLE.id in places
    if rank == "above":
        assert places[0] == HARLE.id
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert asyncio.run(over.search("corn grinds", K)) == asyncio.run(SHELF.search("corn grinds", K))


def test_a_teacher_meets_it_once_in_a_search() -> None:
    held = context()
    made = evaluated("hard_negative", CHOSEN)
    over = plan_overlay(DRAFT, made.used, held.config.distractors)
    navigation = Navigation(SHELF, over[0], held.config.teacher, "key", over[1])
    hits = asyncio.run(navigation.search(query(DRAFT, 2), 5))
    assert [hit.passage.id for hit in hits].count(HARLE.id) == 1
    assert len(hits) == 5


def test_a_reader_may_hold_that_none_will_do_or_that_it_truly_answers() -> None:
    none = evaluated("hard_negative", {"passage_id": "", "claim": ""})
    assert (none.distractors, none.unwritten) == ((), ("hard_negative",))
    true = evaluated("hard_negative", CHOSEN, "distractors.tries=1", fits=True)
    assert [d.reason for d in true.distractors] == ["untrue"]
    assert true.without_distractors == ()


@pytest.mark.parametrize(("claim", "reason"), [("1599", "contradicts"), ("in 1598", "")])
def test_a_claim_is_copied_letter_by_letter(claim: str, reason: str) -> None:
    made = evaluated("hard_negative", {**CHOSEN, "claim": claim}, "distractors.tries=1")
    assert [d.reason for d in made.distractors] == [reason]


@pytest.mark.parametrize("keep", [False, True])
def test_a_passage_is_altered_in_one_place_and_its_original_goes_or_stays(keep: bool) -> None:
    sets = f"distractors.keep_original={str(keep).lower()}"
    made = evaluated("altered", ALTERED, sets)
    (used,) = made.used
    assert used.text == "Harle is a town on the Oder. Vessby was settled by fishermen in 1598."
    assert (is_synthetic(used.id), used.unaltered, used.source_id) == (True, False, HARLE.id)
    assert {"marked", "no_living_person", "new", "blind"} <= {check.name for check in used.checks}
    over = build_overlay(SHELF, DRAFT, made.used, context(sets).config.distractors)
    hits = [hit.passage.id for hit in asyncio.run(over.search("Harle town Oder", 9))]
    assert (HARLE.id in hits) is keep
    assert (asyncio.run(over.get(HARLE.id)) is not None) is keep
    assert bool(asyncio.run(over.document(HARLE.document_id))) is keep
    assert used.id in hits


@pytest.mark.parametrize("changed", [{"span": "Harle"}, {"span": "nowhere"}, {"replacement": "Harle was"}])
def test_what_is_no_single_place_is_never_altered(changed: dict[str, str]) -> None:
    made = evaluated("altered", {**ALTERED, **changed}, "distractors.tries=2")
    assert (made.distractors, made.unwritten) == ((), ("altered", "altered"))


def test_no_passage_of_a_living_person_is_offered_to_be_altered() -> None:
    alive = passage("harle", "Harle", "Harle (born 1970) is a painter. Harle was settled by 1998 in Speck.")
    shelf = Shelf(*(alive if one is HARLE else one for one in SHELF.passages.values()))
    offered: list[Any] = []

    def asked(request: Request) -> Message:
        if request.output and request.output.name == "alter":
            offered.extend((prompts.unfence(request.messages[-1].content) or {})["passages"])
        return answering(request, {**ALTERED, "passage_id": ""})

    held = context('distractors.kinds=["altered"]', model=asked)
    asyncio.run(evaluate_distractors(DRAFT, RunContext(held.config, held.llm, shelf, LINEAGE)))
    assert [one["id"] for one in offered] == [MILL.shown_id, BRO.shown_id]


def test_both_kinds_take_passages_of_their_own() -> None:
    def play(request: Request) -> Message:
        return answering(request, CHOSEN if request.output and request.output.name == "choose" else ALTERED)

    held = context('distractors.kinds=["hard_negative", "altered"]', model=play)
    made = asyncio.run(evaluate_distractors(DRAFT, held))
    assert made
    assert len(made.used) == 1
    assert len(made.unwritten) == 1


def test_prompts_of_these_kinds_change_no_other_run() -> None:
    plain = config.build().digest_input()["prompts"]
    assert not any(name.startswith("hard_passage/") for name in plain)
    asked = config.build(sets=['distractors.kinds=["altered"]']).digest_input()["prompts"]
    assert {*asked} - {*plain} == {"hard_passage/altered"}
