"""The advice at the end of a run that accepted fewer pairs than it might have."""

from pathlib import Path

import pytest

from pipeline.cli.generate import SHORT, say_shortfalls
from pipeline.config import build
from pipeline.run.result import RunResult
from tests.cli.conftest import SMALL, Digsite


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


@pytest.mark.parametrize(
    ("target", "is_advised"), [("steps=2-4", True), ("steps=1-3", False), ("solve_rate=0.2-0.8", False)]
)
def test_fewer_steps_are_advised_only_if_that_is_possible(
    target: str, is_advised: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    result = RunResult(
        folder=Path("wiki/a"), planned=8, accepted=0, rejected=8, failed=0, reasons={"superficial": 8}, surplus=0,
        dropped={}, complete=True, exhausted=True, missing={}, damaged=0,
    )  # fmt: skip
    for model in ([], ["models.default.provider=openai", "models.default.model=m"]):
        say_shortfalls(result, build(sets=[target, *model]), "wiki/a")
        message = capsys.readouterr().err
        assert "--max-seeds" in message
        assert ("fewer --steps" in message) is is_advised


@pytest.mark.slow
@pytest.mark.parametrize("command", ["resume", "refresh"])
def test_a_run_that_gave_up_continues_with_more_seeds(command: str, digsite: Digsite, tmp_path: Path) -> None:
    options = [*SMALL, "--no-flow", "--out", tmp_path, "--set", "difficulty.adversarial=false"]
    first = digsite("generate", "tiny", *options, "--steps", "9", "--pairs", "1", "--max-seeds", "1")
    assert (first.code, "1 seeds gave 0 of 1 pairs" in first.err) == (SHORT, True)
    second = digsite(command, "tiny/latest", "--max-seeds", "3", "--no-flow", "--out", tmp_path)
    assert (second.code, "3 seeds gave 0 of 1 pairs" in second.err) == (SHORT, True)
