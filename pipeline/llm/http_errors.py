"""What to do about an error answer: retry, change the request, give the request up, or stop the run.

The status is not enough: servers report "too long" with 400 and 500, an exhausted quota with 429, and an unknown
parameter only in words.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from pipeline.config.models import ModelConfig
from pipeline.errors import RequestRefused
from pipeline.llm.base import Finish
from pipeline.llm.chat_body import Dialect
from pipeline.llm.concessions import find_concession
from pipeline.llm.retry import CallFailure, FailureKind

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|size|window)|maximum context|n_ctx\b"
    r"|prompt is too long|too many (?:input )?tokens|max_model_len|reduce the length|maximum number of tokens"
    r"|inputs` tokens \+ `max_new_tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance|payment", re.IGNORECASE)
_EMPTY = re.compile(r"insufficient_quota|credit balance", re.IGNORECASE)
"""Texts of a 429 for which waiting cannot help. The text of a limit per minute mentions billing and quotas too."""
_NO_ENDPOINT = re.compile(r"no endpoints found that support", re.IGNORECASE)
"""OpenRouter's 404 for a model that exists, but that no provider serves with a parameter of the request."""
_FILTER = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
_TEMPLATE = re.compile(r"jinja|chat.?template|TemplateError|roles must alternate|raise_exception", re.IGNORECASE)
"""Texts of a 500 if the chat template refuses the conversation (llama.cpp, TGI)."""
_BUSY = (408, 409, 425, 429)
_KINDS: dict[int, FailureKind] = {429: "throttled", 500: "inside"}


class Refusal(NamedTuple):
    """An error answer, without the key."""

    status: int
    message: str
    code: str
    after: float | None
    config: ModelConfig
    """The configuration of the endpoint."""
    param: str = ""
    """The path of the field that the error names."""


class RefusalAction(NamedTuple):
    """A failure, a concession that may help, or else an empty answer with that `finish` and a warning."""

    failure: CallFailure | RequestRefused | None = None
    concession: str = ""
    finish: Finish = Finish.CONTEXT
    line: str = ""

    @property
    def is_refusal(self) -> bool:
        return isinstance(self.failure, RequestRefused) or (self.failure is not None and self.failure.kind == "refused")


def refusal_action(
    refusal: Refusal,
    without: Dialect,
    accepted: Dialect = frozenset(),
    changes: Callable[[str], bool] = lambda name: True,
) -> RefusalAction:
    """Decide what to do about a refusal.

    Args:
        refusal: What the endpoint answered.
        without: The concessions that were made already.
        accepted: The parameters of requests that the endpoint has answered. It does not refuse these as such.
        changes: Whether a concession would change the request at all.
    """
    status, config, text = refusal.status, refusal.config, f"{refusal.code} {refusal.message}"
    at = config.base_url
    refused = RequestRefused(f"{at} refused a request ({status}{refusal.message and f': {refusal.message}'})")
    if status == 403 and not _QUOTA.search(text):
        return RefusalAction(CallFailure(_describe_refused_key(refusal), "refused", request_line=str(refused)))
    if line := _describe_fatal(refusal, text):
        return RefusalAction(CallFailure(line, "fatal"))
    if status not in _BUSY and _OVERFLOW.search(text):
        line = f"a conversation exceeds the context of {config.model} ({refusal.message})"
        return RefusalAction(line=line)
    if status in _BUSY or (status >= 500 and not (status == 500 and _TEMPLATE.search(text))):
        line = f"{at} answered {status}" + (f" ({refusal.message})" if refusal.message else "")
        return RefusalAction(CallFailure(line, _KINDS.get(status, "passing"), after=refusal.after))
    if _FILTER.search(text):
        return RefusalAction(refused)

    def may_help(name: str) -> bool:
        # An endpoint may accept `auto` and refuse the name of a tool.
        return (name not in accepted or name == "tool_choice") and changes(name)

    if name := find_concession(refusal.param, text, without, may_help):
        return RefusalAction(concession=name)
    if accepted:
        return RefusalAction(refused)
    line = f"{at} refuses every request ({status}: {refusal.message})"
    return RefusalAction(CallFailure(line, "refused", request_line=str(refused)))


def _describe_fatal(refusal: Refusal, text: str) -> str:
    """Describe an error that waiting cannot fix, or return an empty text.

    The text of a 401 is left out, since it may contain the key or a part of it.
    """
    status, config = refusal.status, refusal.config
    if status == 401:
        return _describe_refused_key(refusal)
    if status == 404 and not _NO_ENDPOINT.search(text):
        line = f"{config.base_url} has no model '{config.model}', or the address is wrong (404: {refusal.message})"
        if refusal.message == "Resource not found" and "api-version" not in config.query:
            line += "; Azure needs a version: add ?api-version=2024-10-21 to the address"
        return line
    if status == 402 or (status == 403 and _QUOTA.search(text)) or (status == 429 and _EMPTY.search(text)):
        account = f"the account of the key in {config.key_name}" if config.key_name else "the account"
        return f"{config.base_url}: quota exhausted or billing required ({status}) for {account}"
    if 300 <= status < 400:
        return f"{config.base_url} answered {status}: redirects are not followed; set base_url to the final URL"
    return ""


def _describe_refused_key(refusal: Refusal) -> str:
    status, config = refusal.status, refusal.config
    names = dict.fromkeys(name for name in (config.key_name, *(name for name, _ in config.secrets())) if name)
    if names:
        valid = f"put a valid one into the environment variable {' or '.join(names)}"
        return f"{config.base_url} refused the key ({status}): {valid}"
    line = f"{config.base_url} needs a key ({status}): name the environment variable that holds it"
    return f"{line}, as in --set models.default.api_key_env=NAME"
