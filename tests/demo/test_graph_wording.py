"""The writer of questions: it words the masked steps of a graph so that its solver can read them."""

import asyncio
from typing import Any

import orjson
import pytest

from pipeline import prompts
from pipeline.demo.comparisons import read
from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Request, Schema

BAY: list[dict[str, Any]] = [
    {"id": "a1", "asks": 'Who directed the film "Lantern Bay"?'},
    {"id": "a2", "asks": "In what year was [a1] born?"},
]
NAMED: list[dict[str, Any]] = [
    {"id": "b1", "asks": "In what year was Max Orr born?"},
    {"id": "c1", "asks": "In what year was Jon Pell born?"},
]


def answer(name: str, prompt: str, **inputs: Any) -> dict[str, Any]:
    messages = prompts.load(prompt).render("0" * 16, **inputs)
    schema = Schema(name=name, body={})
    completion = asyncio.run(DemoModel().complete(Request(model="embedded", messages=messages, output=schema)))
    result: dict[str, Any] = orjson.loads(completion.message.content)
    return result


def word(steps: list[dict[str, Any]]) -> list[str]:
    output = answer("wordings", "writer/question", steps=steps, answer_form="", like=[], earlier=[])
    return list(output["wordings"])


@pytest.mark.parametrize(
    ("steps", "question"),
    [
        (BAY, 'In what year was the director of the film "Lantern Bay" born?'),
        (
            [*BAY, *NAMED, {"id": "d", "operation": "extreme", "of": ["b1", "c1", "a2"], "which": "latest"}],
            'Which of Max Orr, Jon Pell and the director of the film "Lantern Bay" was born last?',
        ),
        (
            [*BAY, *NAMED[:1], {"id": "d", "operation": "difference", "of": ["a2", "b1"], "unit": "years"}],
            'The director of the film "Lantern Bay" and Max Orr were born how many years apart?',
        ),
    ],
)
def test_steps_are_worded_without_what_is_hidden(steps: list[dict[str, Any]], question: str) -> None:
    wordings = word(steps)
    assert wordings[0] == question
    assert {read(wording) for wording in wordings} == {read(question)}
    assert not any("[" in wording for wording in wordings)


def test_steps_that_it_cannot_read_are_not_worded() -> None:
    assert word([{"id": "a1", "asks": "Why is the sea salt?"}]) == []


def test_the_reader_chooses_the_wording_that_stacks_least() -> None:
    thing = 'the 1998 film directed by the director of the 2001 film written by the director of the film "The Mill"'
    stacked = f"Who is the owner of the distributor of {thing}?"
    plain = f"Consider {thing}. Who is the owner of the distributor of that film?"
    choice = answer("choose", "naturalness/choose", wordings=[stacked, plain], facts=[])
    assert choice["best"] == 2


def test_the_reader_names_the_step_whose_answer_stands_in_no_cited_sentence() -> None:
    text = "[1] It is a film by Max Orr.\n[2] It was directed by Ada Holm."
    passages = [{"id": "p1", "title": "Lantern Bay", "text": text}]
    shared = {"question": "Who directed it?", "passage": "p1", "sentences": [2]}
    steps = [{"id": "a1", "answer": "Ada Holm"} | shared, {"id": "b1", "answer": "Max Orr"} | shared]
    faults = answer("steps", "oracle/steps", passages=passages, others=[], steps=steps, to_check=["a1", "b1"])["faults"]
    assert [(fault["step"], fault["fault"]) for fault in faults] == [("b1", "unstated")]
