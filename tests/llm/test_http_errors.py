"""Error answers of real servers, and the action that each leads to."""

from typing import Any

import pytest

from pipeline.config.models import ModelConfig
from pipeline.errors import RequestRefused
from pipeline.llm.base import Finish
from pipeline.llm.http_errors import Refusal, RefusalAction, refusal_action


def make_model(**settings: Any) -> ModelConfig:
    return ModelConfig.model_validate(
        {"provider": "openai", "model": "m", "base_url": "http://there/v1", "api_key_env": "THE_KEY", **settings}
    )


def decide(
    status: int, message: str = "", code: str = "", *, answered: bool = False, after: float | None = None
) -> RefusalAction:
    refusal = Refusal(status, message, code, after, make_model())
    return refusal_action(refusal, frozenset(), frozenset({"model", "seed"}) if answered else frozenset())


def get_finish(action: RefusalAction) -> Finish | None:
    return None if action.failure or action.concession else action.finish


@pytest.mark.parametrize(
    ("status", "message", "code", "mentioned"),
    [
        (401, "Incorrect API key provided: sk-abc", "invalid_api_key", "THE_KEY"),
        (401, "Unauthorized", "", "THE_KEY"),
        (404, "The model `m` does not exist.", "404 NotFoundError", "'m'"),
        (404, "Resource not found", "404", "add ?api-version=2024-10-21 to the address"),
        (402, "", "", "THE_KEY"),
        (429, "You exceeded your current quota", "insufficient_quota", "THE_KEY"),
        (307, "", "", "base_url"),
        (403, "Your credit balance is too low", "", "quota"),
    ],
)
def test_errors_that_waiting_cannot_mend_are_fatal(status: int, message: str, code: str, mentioned: str) -> None:
    failure = decide(status, message, code).failure
    assert failure is not None
    assert failure.kind == "fatal"
    assert mentioned in str(failure)
    assert "sk-" not in str(failure)


@pytest.mark.parametrize(("status", "mentioned"), [(403, "THE_KEY"), (400, "refuses every request")])
def test_an_unknown_refusal_may_be_the_keys_or_the_requests_fault(status: int, mentioned: str) -> None:
    failure = decide(status, "Something we have never heard of").failure
    assert failure is not None
    assert failure.kind == "refused"
    assert mentioned in str(failure)
    assert "THE_KEY" not in failure.request_line


def test_a_403_is_a_refusal_even_after_earlier_answers() -> None:
    failure = decide(403, "moderation", answered=True).failure
    assert failure is not None
    assert failure.kind == "refused"


def test_a_401_without_a_key_names_the_setting_for_its_variable() -> None:
    refusal = Refusal(401, "", "", None, make_model(api_key_env=""))
    line = str(refusal_action(refusal, frozenset()).failure)
    assert "--set models.default.api_key_env=NAME" in line
    assert "OPENAI_API_KEY" not in line, "nobody is advised to send OpenAI's key elsewhere"


def test_a_401_for_a_key_in_a_header_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "canary")
    refusal = Refusal(401, "", "", None, make_model(api_key_env="", headers={"api-key": "${GATEWAY_KEY}"}))
    assert str(refusal_action(refusal, frozenset()).failure).endswith("environment variable GATEWAY_KEY")


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached on tokens per minute. Please try again in 2.1s. Upgrade at https://host/settings/billing",
        "You exceeded your current quota. Please retry in 32.1s.",
        "Limit: 3 / min. Please try again in 20s. Add a payment method to raise it.",
    ],
)
def test_a_limit_per_minute_is_throttling_whatever_else_the_message_offers(message: str) -> None:
    failure = decide(429, message, "rate_limit_exceeded", after=2.0).failure
    assert failure is not None
    assert (failure.kind, failure.after) == ("throttled", 2.0)


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ("No endpoints found that support tool use.", ""),
        ("No endpoints found that support the provided 'tool_choice' value.", "tool_choice"),
    ],
)
def test_a_404_that_names_a_parameter_gives_up_that_parameter(message: str, lacks: str) -> None:
    assert decide(404, message).concession == lacks


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
def test_temporary_errors_are_retried(status: int) -> None:
    failure = decide(status, "Loading model", after=3.0, answered=True).failure
    assert failure is not None
    kind = {429: "throttled", 500: "inside"}.get(status, "passing")
    assert (failure.kind, failure.after) == (kind, 3.0)


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000", "400 BadRequestError"),
        (400, "the request exceeds the available context size", "400 exceed_context_size_error"),
        (400, "too long", "context_length_exceeded invalid_request_error"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        (413, "Please reduce the length of the messages", ""),
        (400, "The input token count (5000) exceeds the maximum number of tokens allowed (3000).", "400"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", "Validation"),
        (500, "the input does not fit the context window", ""),
    ],
)
def test_a_context_overflow_is_a_finish_of_its_own(status: int, message: str, code: str) -> None:
    assert get_finish(decide(status, message, code)) is Finish.CONTEXT


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', ""),
        ("registry.ollama.ai/x does not support tools", ""),
        ("Invalid value for `tool_choice`", "tool_choice"),
        ("Grammar error: json_schema is not supported", "response_format"),
        ("Unsupported parameter: 'max_completion_tokens'", "max_completion_tokens"),
        ("Unsupported value: 'temperature' does not support 0.7 with this model.", "temperature"),
        ("Unknown parameter: 'parallel_tool_calls'", "parallel_tool_calls"),
        ("Unrecognized request argument supplied: seed", "seed"),
        ("tools.0.function.strict: Extra inputs are not permitted", "strict"),
    ],
)
def test_a_refused_parameter_is_given_up(message: str, lacks: str) -> None:
    assert decide(400, message).concession == lacks


def test_a_parameter_that_was_given_up_is_not_named_again() -> None:
    refusal = Refusal(400, "seed", "", None, make_model())
    assert refusal_action(refusal, frozenset({"seed"})).failure is not None


def test_a_parameter_that_was_accepted_before_is_not_blamed() -> None:
    assert isinstance(decide(400, "bad seed", answered=True).failure, RequestRefused)


def test_an_unknown_or_filtered_refusal_ends_only_its_request() -> None:
    assert isinstance(decide(400, "blocked by the content management policy").failure, RequestRefused)
    assert isinstance(decide(422, "Something we have never heard of", answered=True).failure, RequestRefused)
