"""What `python -m bench.checks` counts."""

import asyncio
from collections.abc import Callable

import orjson
import pytest

from bench import checks
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import Message, Record
from tests.loop.test_draft_check import BOTH, LEADING, Read, context
from tests.loop.test_episode import QUESTION, SHELF, call, proposal, seeded
from tests.shelf import Shelf


def record(model: Callable[[Request], Message], shelf: Shelf = SHELF) -> Record:
    return asyncio.run(run_seed(seeded(), context(model, "loop.rounds=0", "loop.control_share=0", BOTH, shelf=shelf)))


def cast(steps: int = 3) -> Read:
    return Read(lambda question, sample: steps)


@pytest.mark.parametrize(("steps", "fate"), [(3, "candidate"), (2, "sent back by rollouts")])
def test_what_became_of_a_draft_that_the_check_let_pass(steps: int, fate: str) -> None:
    (first,) = record(cast(steps)).rounds
    assert (checks.calls(first), checks.fate(first)) == (1, fate)


def test_a_reader_that_says_something_only_after_the_check_breaks_its_promise() -> None:
    reader, graded = cast(), iter(['"?"'] * 3 + ["2"])

    def model(request: Request) -> Message:
        if request.output and request.output.name == "grade":
            reader.grade = next(graded)
        return reader(request)

    broken = record(model)
    assert checks.fate(broken.rounds[0]) == "sent back by what was checked"
    assert checks.counted([broken])["propose"]["let pass"] == 1


def test_a_draft_that_was_changed_after_its_check_is_no_promise() -> None:
    reader = cast()
    reader.checked = (LEADING,)

    def model(request: Request) -> Message:
        made = reader(request)
        other = proposal(f"{QUESTION[:-1]}, roughly?")
        return call("propose", **other) if made.tool_calls and made.tool_calls[0].name == "propose" else made

    (first,) = record(model).rounds
    assert orjson.loads(first.agent.final)["question"] != QUESTION
    assert (checks.calls(first), checks.fate(first)) == (1, "")
