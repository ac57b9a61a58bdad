"""A teacher's rollouts among distractors, graded and labelled; which of them the settings keep."""

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
from tests import graphs
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, TOWN, call, proposal
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage, synthetic

SHELF = Shelf(FILM, HOLM, TOWN, *(passage(f"x{n}", f"Tarn {n}", "The Tarn is a river.") for n in range(6)))
LIE = Distractor(
    kind=Kind.DOPPELGANGER, title="Vessby (1911 guide)", text="The 1911 guide has Vessby on the Tarn founded in 1399.",
    hop=2, source_id=TOWN.id, source_sha256=TOWN.sha256, claim="1399", mark="1911 guide",
    checks=(DistractorCheck(name="found", passed=True),),
)  # fmt: skip
SEARCHES = ["Lantern Bay directed", "Ada Holm painter", "Vessby Tarn founded"]
BELIEVERS = (1, 3)


def drafted() -> Draft:
    return graphs.drafted(QUESTION, proposal()["steps"], [FILM, HOLM, TOWN])


def teacher(request: Request) -> Message:
    """Searches its way; some samples then answer with what the guide says."""
    if request.output:
        return Message(role="assistant", content='{"correct": false}')
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < len(SEARCHES):
        return call("search", query=SEARCHES[turn])
    return call("answer", answer="1399" if request.sample in BELIEVERS else "1641")


def taught(*sets: str, distractors: tuple[Distractor, ...] = (LIE,)) -> tuple[tuple[TeacherRollout, ...], ScriptedLLM]:
    llm = ScriptedLLM(teacher)
    settings = config.build(sets=["retrieval.k=4", "teacher.rollouts=4", *sets])
    context = RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(teacher_rollouts(drafted(), DistractorEval(distractors=distractors), "seed", context)), llm


def test_each_rollout_says_what_it_met_and_how_it_ended() -> None:
    made, _ = taught()
    assert [made.rollout.sample for made in made] == [0, 1, 2, 3]
    outcomes = [made.encounters[0].outcome for made in made]
    assert outcomes == [Outcome.RESISTED, Outcome.MISLED, Outcome.RESISTED, Outcome.MISLED]
    assert [made.kept for made in made] == [True, False, True, False]
    assert [made.f1 for made in made] == [1, 0, 1, 0]
    assert TeacherRollout.model_validate_json(made[0].model_dump_json()) == made[0]


def test_the_teacher_has_search_alone_its_own_prompt_and_the_bare_question() -> None:
    made, llm = taught()
    assert {tuple(tool.name for tool in request.tools) for request in llm.requests if not request.output} == {
        ("search", "answer")
    }
    system, user = made[0].rollout.trajectory.messages[:2]
    own = prompts.load("teacher/answer").render("", question="", searches=12)
    assert system == prompts.add_notes(own, config.build().answer_notes())[0]
    assert user.content == drafted().question


def test_the_teacher_is_told_of_find_where_the_environment_has_it_and_of_no_open() -> None:
    made, llm = taught("environment.find=true", "environment.pages=true")
    offered = {tuple(tool.name for tool in request.tools) for request in llm.requests if not request.output}
    assert offered == {("search", "find", "answer")}
    assert made[0].rollout.trajectory.messages[0].content.endswith(prompts.note("solver/_find"))


def test_rollouts_that_search_alike_see_alike_so_that_their_turns_can_be_compared() -> None:
    made, _ = taught()
    resisting, misled = (made[i].rollout.trajectory.messages for i in (0, 1))
    assert resisting[:-1] == misled[:-1]
    assert resisting[-1] != misled[-1]


def test_no_agent_is_told_which_passage_is_synthetic() -> None:
    made, _ = taught()
    trajectory = made[0].rollout.trajectory
    assert any(synthetic(i) for c in trajectory.calls for i in c.passage_ids)
    assert not any("synthetic" in message.content for message in trajectory.messages)


def test_without_distractors_there_is_nothing_to_teach() -> None:
    made, llm = taught(distractors=())
    assert (made, llm.requests) == ((), [])


def teacher_rollout(answer: str) -> TeacherRollout:
    made, _ = taught()
    return made[0] if answer == "1641" else made[1]


@pytest.mark.parametrize(
    ("rule", "made", "wanted"),
    [
        (TeacherConfig(), teacher_rollout("1641"), True),
        (TeacherConfig(), teacher_rollout("1399"), False),
        (TeacherConfig(keep="f1"), teacher_rollout("1641"), True),
        (TeacherConfig(keep="f1"), teacher_rollout("1641").model_copy(update={"f1": 0.9}), False),
        (TeacherConfig(keep="f1"), teacher_rollout("1399").model_copy(update={"f1": 0.95}), True),
    ],
)
def test_what_is_kept(rule: TeacherConfig, made: TeacherRollout, wanted: bool) -> None:
    assert is_imitated(made, rule) is wanted


def test_the_preset_keeps_by_the_papers_rule() -> None:
    rule = config.build(values={"preset": "ragshaper"}).teacher
    assert (rule.keep, rule.injected, rule.injected_again) == ("f1", 2, 0.5)


def test_an_answer_is_the_tool_s_argument() -> None:
    made, _ = taught()
    assert orjson.loads(made[0].rollout.trajectory.final) == {"answer": "1641"}
