"""`remeasure` combines the model of the run with its options."""

from pathlib import Path

import pytest

from pipeline.cli import remeasure
from pipeline.config.models import ModelConfig, Models

TINY = Path(__file__).parents[1] / "llm" / "tiny-tool-caller.gguf"


def test_another_solver_gets_its_own_name_weights_and_prices() -> None:
    before = ModelConfig.model_validate(
        {"provider": "openai", "model": "m", "base_url": "http://one/v1", "prices": {"prompt": 1, "completion": 2}}
    )
    models = Models.model_validate({"default": {"provider": "openai", "model": "d"}, "policies": {"mine": before}})
    weights = remeasure._configure_model(models, "mine", f"gguf:{TINY}", None)
    assert weights.model.startswith("tiny-tool-caller@")
    assert weights.limits.concurrency == 2
    other_model = remeasure._configure_model(models, "mine", "openai:n", None)
    assert (other_model.base_url, other_model.prices) == ("http://one/v1", None)
    same_model = remeasure._configure_model(models, "mine", None, ["http://two/v1"])
    assert (same_model.model, same_model.base_url, same_model.prices) == ("m", "http://two/v1", before.prices)
    assert remeasure._configure_model(models, "mine", None, None) is None
    assert remeasure._configure_model(models, "other", "openai:n", None).prices is None


def test_the_address_of_the_run_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = {"provider": "openai", "model": "d", "base_url": "https://api.openai.com/v1"}
    models = Models.model_validate({"default": openai})
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    chosen = remeasure._configure_model(models, "mine", "openai:n", None)
    assert chosen is not None
    assert chosen.base_url == "https://api.openai.com/v1"
