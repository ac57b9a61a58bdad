"""One model: what it is, and where and how it is asked.

Model and sampling say *what* answers and are digested. Provider, address, key, limits and prices say *how* it is
reached: they may change between two commands that go on with the same run.
"""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from pipeline.config import address
from pipeline.config.providers import BUILT_IN, built_in
from pipeline.config.request_values import Headers, Query, secrets
from pipeline.config.sampling import Sampling
from pipeline.config.weights import name as weights_name
from pipeline.errors import UsageError
from pipeline.types import Data, Usage
from pipeline.types.capabilities import Capabilities
from pipeline.types.data import matching

LOCAL_LIMITS = {"concurrency": 2, "timeout_seconds": 3600.0}
"""On a CPU one turn of an agent takes up to some minutes."""
LOCAL_CONTEXT = 16_384
"""On a CPU; the memory for the contexts of all calls is allocated at the start."""
LEAST_CONTEXT = 4096
SLOWEST = 30
"""Tokens a second: a server that writes one answer slower than this runs into time limits that nobody has set."""
OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI = ".api.openai.com"
_MILLION = 1_000_000
ToolMode = Literal["native", "schema", "text"]
"""How a model is asked for calls of tools: see `ModelConfig.tools`."""
ReasoningMode = Literal["keep", "strip"]
"""Whether a model is sent its earlier reasoning: see `ModelConfig.reasoning`."""


class Limits(Data):
    """What one model is asked for at most at each of its addresses, over all roles that it plays."""

    concurrency: int = Field(64, ge=1, le=4096)
    """Most calls in flight at one address; lowered while the endpoint answers 429."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Requests sent to one address in a minute, at most; left out, no limit."""
    tokens_per_minute: int | None = Field(None, ge=1)
    """Prompt and completion tokens at one address in a minute, at most; left out, no limit."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Seconds that one request may take, from sending it to the end of the answer."""
    attempts: int = Field(10, ge=1)
    """Tries of one call at each address before its seed is put back into the queue."""
    patience_seconds: float = Field(600.0, gt=0)
    """Seconds without one answer from any address after which the run stops; it can be resumed."""


class Prices(Data):
    """Money for a million tokens, in whatever currency the budget is meant in."""

    prompt: float = Field(ge=0)
    """Price of a million prompt tokens."""
    completion: float = Field(ge=0)
    """Price of a million completion tokens."""
    cached: float | None = Field(None, ge=0)
    """Price of a million prompt tokens that the server had cached; left out, `prompt`. It holds for tokens that the
    server reports as cached. Estimated ones cost `prompt`, so that no budget is overspent by an estimate."""

    def of(self, usage: Usage) -> float:
        reported = usage.cached_tokens - usage.estimated_cached_tokens
        full = usage.prompt_tokens - reported
        cached = self.prompt if self.cached is None else self.cached
        return (full * self.prompt + reported * cached + usage.completion_tokens * self.completion) / _MILLION


