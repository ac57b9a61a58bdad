"""In another language than English a reader says whether a distractor may be about someone alive."""

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
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf

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


def reader(request: Request) -> Message:
    """Knows the painter for a person, of whom nothing says that she is dead."""
    given = prompts.unfence(request.messages[-1].content) or {}
    if request.output and request.output.name == "weigh":
        person = "林秋白" in given["passages"][-1]["text"]
        return Message(role="assistant", content=orjson.dumps({"reason": "A painter.", "fits": person}).decode())
    return Message(role="assistant", content='{"answer": "", "correct": false, "passage_id": "none"}')


def checked(
    distractor: Distractor, play: Callable[[Request], Message] = reader, sets: list[str] = REAL
) -> tuple[Distractor, ScriptedLLM]:
    model = ScriptedLLM(play)
    context = RunContext(
        config=config.build(sets=["retrieval.k=2", *sets]),
        llm=model,
        retriever=Shelf(*CHINESE.passages),
        lineage=LINEAGE,
    )
    return asyncio.run(DistractorChecks(make_draft(CHINESE), context).check(distractor)), model


def asked(model: ScriptedLLM) -> int:
    return sum(bool(request.output and request.output.name == "weigh") for request in model.requests)


def test_a_reader_refuses_what_may_be_about_someone_alive_and_says_why() -> None:
    made, model = checked(ABOUT_THE_PAINTER)
    assert (made.reason, asked(model)) == ("no_living_person", 1)
    assert "A painter." in made.checks[-1].detail


def test_and_lets_pass_what_is_about_a_town() -> None:
    made, model = checked(ABOUT_THE_TOWN)
    assert asked(model) == 1
    assert ("no_living_person", True) in [(check.name, check.passed) for check in made.checks]


def test_a_reader_that_cannot_be_read_lets_nothing_pass() -> None:
    made, _ = checked(ABOUT_THE_TOWN, lambda request: Message(role="assistant", content="hm"))
    assert made.reason == "no_living_person"


@pytest.mark.parametrize(("sets", "refused"), [([], True), (REAL, False)])
def test_what_rules_take_for_a_person_is_left_to_a_reader_where_there_is_one(sets: list[str], refused: bool) -> None:
    shooter = ABOUT_THE_TOWN.model_copy(update={"title": "Night Mill", "text": "Night Mill is a first-person shooter."})
    made, _ = checked(shooter.model_copy(update={"claim": "first-person", "mark": "Night"}), sets=sets)
    assert (made.reason == "no_living_person") is refused


@pytest.mark.parametrize("distractor", [ABOUT_THE_PAINTER, ABOUT_THE_TOWN])
def test_the_demo_reader_is_not_asked(distractor: Distractor) -> None:
    made, model = checked(distractor, sets=[])
    assert asked(model) == 0
    assert made.reason != "no_living_person"
