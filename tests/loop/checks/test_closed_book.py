"""What a model knows from memory is recorded, and is a shortcut if every policy model knows it."""

import orjson
import pytest

from pipeline.errors import FormatError
from pipeline.llm.base import Request
from pipeline.types import Cause
from pipeline.types.model_probe import known_to
from tests.loop.checks.reading import DRAFT, list_causes, make_context, run_checks
from tests.loop.checks.test_readings import run_reader
from tests.scripted_llm import ScriptedLLM


@pytest.mark.parametrize(("lucky", "is_shortcut"), [(1, False), (2, True), (3, True)])
async def test_what_the_policy_knows_by_heart_in_most_samples_is_a_shortcut(lucky: int, is_shortcut: bool) -> None:
    policy = {"provider": "openai", "model": "m"}
    answer = await run_reader(
        lambda titles, sample: not titles and sample < lucky,
        run=("closed_book",),
        models={"policies": {"mine": policy}},
    )
    probes = [probe for probe in answer.probes if probe.check == "closed_book"]
    assert [(probe.model, probe.right) for probe in probes] == [("embedded", lucky), ("m", lucky)]
    assert list_causes(answer) == ([("closed_book", Cause.PRIOR_KNOWLEDGE)] if is_shortcut else [])


async def test_the_policy_is_asked_too_and_only_once_if_it_is_the_reader() -> None:
    small, large = ({"provider": "openai", "model": name} for name in ("small", "large"))

    def knows(request: Request) -> str:
        answer = "1641" if request.model == "small" else ""
        return orjson.dumps({"answer": answer}).decode()

    for policy, models in ((small, ["large", "small"]), (large, ["large"])):
        run_context = make_context(
            ScriptedLLM(knows), ("closed_book",), models={"default": large, "policies": {"mine": policy}}
        )
        answer = await run_checks(DRAFT, 3, run_context)
        assert [probe.model for probe in answer.probes] == models
        assert bool(answer.findings) is (policy is small)
        assert {prior.model for prior in known_to(answer.probes)} == set(models)
    assert "small" in (await run_checks(DRAFT, 3, make_context(ScriptedLLM(knows), ("closed_book",), models={
        "default": large, "policies": {"mine": small}}))).findings[0].detail  # fmt: skip


@pytest.mark.parametrize(("knowing", "fatal"), [(("a", "b"), True), (("a",), False), (("b",), False)])
async def test_a_question_is_of_use_to_a_policy_that_does_not_know_it(knowing: tuple[str, ...], fatal: bool) -> None:
    models = {
        "default": {"provider": "openai", "model": "m"},
        "policies": {"one": {"model": "a"}, "two": {"model": "b"}},
    }

    def knows(request: Request) -> str:
        return orjson.dumps({"answer": "1641" if request.model in knowing else ""}).decode()

    model = ScriptedLLM(knows)
    answer = await run_checks(DRAFT, 3, make_context(model, ("closed_book",), models=models))
    assert bool(answer.findings) is fatal
    banded = {"models": models, "solve_rate": "0.2-0.8", "policy": "one"}
    targeted = await run_checks(DRAFT, 3, make_context(model, ("closed_book",), **banded))
    assert bool(targeted.findings) is ("a" in knowing)


async def test_an_unreadable_policy_knows_nothing_and_an_unreadable_reader_is_an_error() -> None:
    policies = {"policies": {"mine": {"provider": "openai", "model": "p"}}}

    def says(request: Request) -> str:
        return "hm" if request.model == "p" else '{"answer": ""}'

    answer = await run_checks(DRAFT, 3, make_context(ScriptedLLM(says), ("closed_book",), models=policies))
    assert [(probe.model, probe.answers) for probe in answer.probes] == [("embedded", ("",) * 3), ("p", ("",) * 3)]
    with pytest.raises(FormatError):
        await run_checks(DRAFT, 3, make_context(ScriptedLLM(lambda request: "hm"), ("closed_book",), models=policies))


async def test_solver_and_policies_are_asked_from_memory_and_not_the_reader_of_the_checks() -> None:
    models = {name: {"provider": "openai", "model": name} for name in ("default", "solver")}
    models |= {"policies": {"mine": {"provider": "openai", "model": "mine"}}}  # type: ignore[dict-item]
    model = ScriptedLLM(lambda request: '{"answer": "%s"}' % ("" if request.model == "mine" else "1641"))
    answer = await run_checks(DRAFT, 3, make_context(model, ("closed_book", "oracle"), models=models))
    assert [(p.check, p.model) for p in answer.probes] == [
        ("closed_book", "solver"), ("closed_book", "mine"), ("oracle", "default"),
    ]  # fmt: skip
