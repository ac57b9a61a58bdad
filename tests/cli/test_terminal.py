"""A pair is printed on the terminal."""

from pipeline.cli import terminal
from pipeline.types import Draft, Record
from tests import records
from tests.agents.test_computed_answers import SAME


def show(draft: Draft) -> str:
    record: Record = records.accepted(1)
    last = record.rounds[-1].model_copy(update={"draft": draft})
    lines = terminal.pair(record.model_copy(update={"rounds": (*record.rounds[:-1], last)}))
    return "\n".join(str(getattr(line, "renderable", line)) for line in lines)


def test_a_computed_step_comes_after_the_steps_that_were_searched_for() -> None:
    assert "5  yes_no of 2 and 4 → no" in show(SAME)
