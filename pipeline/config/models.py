"""The settings of one model.

Model and sampling say *what* answers, and are part of the run's digest. Provider, address, key, limits and prices say
*how* it is reached, and may change between two commands that continue the same run.
"""

import os
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from pipeline.config import endpoints, toml
from pipeline.config.endpoints import Headers, Query, map_models, secrets
from pipeline.config.gguf_weights import name as weights_name
from pipeline.errors import UsageError
from pipeline.types import DEMO_MODELS, Data, Usage
from pipeline.types.capabilities import Capabilities
from pipeline.types.data import matching

BUILT_IN: Final = "embedded"
"""The provider of the demo models."""
PROVIDERS = (BUILT_IN, "openai", "gguf")
_HOMES = dict.fromkeys(DEMO_MODELS, "pipeline.demo")
"""The package of each demo model. It has the functions `capabilities` and `model`."""


def built_in(name: str) -> Any:
    """Return the package of the demo model with that name, or None for any other model."""
    return import_module(_HOMES[name]) if name in _HOMES else None


OURS = (
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stream", "n",
    "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "max_completion_tokens",
)  # fmt: skip
"""Fields of a request that other settings decide, or on which the parsing of answers depends."""


class Sampling(Data):
    temperature: float = 1.0
    """Sampling temperature. The judge's first answer is sampled at 0."""
    top_p: float = 0.95
    """Nucleus sampling: share of the probability mass to sample from."""
    max_tokens: int = 4096
    """Largest number of tokens of one answer, including its reasoning."""
    top_k: Annotated[int, Field(ge=-1)] | None = None
    """Sample from this many of the likeliest tokens. If left out, it is not sent."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Lowest probability of a token, as a share of the likeliest token's. If left out, it is not sent."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Random seed instead of the run's. Each request gets a seed derived from it and from the number of the rollout."""
    extra_body: dict[str, Any] | None = None
    """Additional fields of every request, such as `{chat_template_kwargs = {enable_thinking = true}}`. They are
    published with the settings, so put no secret here."""

    @field_validator("extra_body")
    @classmethod
    def _check_extra_body(cls, fields: dict[str, Any] | None) -> dict[str, Any] | None:
        if reserved := sorted(set(fields or ()) & set(OURS)):
            raise ValueError(f"must not set '{reserved[0]}', which other settings decide")
        return fields or None


LOCAL_LIMITS = {"concurrency": 2, "timeout_seconds": 3600.0}
"""Limits on a CPU, where one turn of an agent can take some minutes."""
LOCAL_CONTEXT = 16_384
"""Context on a CPU, where memory for the contexts of all calls is allocated at the start."""
LEAST_CONTEXT = 4096
SLOWEST = 30
"""Tokens per second that a server must write to stay within the default timeout."""
OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI = ".api.openai.com"
_MILLION = 1_000_000
ToolMode = Literal["native", "schema", "text"]
"""How a model calls tools: see `ModelConfig.tools`."""
ReasoningMode = Literal["keep", "strip"]
"""Whether a model gets its earlier reasoning back: see `ModelConfig.reasoning`."""


class Limits(Data):
    """Limits for one model at each of its addresses, over all roles that it plays."""

    concurrency: int = Field(64, ge=1, le=4096)
    """Largest number of calls in flight at one address. It is lowered while the endpoint answers 429."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Largest number of requests to one address per minute. If left out, no limit."""
    tokens_per_minute: int | None = Field(None, ge=1)
    """Largest number of prompt and completion tokens at one address per minute. If left out, no limit."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Seconds that one request may take, from sending it to the end of the answer."""
    attempts: int = Field(10, ge=1)
    """Number of attempts at one call at each address before its seed goes back to the queue."""
    patience_seconds: float = Field(600.0, gt=0)
    """Seconds without an answer from any address after which the run stops. It can be resumed."""


