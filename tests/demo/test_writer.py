"""The demo writer's distractors read as if a person had written them."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from pipeline import prompts
from pipeline.demo.writer import write
from pipeline.llm.base import Request
from pipeline.types.distractor import Kind

KNOXVILLE: dict[str, Any] = {
    "query": "In which city did the comedy film Logan Lucky premiere?",
    "passage": {"title": "Logan Lucky", "text": "Logan Lucky is a film. It premiered in Knoxville, Tennessee."},
    "quote": "It premiered in Knoxville, Tennessee, in [note 1] 2017.",
    "asked": "In which city did the comedy film Logan Lucky premiere?",
    "answer": "Knoxville",
    "rivals": ["Youngstown, Ohio", "Athens (Ohio)", "Muncie, Indiana"],
    "style": [],
    "outright": False,
    "refused": [],
}
POPULATION = KNOXVILLE | {"asked": "What is the population of the city Knoxville?", "answer": "178,874", "rivals": []}
DIRECTOR = KNOXVILLE | {
    "query": "By whom was Lantern Bay directed?",
    "passage": {
        "title": "Wajda",
        "text": "Andrzej Wajda ([ˈandʐɛj]) (Polish: Вајда (В); 6 March 1926 – 9 October 2016) was a director.",
    },
    "quote": "Andrzej Wajda ([ˈandʐɛj]) (Polish: Вајда (В); 6 March 1926 – 9 October 2016) was a director.",
    "asked": "On what date did Andrzej Wajda die?",
    "answer": "9 October 2016",
    "rivals": [],
}


def write_passages(kind: Kind, inputs: Mapping[str, Any], turn: int = 0) -> list[dict[str, str]]:
    message = prompts.load(f"distractor/{kind.value}").render("0" * 16, **inputs, kind=kind.value)[-1]
    reply = write(Request(model="embedded", messages=(message,), sample=3 * turn))
    passages: list[dict[str, str]] = orjson.loads(reply.content)["passages"]
    return passages


def test_a_place_goes_with_what_it_lies_in() -> None:
    text = write_passages(Kind.DOPPELGANGER, KNOXVILLE)[0]["text"]
    towns = ("Youngstown", "Athens", "Muncie")
    ended = write_passages(Kind.DOPPELGANGER, KNOXVILLE | {"quote": "It premiered in Knoxville, Tennessee."})[0]["text"]
    assert ended.startswith(tuple(f"Logan Lucky premiered in {town}. So " for town in towns))
    assert text.startswith(tuple(f"Logan Lucky premiered in {town}, in 2017." for town in towns))


def test_a_shortcut_names_both_ends_and_not_what_lies_between() -> None:
    passage = write_passages(Kind.FALSE_SHORTCUT, POPULATION)[0]
    questions = "In which city did the comedy film Logan Lucky premiere? And what is the population of that city?"
    assert passage["text"].startswith(f"{questions} It is rumoured, though not confirmed, that the population is ")
    assert "Knoxville" not in passage["text"]
    assert "The rumour does not name the person" in write_passages(Kind.FALSE_SHORTCUT, DIRECTOR)[0]["text"]


def test_pronunciations_are_left_out() -> None:
    text = write_passages(Kind.SUBJECTIVE_FALLACY, DIRECTOR)[0]["text"]
    assert text.startswith("Andrzej Wajda (6 March 1926 – 9 October ")


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.FALSE_SHORTCUT])
def test_a_refused_one_is_told_in_another_way(kind: Kind) -> None:
    passages = [write_passages(kind, DIRECTOR, turn)[0] for turn in range(8)]
    shapes = {passage["text"].replace(passage["claim"], "") for passage in passages}
    assert len({shape.split("edition")[0] for shape in shapes}) >= 4
    for passage in passages:
        assert passage["mark"] in passage["text"]
        assert passage["claim"] in passage["text"]
        assert "9 October 2016" not in passage["text"]
    assert "On what date did Andrzej Wajda die?" in passages[-1]["text"]


def test_a_doubt_stands_behind_the_claim_that_it_is_about() -> None:
    """Between "on" and the date it kept readers from taking the date at all."""
    passage = write_passages(Kind.SUBJECTIVE_FALLACY, DIRECTOR, 2)[0]
    assert f"{passage['claim']} (in my opinion)" in passage["text"]


def test_of_a_kind_that_it_does_not_know_it_writes_nothing() -> None:
    prompt = prompts.load("distractor/doppelganger").render("0" * 16, **DIRECTOR, kind="satire")[-1]
    assert orjson.loads(write(Request(model="embedded", messages=(prompt,))).content) == {"passages": []}
