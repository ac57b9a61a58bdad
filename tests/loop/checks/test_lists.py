"""Answers that are no short span: a list is complete over the corpus, and yes, no or a choice rests on all its hops."""

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.tools import render
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.strategies.base import to_draft
from pipeline.types import (
    Call,
    Draft,
    Message,
    Passage,
    Rollout,
    Stop,
    Trajectory,
)
from tests.loop.test_episode import FILM, HOLM, LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

ORDER = passage(
    "order", "Brothers of Vessby", "Monks of old. The founders of Vessby were Olaf Grim, Per Dal and Ivar Lund."
)
PLACE = passage("place", "Ada Holm's town", "A note. Ada Holm grew up in Vessby.")
STONE = passage("stone", "Memorial stone", "It stands at the quay. The stone says that Finn Moe too founded Vessby.")
RIVER = passage("river", "Tarn", "A river. Vessby lies on the Tarn and its people fish.")
SHELF = Shelf(FILM, HOLM, ORDER, RIVER)
WITH_STONE = Shelf(FILM, HOLM, ORDER, RIVER, STONE)
QUESTION = "Who were the founders of the home town of the person who directed Lantern Bay?"
NAMES = ("Olaf Grim", "Per Dal", "Ivar Lund")


def proposal(items: Sequence[dict[str, object]], **changes: object) -> str:
    hops = [
        {"sub_question": "Who directed Lantern Bay?", "answer": "Ada Holm", "passage_id": FILM.shown_id,
         "quote": "It was directed by Ada Holm."},
        {"sub_question": "Where did Ada Holm grow up?", "answer": "Vessby", "passage_id": HOLM.shown_id,
         "quote": "Ada Holm came from Vessby."},
        {"sub_question": "Who founded Vessby?", "answer": "some", "passage_id": ORDER.shown_id,
         "quote": "The founders of Vessby were Olaf Grim, Per Dal and Ivar Lund."},
    ]  # fmt: skip
    tree = {"question": QUESTION, "answer": "", "answer_type": "list", "answer_items": items, "hops": hops, **changes}
    return orjson.dumps(tree).decode()


def listed(*names: str, items: Sequence[dict[str, object]] = (), **changes: object) -> Draft:
    shown = {p.shown_id: p for p in (FILM, HOLM, ORDER, STONE, PLACE, RIVER)}
    named: list[dict[str, object]] = [{"answer": name} for name in names]
    found = to_draft(proposal([*named, *items], **changes), AgentState(passages=shown))
    assert found
    return found


DRAFT = listed(*NAMES)
MOE: dict[str, object] = {
    "answer": "Finn Moe",
    "passage_id": STONE.shown_id,
    "quote": "The stone says that Finn Moe too founded Vessby.",
}


def context(model: ScriptedLLM, shelf: Shelf = SHELF, run: tuple[str, ...] = ()) -> RunContext:
    values = {"checks": {"run": run}, "retrieval": {"k": 3}}
    return RunContext(build(values=values), model, shelf, LINEAGE)


def test_a_list_is_its_items_joined() -> None:
    assert DRAFT.answer == DRAFT.hops[-1].answer == "Olaf Grim; Per Dal; Ivar Lund"


@pytest.mark.parametrize(
    "items",
    [[], [{"answer": "Per Dal"}], [{"answer": f"N{n}"} for n in range(11)], [{"answer": "A"}, {"answer": "a"}],
     [{"answer": "A"}, {"answer": "B", "aliases": ["A"]}], [{"answer": "A; C"}, {"answer": "B"}],
     [{"answer": "A"}, {**MOE, "quote": "Finn Moe"[::-1]}], [{"answer": "A"}, {**MOE, "passage_id": "p000000000000"}]],
)  # fmt: skip
def test_what_is_no_list_goes_back_to_the_model(items: list[dict[str, object]]) -> None:
    with pytest.raises(FormatError):
        listed(items=items)