class Prices(Data):
    """Prices of a million tokens, in the currency of the budget."""

    prompt: float = Field(ge=0)
    """Price of a million prompt tokens."""
    completion: float = Field(ge=0)
    """Price of a million completion tokens."""
    cached: float | None = Field(None, ge=0)
    """Price of a million prompt tokens that the server reports as cached. If left out, `prompt`. Tokens that are only
    estimated to be cached cost `prompt`, so that an estimate never exceeds the budget."""

    def of(self, usage: Usage) -> float:
        cached_tokens = usage.cached_tokens - usage.estimated_cached_tokens
        full_tokens = usage.prompt_tokens - cached_tokens
        cached = self.prompt if self.cached is None else self.cached
        total = full_tokens * self.prompt + cached_tokens * cached + usage.completion_tokens * self.completion
        return total / _MILLION


class ModelConfig(Data):
    """One model. The demo model needs only its name."""

    provider: Literal["embedded", "openai", "gguf"] = BUILT_IN
    """`openai`: any server with OpenAI's Chat Completions API (OpenAI, vLLM, SGLang, llama.cpp, ...). `gguf`: a local
    file of weights. `embedded`: the demo model."""
    file: Path | None = None
    """File of weights for `gguf`, which runs in this process on the CPU."""
    model: str = Field(BUILT_IN, min_length=1)
    """Name of the model at its server. `embedded` is the demo model."""
    sampling: Sampling = Sampling()
    reasoning: ReasoningMode = "strip"
    """Whether the model gets the reasoning of its earlier turns back within a tool loop: `keep`, as most reasoning
    models expect, or `strip`. If the server refuses one of them, a run uses the other and says so."""
    tools: Literal["auto", "native", "schema", "text"] = "auto"
    """How the model calls tools. `native`: with the server's own tool calls. `schema`: each turn is one JSON object
    with a tool's name and its arguments, by structured output. `text`: the system prompt explains how to write a call.
    `auto`: one that works, as found by `digsite doctor` or by a short call at the start of a run."""
    context: int = Field(32_768, ge=LEAST_CONTEXT)
    """Context length of the server in tokens, for prompt and completion together. No request is larger than three
    quarters of it."""
    base_urls: tuple[Annotated[str, AfterValidator(endpoints.check_url)], ...] = Field(
        ("https://api.openai.com/v1",), min_length=1
    )
    """Addresses of servers that all serve this model; calls are spread over them. For a single one, `base_url` works
    too. If left out, the value of `OPENAI_BASE_URL`, or OpenAI's own address."""
    api_key_env: Annotated[
        str, matching(r"([A-Za-z_][A-Za-z0-9_]*)?", "must be the name of a variable, not the key itself")
    ] = ""
    """Name of the environment variable with the API key, which is never stored. If left out, `OPENAI_API_KEY` is sent
    to the server of `OPENAI_BASE_URL`, or to OpenAI if that is not set, and no key to any other server."""
    query: Query = Field(default_factory=dict)
    """Parameters added to the URL of every request, such as `{api-version = "2024-10-21"}`. `${NAME}` in a value stands
    for an environment variable. The query of `base_url` is moved here."""
    headers: Headers = Field(default_factory=dict)
    """Headers added to every request, such as `{api-key = "${AZURE_KEY}"}`. `${NAME}` stands for an environment
    variable; secrets must be written this way. These headers replace those that Digsite would send."""
    limits: Limits = Limits()
    prices: Prices | None = None
    """If left out, costs are unknown; they are never guessed."""
    trainable: bool = True
    """Whether other models may be trained on this model's output, which the terms of some providers forbid. It becomes
    the column `trainable`."""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, tree: Any) -> Any:
        """Normalise the addresses, and add the defaults that depend on other settings."""
        if not isinstance(tree, dict):
            return tree
        tree = endpoints.normalize_url(tree)
        if "base_url" in tree:
            raise ValueError("takes base_url or base_urls, not both")
        tree = endpoints.move_query(endpoints.add_default_url(tree) if tree.get("provider") == "openai" else tree)
        if tree.get("provider") != "gguf" or not (file := tree.get("file")):
            return _extend_timeout(tree)
        tree = tree if "model" in tree else {**tree, "model": weights_name(Path(file).resolve())}
        limits = tree.get("limits", {})
        limits = {**LOCAL_LIMITS, **limits} if isinstance(limits, dict) else limits
        return {"context": LOCAL_CONTEXT, **tree, "file": str(Path(file).resolve()), "limits": limits}

    @field_validator("base_urls")
    @classmethod
    def _drop_repeats(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(urls))

    @model_validator(mode="after")
    def _check_consistency(self) -> "ModelConfig":
        if self.built_in and built_in(self.model) is None:
            raise ValueError(f"missing `provider` for model '{self.model}': set provider = 'openai'")
        if self.capabilities.limited and (tokens := self.sampling.max_tokens) > self.context // 2:
            raise ValueError(
                f"sampling.max_tokens = {tokens} is more than half of context = {self.context}: "
                "lower it, or set context to what the server takes"
            )
        return self

    @property
    def base_url(self) -> str:
        return self.base_urls[0]

    def each(self) -> list["ModelConfig"]:
        """Return one model for each address."""
        return [self.model_copy(update={"base_urls": (url,)}) for url in self.base_urls]

    @property
    def built_in(self) -> bool:
        return self.provider == BUILT_IN

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model can do. The demo model declares it, also through `digsite serve-model`."""
        home = built_in(self.model)
        return home.capabilities() if home else Capabilities()

    @property
    def may_train(self) -> bool:
        return self.trainable and self.capabilities.trainable

    @property
    def calls(self) -> ToolMode:
        """How the model calls tools; `native` if the mode was not looked for."""
        return "native" if self.tools == "auto" else self.tools

    @property
    def keeps_thoughts(self) -> bool:
        return self.reasoning == "keep"

    @property
    def room(self) -> int | None:
        """Return the largest request in tokens that leaves room for the completion, or None without a limit."""
        limited = self.capabilities.limited
        return min(self.context * 3 // 4, self.context - self.sampling.max_tokens) if limited else None

    @property
    def concurrency(self) -> int:
        return self.limits.concurrency * len(self.base_urls)

    @property
    def at_openai(self) -> bool:
        parts = urlsplit(self.base_url)
        return parts.scheme == "https" and f".{parts.hostname}".endswith(_OPENAI)

    @property
    def loopback(self) -> bool:
        return endpoints.on_loopback(self.base_url)

    @property
    def key_name(self) -> str:
        """Return the environment variable with the key for the endpoint; empty if it gets none.

        OPENAI_API_KEY is only for the server that OPENAI_BASE_URL names, as in OpenAI's SDK.
        """
        if self.api_key_env:
            return self.api_key_env
        redirected = bool(endpoints.base_url_from_environment())
        gets_key = endpoints.is_server_from_environment(self.base_url) if redirected else self.at_openai
        return OPENAI_KEY if gets_key else ""

    def key(self) -> str:
        """Return the key, or "" if there is none to send. Raise UsageError for an invalid key."""
        key = os.environ.get(self.key_name, "").strip() if self.key_name else ""
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError(f"the value of {self.key_name} is not a valid key: it has spaces or odd characters")
        return key

    def secrets(self) -> list[tuple[str, str]]:
        """Return all secrets for the endpoint, each with its environment variable.

        Raises UsageError for one that is missing or cannot be sent.
        """
        key = self.key()
        return [*([(self.key_name, key)] if key else []), *secrets(self.headers), *secrets(self.query)]

    def missing_key(self) -> str:
        """Return one line on the key that OpenAI's own endpoint lacks, or "" if it lacks none."""
        if not self.at_openai or self.key() or "authorization" in self.headers:
            return ""
        if self.key_name:
            return f"{self.base_url} needs an API key: set the environment variable {self.key_name}"
        return (
            f"{self.base_url} needs an API key, and {OPENAI_KEY} is for the server in {endpoints.BASE_URL_ENV}: "
            "name the variable that holds OpenAI's own in api_key_env"
        )

    def key_warning(self) -> str:
        """Return a one-line warning about where the key goes, or "" if there is none."""
        if self.provider != "openai" or self.loopback:
            return ""
        if self.key() and urlsplit(self.base_url).scheme == "http":
            return f"the key in {self.key_name} goes to {self.base_url} unencrypted: use https if the server has it"
        if not self.key_name and not self.secrets() and os.environ.get(OPENAI_KEY, "").strip():
            redirected = bool(endpoints.base_url_from_environment())
            owner = f"the server in {endpoints.BASE_URL_ENV}" if redirected else "OpenAI's own endpoint"
            return (
                f"{self.base_url} gets no key: {OPENAI_KEY} is for {owner}; if this one needs a key, "
                "name the variable that holds it: --set models.default.api_key_env=NAME"
            )
        return ""

    def digest_input(self) -> dict[str, Any]:
        """Return the settings that are part of the run's digest; not the provider, since a name means one model."""
        limits = {"context", "reasoning"} if self.capabilities.limited else set()
        tree = self.model_dump(mode="json", include={"model", "sampling", "trainable", *limits})
        return {**tree, "tools": self.calls, "version": self.capabilities.version}

    def cost(self, usage: Usage) -> float | None:
        if self.provider != "openai":
            return 0.0
        return self.prices.of(usage) if self.prices else None


