"""A target too large for a context or the corpus is refused in one line, before any cost."""

import asyncio
from pathlib import Path

import pytest

from pipeline.config import RunConfig, build
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.run import LogCallbacks, stages, targets
from pipeline.run.preview import preview

REAL = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


def make_config(steps: str, out: Path, *sets: str, **models: object) -> RunConfig:
    values = {"models": {"default": REAL, **models}, "corpus": {"name": "tiny"}, "runtime": {"out": out}}
    return build(values=values, sets=[f"steps={steps}", *sets])


@pytest.mark.parametrize("steps", ["1", "5", "9", "12", "20"])
def test_the_usual_context_is_enough_for_all_targets(steps: str, tiny: Corpus, tmp_path: Path) -> None:
    targets.check(make_config(steps, tmp_path), tiny)


@pytest.mark.parametrize(
    ("sets", "models", "message"),
    [
        (
            ["retrieval.k=20"],
            {},
            r"the context of the solver .* passages \(20 for each step\) .* raise models.solver.context, or lower",
        ),
        ([], {"solver": {"context": 9000}}, r"12 steps: .* raise models.solver.context, .* ask for at most \d with"),
        ([], {"policies": {"mine": {**REAL, "model": "s", "context": 9000}}}, "raise models.policies.mine.context"),
        ([], {"reader": {**REAL, "model": "s", "context": 4096, "sampling": {"max_tokens": 2000}}}, "models.reader"),
        (["generator.request_tokens=4096"], {}, "the context of the generator .* raise generator.request_tokens"),
        ([], {"refiner": {**REAL, "model": "s", "context": 4096, "sampling": {"max_tokens": 2000}}}, "the refiner"),
    ],
)
def test_a_context_that_is_too_short_is_named(
    sets: list[str], models: dict[str, object], message: str, tiny: Corpus, tmp_path: Path
) -> None:
    config = make_config("2-12", tmp_path, *sets, **models)
    with pytest.raises(UsageError, match=message) as caught:
        targets.check(config, tiny)
    assert "\n" not in str(caught.value)
    targets.check(make_config("2-12", tmp_path, *sets, "steps_required=false", "solve_rate=0.2-0.8", **models), tiny)


@pytest.mark.slow
def test_a_refused_target_builds_nothing_and_sends_no_request(tmp_path: Path) -> None:
    config = make_config("12", tmp_path, solver={"context": 9000})
    with pytest.raises(UsageError, match="the context of the solver is too small for"):
        asyncio.run(stages.generate(config, None, LogCallbacks()))
    assert not (tmp_path / "indexes").exists()
    assert not (config.folder() / "journal").exists()
    with pytest.raises(UsageError, match="the context of the solver is too small for"):
        asyncio.run(preview(config, LogCallbacks()))
