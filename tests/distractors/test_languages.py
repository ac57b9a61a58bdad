"""In other languages than English a reader decides whether a distractor may be about a living person."""

import asyncio
from collections.abc import Callable

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.distractors.checks import DistractorChecks
from pipeline.llm.base import Request
from pipeline.types import Distractor, Message
from pipeline.types.distractor import Kind
from tests.distractors.test_blind import REAL
from tests.loop.cast import LINEAGE
from tests.loop.checks.test_languages import CHINESE, make_draft
from tests.passages import Shelf
from tests.scripted_llm import ScriptedLLM

PAINTER, TOWN = CHINESE.passages[1:3]
ABOUT_THE_TOWN = Distractor(
    kind=Kind.DOPPELGANGER,
    title="青石镇（旧志）",
    text="旧志说，青石镇这座古镇始建于1598年5月1日。",
    hop=2,
    source_id=TOWN.id,
    source_sha256=TOWN.sha256,
    claim="1598年5月1日",
    mark="旧志",
)
ABOUT_THE_PAINTER = ABOUT_THE_TOWN.model_copy(
    update={
        "title": "林秋白（旧志）",
        "text": "旧志说，林秋白的老家在白鹭镇。",
        "hop": 1,
        "source_id": PAINTER.id,
        "source_sha256": PAINTER.sha256,
        "claim": "白鹭镇",
    }
)


def answer_as_reader(request: Request) -> Message:
    """Recognise the painter as a person who may be alive."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    if request.output and request.output.name == "weigh":
        person = "林秋白" in inputs["passages"][-1]["text"]
        return Message(role="assistant", content=orjson.dumps({"reason": "A painter.", "fits": person}).decode())
    return Message(role="assistant", content='{"answer": "", "correct": false, "passage_id": "none"}')


def run_checks(
    distractor: Distractor, play: Callable[[Request], Message] = answer_as_reader, sets: list[str] = REAL
) -> tuple[Distractor, ScriptedLLM]:
    model = ScriptedLLM(play)
    context = RunContext(
        config=config.build(sets=["retrieval.k=2", *sets]),
        llm=model,
        retriever=Shelf(*CHINESE.passages),
        lineage=LINEAGE,
    )
    return asyncio.run(DistractorChecks(make_draft(CHINESE), context).check(distractor)), model


def count_weighings(model: ScriptedLLM) -> int:
    return sum(bool(request.output and request.output.name == "weigh") for request in model.requests)


def test_a_reader_refuses_a_distractor_about_a_person_who_may_live() -> None:
    outcome, model = run_checks(ABOUT_THE_PAINTER)
    assert (outcome.reason, count_weighings(model)) == ("no_living_person", 1)
    assert "A painter." in outcome.checks[-1].detail


def test_a_reader_passes_a_distractor_about_a_town() -> None:
    outcome, model = run_checks(ABOUT_THE_TOWN)
    assert count_weighings(model) == 1
    assert ("no_living_person", True) in [(check.name, check.passed) for check in outcome.checks]


def test_an_unreadable_reader_passes_nothing() -> None:
    outcome, _ = run_checks(ABOUT_THE_TOWN, lambda request: Message(role="assistant", content="hm"))
    assert outcome.reason == "no_living_person"


@pytest.mark.parametrize(("sets", "refused"), [([], True), (REAL, False)])
def test_a_reader_if_there_is_one_overrules_the_rules_about_persons(sets: list[str], refused: bool) -> None:
    shooter = ABOUT_THE_TOWN.model_copy(update={"title": "Night Mill", "text": "Night Mill is a first-person shooter."})
    outcome, _ = run_checks(shooter.model_copy(update={"claim": "first-person", "mark": "Night"}), sets=sets)
    assert (outcome.reason == "no_living_person") is refused


@pytest.mark.parametrize("distractor", [ABOUT_THE_PAINTER, ABOUT_THE_TOWN])
def test_the_demo_reader_is_not_asked(distractor: Distractor) -> None:
    outcome, model = run_checks(distractor, sets=[])
    assert count_weighings(model) == 0
    assert outcome.reason != "no_living_person"