def _extend_timeout(tree: dict[str, Any]) -> dict[str, Any]:
    """Allow enough time for the longest answer, unless the user set a timeout."""
    sampling, limits = tree.get("sampling"), tree.get("limits", {})
    longest = sampling.get("max_tokens") if isinstance(sampling, dict) else getattr(sampling, "max_tokens", None)
    if not isinstance(longest, int) or not isinstance(limits, dict) or "timeout_seconds" in limits:
        return tree
    seconds = max(Limits().timeout_seconds, float(longest // SLOWEST))
    return {**tree, "limits": {**limits, "timeout_seconds": seconds}}


_OF_ONE_MODEL = {"prices", "context", "trainable", "tools"}
_OF_ONE_SERVER = {"api_key_env", "headers", "query"}


def inherit(base: dict[str, Any], role: dict[str, Any]) -> dict[str, Any]:
    """Complete the settings of a role with those of the base model.

    Another model does not inherit prices, context, tool mode and terms; one at another server does not inherit key,
    headers and query; one of another provider does not inherit name and weights. `sampling` and `limits` are inherited
    key by key.
    """
    inherited, role = endpoints.normalize_url(base), endpoints.normalize_url(role)
    if role.get("model", base.get("model")) != base.get("model"):
        inherited = _without(inherited, _OF_ONE_MODEL)
    base_urls = inherited.get("base_urls")
    if not endpoints.servers(role.get("base_urls", base_urls)) <= endpoints.servers(base_urls):
        inherited = _without(inherited, _OF_ONE_SERVER)
    if role.get("provider", base.get("provider", BUILT_IN)) != base.get("provider", BUILT_IN):
        inherited = _without(inherited, {"model", "file", *_OF_ONE_MODEL})
    tables: dict[str, Any] = {name: role[name] for name in ("sampling", "limits") if name in role}
    return toml.merge(inherited, tables) | _without(role, set(tables))


def _without(tree: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in keys}


ROLES = ("generator", "refiner", "curator", "solver", "seeker", "teacher", "judge", "reader", "writer")
PolicyName = Annotated[
    str, matching(r"[a-z0-9][a-z0-9_-]{0,39}", "the name must be of small letters, digits, - and _, 40 at most")
]
"""A name that is also used for files."""


class Models(Data):
    """The model of every role. Roles, and keys of a role, that are left out are taken from the default."""

    default: ModelConfig = ModelConfig()
    generator: ModelConfig | None = None
    refiner: ModelConfig | None = None
    curator: ModelConfig | None = None
    solver: ModelConfig | None = None
    seeker: ModelConfig | None = None
    """The model that looks for shortcuts."""
    teacher: ModelConfig | None = None
    judge: ModelConfig | None = None
    writer: ModelConfig | None = None
    """The model that writes distractors."""
    reader: ModelConfig | None = None
    """The model of the checks that read passages."""
    policies: dict[PolicyName, ModelConfig] = Field(default_factory=dict)
    """The models that will be trained, by names that you choose. Every accepted pair is measured with each of them."""

    @model_validator(mode="before")
    @classmethod
    def _fill_roles(cls, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        if not isinstance(base := tree.get("default", {}), dict):
            return tree
        return map_models(tree, partial(inherit, base))

    @model_validator(mode="after")
    def _check_addresses(self) -> "Models":
        # Answers are cached under the model's name, so one name must mean one model.
        first_by_name: dict[str, ModelConfig] = {}
        for model in self.all():
            first = first_by_name.setdefault(model.model, model)
            if (first.provider, set(first.base_urls)) != (model.provider, set(model.base_urls)):
                raise ValueError(f"two roles have a model '{model.model}' at different addresses")
        return self

    def of(self, role: str) -> ModelConfig:
        return getattr(self, role) or self.default

    def judges(self) -> tuple[ModelConfig, ...]:
        """Return the models that must all say yes for an answer to count as right.

        They are the judge and, if possible, a second model: not the generator's unless the judge is that already, and
        preferably not the solver's. Without a second model the judge is asked twice. The demo model, which goes by
        rules, is asked once. Models that will be trained never judge, so that all their checkpoints get the same
        grades.
        """
        judge = self.of("judge")
        if not judge.capabilities.understands:
            return (judge,)
        biased = [self.of("generator").model, self.of("solver").model]
        models = [self.default, *map(self.of, ROLES)]
        candidates = {
            model.model: model for model in models if model.model != judge.model and model.capabilities.understands
        }
        ranked = sorted(candidates.values(), key=lambda model: [model.model == name for name in biased])
        if ranked and (judge.model == biased[0] or ranked[0].model != biased[0]):
            return judge, ranked[0]
        return judge, judge

    def names(self) -> str:
        """Return the names of all models in use, the generator's first, without repeats."""
        return " + ".join(dict.fromkeys(model.model for model in self.in_use()))

    def with_several_roles(self) -> list[tuple[str, list[str]]]:
        """Return the models that play more than one of generator, solver and judge, with those roles."""
        roles: dict[str, list[str]] = {}
        for role in ("generator", "solver", "judge"):
            roles.setdefault(self.of(role).model, []).append(role)
        return [(model, its_roles) for model, its_roles in roles.items() if len(its_roles) > 1]

    def in_use(self) -> list[ModelConfig]:
        """Return the model of each role, then those that will be trained."""
        return [*map(self.of, ROLES), *self.policies.values()]

    def all(self) -> list[ModelConfig]:
        return [self.default, *self.in_use()]

    def by_setting(self) -> dict[str, ModelConfig]:
        return dict(zip(("default", *ROLES, *(f"policies.{name}" for name in self.policies)), self.all(), strict=True))

    def digest_input(self) -> dict[str, Any]:
        """Return the settings that are part of the run's digest. Roles that the default model plays are left out."""
        default = self.default.digest_input()
        roles = {role: self.of(role).digest_input() for role in ROLES}
        exceptions = {role: model for role, model in roles.items() if model != default}
        policies = {name: model.digest_input() for name, model in self.policies.items()}
        return {"default": default, **exceptions, "policies": policies}
