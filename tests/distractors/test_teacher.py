"""A teacher's rollouts among distractors are graded and labelled, and the settings decide which are kept."""

import asyncio

import orjson
import pytest

from pipeline import config, prompts
from pipeline.config.loop import TeacherConfig
from pipeline.context import RunContext
from pipeline.distractors.teacher import is_imitated, teacher_rollouts
from pipeline.llm.base import Request
from pipeline.types import Distractor, DistractorCheck, DistractorEval, Draft, Message, Outcome, TeacherRollout
from pipeline.types.distractor import Kind
from tests import graph_drafts
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, TOWN, call, make_proposal
from tests.passages import Shelf, is_synthetic, passage
from tests.scripted_llm import ScriptedLLM

SHELF = Shelf(FILM, HOLM, TOWN, *(passage(f"x{n}", f"Tarn {n}", "The Tarn is a river.") for n in range(6)))
LIE = Distractor(
    kind=Kind.DOPPELGANGER, title="Vessby (1911 guide)", text="The 1911 guide has Vessby on the Tarn founded in 1399.",
    hop=2, source_id=TOWN.id, source_sha256=TOWN.sha256, claim="1399", mark="1911 guide",
    checks=(DistractorCheck(name="found", passed=True),),
)  # fmt: skip
SEARCHES = ["Lantern Bay directed", "Ada Holm painter", "Vessby Tarn founded"]
BELIEVERS = (1, 3)


def make_draft() -> Draft:
    return graph_drafts.drafted(QUESTION, make_proposal()["steps"], [FILM, HOLM, TOWN])


def answer_as_teacher(request: Request) -> Message:
    """Search hop by hop; some samples then answer with the guide's claim."""
    if request.output:
        return Message(role="assistant", content='{"correct": false}')
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < len(SEARCHES):
        return call("search", query=SEARCHES[turn])
    return call("answer", answer="1399" if request.sample in BELIEVERS else "1641")


def run_teacher(
    *sets: str, distractors: tuple[Distractor, ...] = (LIE,)
) -> tuple[tuple[TeacherRollout, ...], ScriptedLLM]:
    llm = ScriptedLLM(answer_as_teacher)
    settings = config.build(sets=["retrieval.k=4", "teacher.rollouts=4", *sets])
    context = RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(teacher_rollouts(make_draft(), DistractorEval(distractors=distractors), "seed", context)), llm


def test_each_rollout_has_its_encounters_and_outcome() -> None:
    rollouts, _ = run_teacher()
    assert [taught.rollout.sample for taught in rollouts] == [0, 1, 2, 3]
    outcomes = [taught.encounters[0].outcome for taught in rollouts]
    assert outcomes == [Outcome.RESISTED, Outcome.MISLED, Outcome.RESISTED, Outcome.MISLED]
    assert [taught.kept for taught in rollouts] == [True, False, True, False]
    assert [taught.f1 for taught in rollouts] == [1, 0, 1, 0]
    assert TeacherRollout.model_validate_json(rollouts[0].model_dump_json()) == rollouts[0]


def test_the_teacher_has_only_search_its_own_prompt_and_the_bare_question() -> None:
    rollouts, llm = run_teacher()
    assert {tuple(tool.name for tool in request.tools) for request in llm.requests if not request.output} == {
        ("search", "answer")
    }
    system, user = rollouts[0].rollout.trajectory.messages[:2]
    prompt = prompts.load("teacher/answer").render("", question="", searches=12)
    assert system == prompts.add_notes(prompt, config.build().answer_notes())[0]
    assert user.content == make_draft().question


def test_the_teacher_may_find_if_the_environment_allows_it_and_never_open() -> None:
    rollouts, llm = run_teacher("environment.find=true", "environment.pages=true")
    offered = {tuple(tool.name for tool in request.tools) for request in llm.requests if not request.output}
    assert offered == {("search", "find", "answer")}
    assert rollouts[0].rollout.trajectory.messages[0].content.endswith(prompts.note("solver/_find"))


def test_rollouts_with_the_same_searches_see_the_same_so_that_their_turns_can_be_compared() -> None:
    rollouts, _ = run_teacher()
    resisting, misled = (rollouts[i].rollout.trajectory.messages for i in (0, 1))
    assert resisting[:-1] == misled[:-1]
    assert resisting[-1] != misled[-1]


def test_no_agent_is_told_which_passage_is_synthetic() -> None:
    rollouts, _ = run_teacher()
    trajectory = rollouts[0].rollout.trajectory
    assert any(is_synthetic(i) for c in trajectory.calls for i in c.passage_ids)
    assert not any("synthetic" in message.content for message in trajectory.messages)


def test_without_distractors_there_is_nothing_to_teach() -> None:
    rollouts, llm = run_teacher(distractors=())
    assert (rollouts, llm.requests) == ((), [])


def get_rollout(answer: str) -> TeacherRollout:
    rollouts, _ = run_teacher()
    return rollouts[0] if answer == "1641" else rollouts[1]


@pytest.mark.parametrize(
    ("rule", "rollout", "is_kept"),
    [
        (TeacherConfig(), get_rollout("1641"), True),
        (TeacherConfig(), get_rollout("1399"), False),
        (TeacherConfig(keep="f1"), get_rollout("1641"), True),
        (TeacherConfig(keep="f1"), get_rollout("1641").model_copy(update={"f1": 0.9}), False),
        (TeacherConfig(keep="f1"), get_rollout("1399").model_copy(update={"f1": 0.95}), True),
    ],
)
def test_rollouts_are_kept_by_correctness_or_f1(rule: TeacherConfig, rollout: TeacherRollout, is_kept: bool) -> None:
    assert is_imitated(rollout, rule) is is_kept


def test_the_preset_keeps_by_the_papers_rule() -> None:
    rule = config.build(values={"preset": "ragshaper"}).teacher
    assert (rule.keep, rule.injected, rule.injected_again) == ("f1", 2, 0.5)


def test_an_answer_is_the_tools_argument() -> None:
    rollouts, _ = run_teacher()
    assert orjson.loads(rollouts[0].rollout.trajectory.final) == {"answer": "1641"}
