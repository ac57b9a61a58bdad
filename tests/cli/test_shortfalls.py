"""The advice at the end of a run that accepted fewer pairs than it might have."""

from pathlib import Path

import pytest

from pipeline.cli.generate import say_shortfalls
from pipeline.config import build
from pipeline.run.result import RunResult


@pytest.mark.parametrize(("adversarial", "advised"), [("true", True), ("false", False)])
def test_questions_lost_to_shortcuts_are_named_with_what_keeps_them(
    adversarial: str, advised: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    config = build(sets=["steps=5-7", f"difficulty.adversarial={adversarial}"])
    result = RunResult(
        folder=Path("wiki/a"), planned=8, accepted=1, rejected=7, failed=0, reasons={"below_range": 3, "no_draft": 4},
        surplus=0, dropped={}, complete=True, exhausted=False, missing={}, damaged=0,
    )  # fmt: skip
    say_shortfalls(result, config, "wiki/a")
    message = capsys.readouterr().err
    assert ("digsite export wiki/a --include below_range" in message) == advised
    assert ("difficulty.adversarial=false" in message) == advised


def test_a_few_shortcuts_need_no_advice(capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(
        folder=Path("wiki/a"), planned=8, accepted=6, rejected=2, failed=0, reasons={"below_range": 2}, surplus=0,
        dropped={}, complete=True, exhausted=False, missing={}, damaged=0,
    )  # fmt: skip
    say_shortfalls(result, build(), "wiki/a")
    assert capsys.readouterr().err == ""
