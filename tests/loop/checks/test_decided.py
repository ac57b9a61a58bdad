"""Answers that the hops decide, yes, no or one of several: sound in chains, and worth nothing as a guess."""

import asyncio

import orjson
import pytest

from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.exports.trajectories.checklist import checklist
from pipeline.loop.examine import examine
from pipeline.loop.strategies.base import to_draft
from pipeline.types import Draft
from tests.loop.checks.test_lists import NO_JUDGE, RIVER, context, graded, rollout
from tests.loop.test_episode import FILM, LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

SEA = passage("sea", "Sea Fog", "It is a talkie. It was directed by Bo Rask.")
RASK = passage("rask", "Bo Rask", "Bo Rask was a sailor. Bo Rask was born in 1875.")
BORN = passage("born", "Ada Holm", "Ada Holm was a painter. Ada Holm was born in 1881.")
FILMS = Shelf(FILM, BORN, SEA, RASK, RIVER)
BRANCHES = [
    {"sub_question": "Who directed Lantern Bay?", "answer": "Ada Holm", "passage_id": FILM.shown_id,
     "quote": "It was directed by Ada Holm."},
    {"sub_question": "When was Ada Holm born?", "answer": "1881", "passage_id": BORN.shown_id,
     "quote": "Ada Holm was born in 1881."},
    {"sub_question": "Who directed Sea Fog?", "answer": "Bo Rask", "passage_id": SEA.shown_id,
     "quote": "It was directed by Bo Rask."},
    {"sub_question": "When was Bo Rask born?", "answer": "1875", "passage_id": RASK.shown_id,
     "quote": "Bo Rask was born in 1875."},
]  # fmt: skip
WHICH = "Which film has the director who was born first, Lantern Bay or Sea Fog?"


def choice(answer: str = "Sea Fog", kind: str = "comparison", question: str = WHICH, hops: object = BRANCHES) -> Draft:
    shown = {p.shown_id: p for p in (FILM, BORN, SEA, RASK)}
    tree = {"question": question, "answer": answer, "answer_type": kind, "hops": hops}
    found = to_draft(orjson.dumps(tree).decode(), AgentState(passages=shown))
    assert found
    return found


SAME = "Were the directors of Lantern Bay and Sea Fog born in the same year?"


def test_a_guess_is_worth_nothing_until_every_hop_was_read() -> None:
    draft = choice("no", "boolean", SAME)
    assert not grading.supported(draft, rollout("no", [RASK]))
    assert not grading.supported(draft, rollout("no", [FILM, BORN], [RASK]))
    assert grading.supported(draft, rollout("no", [FILM, BORN], [SEA], [RASK]))
    assert (
        grading.verdict(
            draft, rollout("no", [FILM, BORN], [SEA], [RASK]), asyncio.run(grade(draft, "No.", context(NO_JUDGE)))
        ).hit_step
        == 3
    )
    # The second chain before the first is no skip.
    assert grading.skipped(draft, rollout("no", [SEA], [RASK]), (None, None, 1, 2)) == ()


@pytest.mark.parametrize(
    ("answer", "said", "right"),
    [
        ("no", "Nein", True),
        ("no", "No.", True),
        ("yes", "no", False),
        ("no", "yes and no", False),
        ("no", "none", False),
    ],
)
def test_yes_and_no_are_graded_without_a_judge(answer: str, said: str, right: bool) -> None:
    assert graded(choice(answer, "boolean", SAME), said)[0] is right


def test_a_yes_that_is_none_goes_back_to_the_model() -> None:
    with pytest.raises(FormatError, match="yes or no"):
        choice("1875", "boolean", SAME)


@pytest.mark.parametrize(("right", "known"), [(1, False), (2, False), (3, True)])
async def test_what_half_of_all_guesses_get_right_is_known_by_none(right: int, known: bool) -> None:
    answers = ["no"] * right + ["yes"] * (3 - right)
    model = ScriptedLLM([orjson.dumps({"answer": answer}).decode() for answer in answers])
    model_m = {"provider": "openai", "model": "m"}
    models = {"default": model_m, "policies": {"p": model_m}}
    settings = build(values={"checks": {"run": ["closed_book"]}, "models": models})
    found = await examine(choice("no", "boolean", SAME), 4, RunContext(settings, model, FILMS, LINEAGE))
    assert bool(found.findings) is known


def test_the_answer_of_a_checklist_needs_the_end_of_every_chain() -> None:
    (turn,) = checklist(choice(), (1, 2, 3, 4))
    assert turn["dependence"]["C4"] == ["C1", "C3"]
