"""Which model plays which role, and which of its settings make another data set."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import config
from pipeline.config.models import ROLES, ModelConfig, Prices
from pipeline.errors import UsageError
from pipeline.run import prepare
from pipeline.types import Usage

TINY = Path(__file__).parents[1] / "llm" / "tiny-tool-caller.gguf"
FILE = """
[models.default]
provider = "openai"
model = "small"
base_url = "http://localhost:8000/v1"
api_key_env = "SMALL_KEY"
prices = {prompt = 2, completion = 6, cached = 0.5}

[models.judge]
model = "large"
sampling = {temperature = 0.0}

[models.solver]
provider = "embedded"
model = "embedded"
"""


@pytest.fixture
def mixed_config(tmp_path: Path) -> config.RunConfig:
    file = tmp_path / "run.toml"
    file.write_text(FILE)
    return config.build(file=file)


def test_a_role_inherits_missing_settings_from_the_default(mixed_config: config.RunConfig) -> None:
    judge = mixed_config.models.of("judge")
    assert (judge.model, judge.provider, judge.base_url, judge.api_key_env) == (
        "large", "openai", "http://localhost:8000/v1", "SMALL_KEY",
    )  # fmt: skip
    assert {role: mixed_config.models.of(role).model for role in ROLES} == {
        "generator": "small", "refiner": "small", "curator": "small", "solver": "embedded", "seeker": "small",
        "teacher": "small", "judge": "large", "reader": "small", "writer": "small",
    }  # fmt: skip
    assert config.RunConfig.model_validate(mixed_config.model_dump()) == mixed_config


def test_prices_names_and_weights_are_not_inherited(mixed_config: config.RunConfig) -> None:
    usage = Usage(calls=1, prompt_tokens=1000)
    assert mixed_config.models.of("judge").cost(usage) is None
    assert mixed_config.models.of("generator").cost(usage) is not None
    values = {"default": {"provider": "openai", "model": "small"}, "solver": {"provider": "embedded"}}
    weights = {"provider": "gguf", "file": str(TINY)}
    models = config.build(values={"models": {**values, "judge": weights}}).models
    assert not models.of("solver").capabilities.understands
    assert models.of("judge").model.startswith("tiny-tool-caller@")


def test_only_the_roles_that_differ_are_digested(mixed_config: config.RunConfig) -> None:
    digested = mixed_config.digest_input()
    assert set(digested["models"]) == {"default", "judge", "solver", "policies"}
    judge, default = digested["models"]["judge"], digested["models"]["default"]
    assert set(judge) == {"model", "sampling", "context", "reasoning", "trainable", "tools", "version"}
    assert (set(default), default["version"]) == (set(judge), None)
    built_in = config.build().digest_input()["models"]["default"]
    assert set(built_in) == {"model", "sampling", "trainable", "tools", "version"}
    assert "SMALL_KEY" not in str(digested)


def test_one_name_is_one_model() -> None:
    values = {
        "default": {"provider": "openai", "model": "m", "base_url": "http://one/v1"},
        "judge": {"base_url": "http://two/v1"},
    }
    with pytest.raises(UsageError, match="'m' at different addresses"):
        config.build(values={"models": values})


def test_the_last_source_that_names_addresses_counts(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(FILE.replace("base_url = ", "base_urls = ['http://b:1/v1/', 'http://b:1/v1', 'http://c:1/v1'] #"))
    models = config.build(file=file).models
    assert models.default.base_urls == models.of("judge").base_urls == ("http://b:1/v1", "http://c:1/v1")
    assert [endpoint.base_url for endpoint in models.default.each()] == ["http://b:1/v1", "http://c:1/v1"]
    for setting in ('models.default.base_url="http://d/v1"', 'models.default.base_urls=["http://d/v1"]'):
        assert config.build(file=file, sets=[setting]).models.of("judge").base_urls == ("http://d/v1",)
    elsewhere = config.build(file=file, sets=['models.judge.base_url="http://c:1/v2"']).models.of("judge")
    assert (elsewhere.base_urls, elsewhere.api_key_env) == (("http://c:1/v2",), "SMALL_KEY")
    models = config.build(file=file, sets=['models.judge.base_urls=["http://b:1/v1", "http://d/v1"]']).models
    assert models.of("judge").api_key_env == ""


def test_a_models_address_is_not_digested_and_its_context_is(mixed_config: config.RunConfig) -> None:
    urls = ["models.default.base_urls=['http://b/v1', 'http://c/v1']"]
    values = mixed_config.model_dump()
    assert config.build(values=values, sets=urls).digest() == mixed_config.digest()
    assert config.build(values=values, sets=["models.default.context=65536"]).digest() != mixed_config.digest()
    assert config.build(values=values, sets=urls).seeds_at_work() > mixed_config.seeds_at_work()


def test_trainable_is_not_inherited_and_is_digested() -> None:
    models = {"default": {"provider": "openai", "model": "m", "trainable": False}, "judge": {"model": "j"}}
    built = config.build(values={"models": models})
    assert (built.models.of("solver").trainable, built.models.of("judge").trainable) == (False, True)
    assert built.digest() != config.build(values={"models": models}, sets=["models.default.trainable=true"]).digest()


def test_a_context_is_not_inherited_by_another_model() -> None:
    values = {"default": {"provider": "openai", "model": "m", "context": 131_072}, "judge": {"model": "j"}}
    values["teacher"] = {"sampling": {"max_tokens": 100_000}}
    values["reader"] = {"provider": "gguf", "file": str(TINY)}
    with pytest.raises(UsageError, match="models.teacher: sampling.max_tokens = 100000"):
        config.build(values={"models": values})
    values["teacher"] = {"sampling": {"max_tokens": 60_000}}
    models = config.build(values={"models": values}).models
    contexts = {role: models.of(role).context for role in ("generator", "judge", "teacher", "reader")}
    assert contexts == {"generator": 131_072, "judge": 32_768, "teacher": 131_072, "reader": 16_384}
    assert (models.of("generator").room, models.of("teacher").room) == (98_304, 71_072)


def test_prices_are_per_million_tokens(mixed_config: config.RunConfig) -> None:
    usage = Usage(calls=1, prompt_tokens=1_000_000, cached_tokens=500_000, completion_tokens=100_000)
    assert mixed_config.models.default.cost(usage) == pytest.approx(1.0 + 0.25 + 0.6)
    assert Prices(prompt=2, completion=6).of(usage) == pytest.approx(2.6)
    assert ModelConfig(provider="openai", model="m").cost(usage) is None
    assert ModelConfig().cost(usage) == 0


def test_the_public_endpoint_needs_a_key_and_a_money_budget_needs_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = {"provider": "openai", "model": "m"}
    with pytest.raises(UsageError, match="needs an API key: set the environment variable OPENAI_API_KEY"):
        prepare.check(config.build(values={"models": {"default": model}}))
    local = {**model, "base_url": "http://localhost:1/v1"}
    with pytest.raises(UsageError, match=r"models\.default\.prices"):
        prepare.check(config.build(values={"models": {"default": local}, "runtime": {"budget_money": 1}}))
    models = {"default": {**local, "prices": {"prompt": 1, "completion": 1}}, "judge": {"model": "large"}}
    with pytest.raises(UsageError, match=r"prices of 'large': set models\.judge\.prices"):
        prepare.check(config.build(values={"models": models, "runtime": {"budget_money": 1}}))


def make_thinking(tokens: int, **values: Any) -> config.RunConfig:
    model = {"provider": "openai", "model": "m", "context": 131_072, "sampling": {"max_tokens": tokens}}
    return config.build(values={"models": {"default": model}, **values})


def test_limits_leave_room_for_32k_tokens_of_reasoning_in_every_turn() -> None:
    built, usual = make_thinking(32_768), make_thinking(4096)
    model = built.models.of("solver")
    assert built.solver.turns == usual.solver.turns == 16
    assert built.solver.tokens >= built.solver.turns * (32_768 + 65_536)
    assert built.generator.tokens >= built.generator.turns * (32_768 + 65_536)
    assert model.room == 131_072 - 32_768
    slowest = 32_768 / model.limits.timeout_seconds
    assert slowest < 31
    assert built.runtime.rollout_seconds is None
    assert (usual.solver, usual.generator) == (config.RunConfig().solver, config.RunConfig().generator)
    assert usual.models.of("solver").limits.timeout_seconds == 300


def test_limits_that_are_set_are_kept() -> None:
    built = make_thinking(32_768, solver={"tokens": 1000}, runtime={"rollout_seconds": 5})
    assert (built.solver.tokens, built.runtime.rollout_seconds) == (1000, 5)
    assert built.generator.tokens > 400_000
    limited = config.build(values=built.model_dump(), sets=["models.default.limits.timeout_seconds=9"])
    assert limited.models.of("solver").limits.timeout_seconds == 9


@pytest.mark.parametrize(
    "setting",
    [
        "reasoning=keep", "sampling.top_k=20", "sampling.min_p=0.1", "sampling.seed=0",
        "sampling.extra_body={chat_template_kwargs={enable_thinking=false}}",
    ],
)  # fmt: skip
def test_reasoning_and_sampling_are_digested(setting: str) -> None:
    plain = make_thinking(4096)
    assert config.build(values=plain.model_dump(), sets=[f"models.default.{setting}"]).digest() != plain.digest()


POLICIES = {
    "default": {
        "provider": "openai",
        "model": "m",
        "base_url": "http://one/v1",
        "prices": {"prompt": 1, "completion": 1},
    },
    "policies": {"small-1": {"model": "p"}, "same": {"sampling": {"temperature": 0.5}}},
}


def test_a_policy_inherits_missing_settings_from_the_default_and_is_digested_by_name() -> None:
    built = config.build(values={"models": POLICIES})
    small, same = built.models.policies.values()
    assert (small.model, small.base_url, small.prices) == ("p", "http://one/v1", None)
    assert (same.model, same.prices) == ("m", built.models.default.prices)
    assert config.RunConfig.model_validate(built.model_dump()) == built
    assert set(built.digest_input()["models"]) == {"default", "policies"}
    assert set(built.digest_input()["models"]["policies"]) == {"small-1", "same"}
    assert built.models.names() == "m + p"
    without = config.build(values={"models": {"default": POLICIES["default"]}})
    assert without.digest_input()["models"]["policies"] == {}
    assert without.digest() != built.digest()
    moved = config.build(values={"models": POLICIES}, sets=['models.policies.small-1.base_url="http://two/v1"'])
    assert (moved.models.policies["small-1"].base_urls, moved.digest()) == (("http://two/v1",), built.digest())


def test_the_policy_is_digested_only_with_a_band() -> None:
    def build(*sets: str) -> config.RunConfig:
        return config.build(values={"models": POLICIES}, sets=sets)

    plain, for_policy = build(), build("policy=same")
    assert (for_policy.digest(), for_policy.gates.policy) == (plain.digest(), "same")
    assert "policy" not in plain.digest_input()
    assert build("policy=same", "gates.policy=small-1").gates.policy == "small-1"
    digests = {build(*sets).digest() for sets in ((), ("solve_rate=0.2-0.8",), ("solve_rate=0.2-0.8", "policy=same"))}
    assert len(digests) == 3
    assert build("solve_rate=[0.2, 0.8]").solve_rate == build("solve_rate=0.2-0.8").solve_rate == (0.2, 0.8)


def test_a_role_inherits_every_missing_key_of_sampling_and_limits() -> None:
    default = {
        "provider": "openai",
        "model": "small",
        "sampling": {"max_tokens": 9000, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
        "limits": {"requests_per_minute": 60},
    }
    role = {"sampling": {"temperature": 0.3}, "limits": {"timeout_seconds": 99.0}}
    solver = config.build(values={"models": {"default": default, "solver": role}}).models.of("solver")
    assert (solver.sampling.temperature, solver.sampling.max_tokens) == (0.3, 9000)
    assert solver.sampling.extra_body == {"chat_template_kwargs": {"enable_thinking": False}}
    assert (solver.limits.timeout_seconds, solver.limits.requests_per_minute) == (99.0, 60)