class ModelConfig(Data):
    """One model. One that comes with the product needs no more than its name."""

    provider: Literal["embedded", "openai", "gguf"] = BUILT_IN
    """`openai`: any server with OpenAI's Chat Completions API (OpenAI, vLLM, SGLang, llama.cpp, ...); `gguf`: a
    local file of weights; `embedded`: the demo model."""
    file: Path | None = None
    """File of weights for `gguf`, which runs in this process on the CPU."""
    model: str = Field(BUILT_IN, min_length=1)
    """The model's name, as its server knows it; `embedded` is the demo model."""
    sampling: Sampling = Sampling()
    reasoning: ReasoningMode = "strip"
    """Whether the reasoning of earlier turns is sent back to the model within a tool loop (`keep`, as most reasoning
    models expect) or left out (`strip`). If the server refuses one of them, a run takes the other and says so."""
    tools: Literal["auto", "native", "schema", "text"] = "auto"
    """How the model calls tools. `native`: by the server's own tool calls. `schema`: each turn is one JSON object, a
    tool's name and its arguments, asked for by structured output. `text`: the system prompt says in words how a call is
    written. `auto`: whichever works, as `digsite doctor` found or one short call at the start of a run finds."""
    context: int = Field(32_768, ge=LEAST_CONTEXT)
    """Context length of the server in tokens, prompt and completion together. No request is larger than three
    quarters of it."""
    base_urls: tuple[Annotated[str, AfterValidator(address.check_url)], ...] = Field(
        ("https://api.openai.com/v1",), min_length=1
    )
    """Addresses of servers that all serve this model; calls are spread over them. A single one may be given as
    `base_url`. Left out, `OPENAI_BASE_URL` where it is set, else OpenAI's own."""
    api_key_env: Annotated[
        str, matching(r"([A-Za-z_][A-Za-z0-9_]*)?", "must be the name of a variable, not the key itself")
    ] = ""
    """Name of the environment variable that holds the API key. Left out, `OPENAI_API_KEY` is sent to the server of
    `OPENAI_BASE_URL`, or to OpenAI's own where that is not set, and no key to any other. The key itself is never
    stored."""
    query: Query = Field(default_factory=dict)
    """Parameters added to the URL of every request, such as `{api-version = "2024-10-21"}`. `${NAME}` in a value stands
    for an environment variable. The query of `base_url` is moved here."""
    headers: Headers = Field(default_factory=dict)
    """Headers added to every request, such as `{api-key = "${AZURE_KEY}"}`. `${NAME}` stands for an environment
    variable; a secret can only be given so. They replace the headers that Digsite would send."""
    limits: Limits = Limits()
    prices: Prices | None = None
    """Unknown prices make unknown costs, never a guess."""
    trainable: bool = True
    """Whether other models may be trained on this model's output; the terms of some providers forbid it. It becomes
    the column `trainable`."""

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, tree: Any) -> Any:
        """One address is a list of one. A file of weights names its model, and takes few calls at once, each of
        minutes."""
        if not isinstance(tree, dict):
            return tree
        tree = address.listed(tree)
        if "base_url" in tree:
            raise ValueError("takes base_url or base_urls, not both")
        tree = address.move_query(address.locate(tree) if tree.get("provider") == "openai" else tree)
        if tree.get("provider") != "gguf" or not (file := tree.get("file")):
            return _patient(tree)
        named = tree if "model" in tree else {**tree, "model": weights_name(Path(file).resolve())}
        limits = {**LOCAL_LIMITS, **given} if isinstance(given := tree.get("limits", {}), dict) else given
        return {"context": LOCAL_CONTEXT, **named, "file": str(Path(file).resolve()), "limits": limits}

    @field_validator("base_urls")
    @classmethod
    def _each_once(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(urls))

    @model_validator(mode="after")
    def _possible(self) -> "ModelConfig":
        if self.built_in and built_in(self.model) is None:
            raise ValueError(f"missing `provider` for model '{self.model}': say provider = 'openai'")
        if self.capabilities.limited and (most := self.sampling.max_tokens) > self.context // 2:
            raise ValueError(
                f"sampling.max_tokens = {most} is more than half of context = {self.context}: "
                "lower it, or set context to what the server takes"
            )
        return self

    @property
    def base_url(self) -> str:
        """The address of a model that has one; `each` gives such models."""
        return self.base_urls[0]

    def each(self) -> list["ModelConfig"]:
        """The model at each of its addresses alone."""
        return [self.model_copy(update={"base_urls": (url,)}) for url in self.base_urls]

    @property
    def built_in(self) -> bool:
        """Is it code of the product that answers, in this process?"""
        return self.provider == BUILT_IN

    @property
    def capabilities(self) -> Capabilities:
        """What the model states of itself, in this process or through `digsite serve-model`."""
        home = built_in(self.model)
        return home.capabilities() if home else Capabilities()

    @property
    def may_train(self) -> bool:
        """May models be trained on its output, as its user and it itself say?"""
        return self.trainable and self.capabilities.trainable

    @property
    def calls(self) -> ToolMode:
        """How it is asked for calls. A mode that nobody has looked for is the server's own."""
        return "native" if self.tools == "auto" else self.tools

    @property
    def keeps_thoughts(self) -> bool:
        return self.reasoning == "keep"

    @property
    def room(self) -> int | None:
        """Tokens that a request may have, so that completion and thinking fit; None where it has no limit."""
        limited = self.capabilities.limited
        return min(self.context * 3 // 4, self.context - self.sampling.max_tokens) if limited else None

    @property
    def concurrency(self) -> int:
        """Calls in flight at most, at all addresses together."""
        return self.limits.concurrency * len(self.base_urls)

    @property
    def at_openai(self) -> bool:
        parts = urlsplit(self.base_url)
        return parts.scheme == "https" and f".{parts.hostname}".endswith(_OPENAI)

    @property
    def loopback(self) -> bool:
        """Is the endpoint on this machine?"""
        return address.on_loopback(self.base_url)

    @property
    def key_name(self) -> str:
        """The environment variable whose key the endpoint is sent; empty where it is sent none.

        OPENAI_API_KEY belongs to one server: OPENAI_BASE_URL names it, as for every program that uses OpenAI's SDK.
        """
        if self.api_key_env:
            return self.api_key_env
        redirected = bool(address.base_url_from_environment())
        belongs = address.is_server_from_environment(self.base_url) if redirected else self.at_openai
        return OPENAI_KEY if belongs else ""

    def key(self) -> str:
        """The key, or nothing where there is none to send. Raises UsageError on what cannot be a key."""
        key = os.environ.get(self.key_name, "").strip() if self.key_name else ""
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError(f"the value of {self.key_name} is not a valid key: it has spaces or odd characters")
        return key

    def secrets(self) -> list[tuple[str, str]]:
        """Return each secret that the endpoint is sent, after the name of its environment variable. Raise UsageError
        for one that is missing or cannot be sent."""
        key = self.key()
        return [*([(self.key_name, key)] if key else []), *secrets(self.headers), *secrets(self.query)]

    def missing_key(self) -> str:
        """Return one line on the key that OpenAI's own endpoint lacks, or "" if it lacks none."""
        if not self.at_openai or self.key() or "authorization" in self.headers:
            return ""
        if self.key_name:
            return f"{self.base_url} needs an API key: set the environment variable {self.key_name}"
        return (
            f"{self.base_url} needs an API key, and {OPENAI_KEY} is for the server in {address.BASE_URL_ENV}: "
            "name the variable that holds OpenAI's own in api_key_env"
        )

    def key_warning(self) -> str:
        """What a person should know of where the key goes, in one line; empty where there is nothing to know."""
        if self.provider != "openai" or self.loopback:
            return ""
        if self.key() and urlsplit(self.base_url).scheme == "http":
            return f"the key in {self.key_name} goes to {self.base_url} unencrypted: use https if the server has it"
        if not self.key_name and not self.secrets() and os.environ.get(OPENAI_KEY, "").strip():
            redirected = bool(address.base_url_from_environment())
            owner = f"the server in {address.BASE_URL_ENV}" if redirected else "OpenAI's own endpoint"
            return (
                f"{self.base_url} gets no key: {OPENAI_KEY} is for {owner}; if this one needs a key, "
                "name the variable that holds it: --set models.default.api_key_env=NAME"
            )
        return ""

    def digested(self) -> dict[str, Any]:
        """The digested part. A name is one model wherever it is asked, so the provider is no part of it."""
        limits = {"context", "reasoning"} if self.capabilities.limited else set()
        tree = self.model_dump(mode="json", include={"model", "sampling", "trainable", *limits})
        return {**tree, "tools": self.calls, "version": self.capabilities.version}

    def cost(self, usage: Usage) -> float | None:
        """Money for the usage; None where no price is known. What runs on this machine is free."""
        if self.provider != "openai":
            return 0.0
        return self.prices.of(usage) if self.prices else None


def _patient(tree: dict[str, Any]) -> dict[str, Any]:
    """With time enough for the longest answer, where the tree names no time."""
    sampling, limits = tree.get("sampling"), tree.get("limits", {})
    longest = sampling.get("max_tokens") if isinstance(sampling, dict) else getattr(sampling, "max_tokens", None)
    if not isinstance(longest, int) or not isinstance(limits, dict) or "timeout_seconds" in limits:
        return tree
    seconds = max(Limits().timeout_seconds, float(longest // SLOWEST))
    return {**tree, "limits": {**limits, "timeout_seconds": seconds}}