def test_names_of_one_item_that_say_the_same_are_one_name() -> None:
    band: dict[str, object] = {
        "answer": "The Chemics",
        "aliases": ["Chemics", "Chem Six", "Chem Six", "!"],
    }
    draft = listed(items=[band, {"answer": "C"}, {"answer": "C++", "aliases": ["C plus plus"]}])
    assert [item.spellings for item in draft.answer_items] == [
        ("The Chemics", "Chem Six"), ("C",), ("C++", "C plus plus"),
    ]  # fmt: skip


def test_two_items_of_one_name_are_both_named() -> None:
    items: list[dict[str, object]] = [
        {"answer": "Per Dal"},
        {"answer": "Finn Moe", "aliases": ["Moe"]},
        {"answer": "Ivar Lund", "aliases": ["The Moe"]},
    ]
    with pytest.raises(FormatError, match="'Finn Moe' and 'Ivar Lund' have the same name, 'Moe'"):
        listed(items=items)


# What rollouts are worth.

NO_JUDGE = ScriptedLLM([])


def graded(draft: Draft, answer: str, model: ScriptedLLM = NO_JUDGE) -> tuple[bool, str]:
    found = asyncio.run(grade(draft, answer, context(model)))
    return found.right, found.method


def rollout(answer: str, *shown: Sequence[Passage]) -> Rollout:
    calls = tuple(
        Call(id=f"c{n}", tool="search", argument=f"q{n}", passage_ids=tuple(p.id for p in found))
        for n, found in enumerate(shown)
    )
    messages = tuple(Message(role="tool", tool_call_id=f"c{n}", content=render(found)) for n, found in enumerate(shown))
    return Rollout(sample=0, answer=answer, trajectory=Trajectory(messages=messages, calls=calls, stop=Stop.ANSWERED))


def test_a_list_is_right_with_all_items_in_any_order_and_nothing_else() -> None:
    for answer in (
        "Per Dal, Ivar Lund and Olaf Grim",
        "- Ivar Lund\n- Per Dal\n- Olaf Grim",
        '["per dal", "Ivar Lund", "Olaf Grim"]',
    ):
        assert graded(DRAFT, answer) == (True, "exact")
    for answer in ("Per Dal; Ivar Lund", "Per Dal; Ivar Lund; Olaf Grim; Finn Moe", "Per Dal", "not found", "1641"):
        assert graded(DRAFT, answer) == (False, "none" if answer == "not found" else "exact"), "no judge is needed"


def test_judges_are_asked_about_the_items_that_differ_and_no_others() -> None:
    model = ScriptedLLM(['{"correct": true}'])
    assert graded(DRAFT, "Brother Per Dal; Ivar Lund; Olaf Grim", model) == (True, "judge")
    asked = [prompts.unfence(request.messages[-1].content) or {} for request in model.requests]
    assert [(inputs["answer"], inputs["response"]) for inputs in asked] == [("Per Dal", "Brother Per Dal")]
    assert asked[0]["question"] == f"{DRAFT.question} (The answer is a list. Here one item of it is judged.)"
    assert graded(DRAFT, "Sven Dal; Ivar Lund; Olaf Grim", ScriptedLLM(['{"correct": false}'])) == (False, "judge")


def test_a_list_is_supported_when_every_item_was_shown() -> None:
    four = listed(*NAMES, items=[MOE])
    assert grading.supported(DRAFT, rollout("", [ORDER]))
    assert not grading.supported(four, rollout("", [ORDER]))
    assert grading.supported(four, rollout("", [ORDER], [STONE]))
    assert grading.found(four, rollout("", [FILM, HOLM], [ORDER], [RIVER], [STONE])) == (1, 1, 4)
    again = passage("again", "Vessby", "Vessby was founded by Olaf Grim and Per Dal.")
    assert not grading.supported(DRAFT, rollout("", [again]))
