"""Answers computed from several steps: their grading and their support."""

import asyncio

import pytest

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.judge import grade
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.exports.trajectories.checklist import checklist
from pipeline.types import Draft
from tests.graph_drafts import computed, drafted, step
from tests.loop.cast import FILM, LINEAGE
from tests.loop.rollouts import make_rollout
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

FOG = passage("fog", "Sea Fog", "It is a talkie. It was directed by Bo Rask.")
RASK = passage("rask", "Bo Rask", "Bo Rask was a sailor. Bo Rask was born in 1875.")
HOLM = passage("holm", "Ada Holm", "Ada Holm was a painter. Ada Holm was born in 1881.")
BRANCHES = [
    step(FILM, "Ada Holm", "Who directed Lantern Bay?"),
    step(HOLM, "1881", "When was {film} born?", "film"),
    step(FOG, "Bo Rask", "Who directed Sea Fog?"),
    step(RASK, "1875", "When was {fog} born?", "fog"),
]
SAME = drafted(
    "Were the directors of Lantern Bay and Sea Fog born in the same year?",
    [*BRANCHES, computed("yes_no", "holm", "rask")],
    [FILM, FOG, RASK, HOLM],
)
ORDER = passage("order", "Brothers of Vessby", "The founders of Vessby were Olaf Grim and Per Dal.")
STONE = passage("stone", "Memorial stone", "It stands at the quay. The stone says that Ivar Lund too founded Vessby.")
FOUNDERS = drafted(
    "Who founded Vessby?",
    [
        step(ORDER, "Olaf Grim", "Who was the first founder of Vessby?", step_id="first"),
        step(ORDER, "Per Dal", "Who was the second founder of Vessby?", step_id="second"),
        step(STONE, "Ivar Lund", "Who founded Vessby too?", step_id="third"),
        computed("list", "first", "second", "third"),
    ],
    [ORDER, STONE],
)


FERRY = passage("ferry", "Vess Ferry", "The ferry is long. The ferry carried 25,760 people.")
BOAT = passage("boat", "Quay Boat", "The boat is small. The boat carried 177 people.")
CARRIED = drafted(
    "How many times as many people did the ferry carry as the boat?",
    [
        step(FERRY, "25,760", "How many people did the ferry carry?", step_id="ferry"),
        step(BOAT, "177", "How many people did the boat carry?", step_id="boat"),
        computed("ratio", "ferry", "boat"),
    ],
    [FERRY, BOAT],
)


def grade_answer(draft: Draft, answer: str, *judges: str) -> tuple[bool, str]:
    context = RunContext(build(values={"checks": {"enabled": ()}}), ScriptedLLM(judges), Shelf(FILM), LINEAGE)
    grade_of_answer = asyncio.run(grade(draft, answer, context))
    return grade_of_answer.right, grade_of_answer.method


def test_guess_is_unsupported_until_every_deciding_passage_is_read() -> None:
    assert SAME.answer == "no"
    assert not grading.is_supported(SAME, make_rollout([FILM, HOLM], [FOG], answer="no"))
    assert grading.is_supported(SAME, make_rollout([FILM, HOLM], [RASK], answer="no"))


def test_second_branch_before_the_first_is_no_skip() -> None:
    assert grading.skipped_hops(SAME, make_rollout([FOG], [RASK], answer="no"), (None, None, 1, 2)) == ()
    assert grading.skipped_hops(SAME, make_rollout([RASK], answer="no"), (None, None, None, 1)) == (2,)


@pytest.mark.parametrize(("answer", "right"), [("Nein", True), ("No.", True), ("yes", False), ("yes and no", False)])
def test_yes_and_no_are_graded_without_a_judge(answer: str, right: bool) -> None:
    assert grade_answer(SAME, answer)[0] is right


def test_answer_of_a_checklist_needs_every_deciding_hop() -> None:
    (turn,) = checklist(SAME, (1, 2, 3, 4))
    assert turn["dependence"] == {"C0": [], "C1": ["C0"], "C2": [], "C3": ["C2"], "C4": ["C1", "C3"]}


def test_list_is_right_with_all_items_in_any_order_and_nothing_else() -> None:
    for answer in ("Per Dal, Ivar Lund and Olaf Grim", "- Ivar Lund\n- Per Dal\n- Olaf Grim"):
        assert grade_answer(FOUNDERS, answer) == (True, "exact")
    for answer in ("Per Dal; Ivar Lund", "Per Dal; Ivar Lund; Olaf Grim; Finn Moe", "1641"):
        assert grade_answer(FOUNDERS, answer) == (False, "exact")


def test_judges_are_asked_about_the_items_that_differ() -> None:
    assert grade_answer(FOUNDERS, "Brother Per Dal; Ivar Lund; Olaf Grim", *['{"correct": true}'] * 2) == (
        True,
        "judge",
    )
    assert grade_answer(FOUNDERS, "Sven Dal; Ivar Lund; Olaf Grim", '{"correct": false}') == (False, "judge")


def test_list_is_supported_once_every_item_was_shown() -> None:
    assert not grading.is_supported(FOUNDERS, make_rollout([ORDER], answer=""))
    assert grading.is_supported(FOUNDERS, make_rollout([ORDER], [STONE], answer=""))


def test_judge_of_an_item_is_told_that_it_judges_one_item() -> None:
    model = ScriptedLLM(['{"correct": false}'])
    context = RunContext(build(values={"checks": {"enabled": ()}}), model, Shelf(FILM), LINEAGE)
    asyncio.run(grade(FOUNDERS, "Brother Per Dal; Ivar Lund; Olaf Grim", context))
    inputs = prompts.unfence(model.requests[0].messages[-1].content) or {}
    assert (inputs["answer"], inputs["response"]) == ("Per Dal", "Brother Per Dal")
    assert inputs["question"].endswith("(The answer is a list. Here one item of it is judged.)")


@pytest.mark.parametrize(("answer", "is_right"), [("146", True), ("145.5", True), ("145.54", True), ("147", False)])
def test_number_is_right_if_it_rounds_as_the_answer_does(answer: str, is_right: bool) -> None:
    assert CARRIED.answer == "146"
    assert grade_answer(CARRIED, answer, *(() if is_right else ("no",)))[0] is is_right
