"""What an error status means: try again, ask otherwise, give this request up, or stop the run.

Statuses are not enough: servers say "too long" with 400 and 500, "out of money" with 429, and a parameter that they do
not know in words only.
"""

import re
from typing import NamedTuple

from pipeline.config.models import OPENAI_KEY
from pipeline.llm.base import Finish
from pipeline.llm.retry import CallFailure, Kind
from pipeline.llm.wire import Dialect

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|size|window)|maximum context|n_ctx\b"
    r"|prompt is too long|too many (?:input )?tokens|max_model_len|reduce the length|maximum number of tokens"
    r"|inputs` tokens \+ `max_new_tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance|payment", re.IGNORECASE)
_FILTER = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
REFUSABLE = {
    "parallel_tool_calls": r"parallel_tool_calls",
    "max_completion_tokens": r"max_completion_tokens|max_tokens",
    "response_format": r"response_format|json_schema|structured output",
    "temperature": r"\btemperature\b",
    "top_p": r"\btop_p\b",
    "seed": r"\bseed\b",
    "strict": r"\bstrict\b",
    "tool_choice": r"tool_choice",
    "tools": r"tool-call-parser|enable-auto-tool-choice|support (?:tools|tool use|function calling)|\btools\b",
}
"""What a server may refuse, and by which words it is told; more telling names first: `tool_choice` before `tools`."""
_BUSY = (408, 409, 425, 429)
_KINDS: dict[int, Kind] = {429: "throttled", 500: "inside"}


class Refusal(NamedTuple):
    """An error answer, without anything secret."""

    status: int
    said: str
    code: str
    after: float | None
    endpoint: str
    model: str
    key_name: str


class RefusalAction(NamedTuple):
    """Exactly one of `failure`, `finish` and `lacks` is set."""

    said: str
    failure: CallFailure | None = None
    finish: Finish | None = None
    lacks: str = ""
    """The parameter to leave out from now on."""


def judged(refusal: Refusal, without: Dialect, taken: Dialect = frozenset()) -> RefusalAction:
    """`taken` are the parameters of requests that the endpoint did answer: those it does not refuse as such, so that a
    bad request is that request's own fault."""
    status, text = refusal.status, f"{refusal.code} {refusal.said}"
    if status == 403 and not _QUOTA.search(text):
        return RefusalAction("", CallFailure(_key_refused(refusal), "refused", own=f"{refusal.endpoint} answered 403"))
    if failure := _fatal(refusal, text):
        return RefusalAction(str(failure), failure)
    if status not in _BUSY and _OVERFLOW.search(text):
        line = f"a conversation outgrew the context of {refusal.model} ({refusal.said})"
        return RefusalAction(line, finish=Finish.CONTEXT)
    if status in _BUSY or status >= 500:
        said = f"{refusal.endpoint} answered {status}" + (f" ({refusal.said})" if refusal.said else "")
        return RefusalAction(said, CallFailure(said, _KINDS.get(status, "passing"), after=refusal.after))
    if _FILTER.search(text):
        return RefusalAction(
            f"{refusal.model} would not answer a request ({refusal.said})", finish=Finish.CONTENT_FILTER
        )
    for name, told in REFUSABLE.items():
        # `auto` may be taken where the name of a tool is not.
        if name not in without and (name not in taken or name == "tool_choice") and re.search(told, text):
            return RefusalAction(refusal.said, lacks=name)
    said = f"{refusal.endpoint} takes no request of ours ({status}: {refusal.said})"
    if taken:
        return RefusalAction(said.replace("no request", "not every request"), finish=Finish.CONTENT_FILTER)
    return RefusalAction(said, CallFailure(said, "refused", own=refusal.said))


def _fatal(refusal: Refusal, text: str) -> CallFailure | None:
    """What no waiting mends. The text of a 401 is left out: it may hold the key, or half of it."""
    status = refusal.status
    if status == 401:
        line = _key_refused(refusal)
    elif status == 404:
        line = f"{refusal.endpoint} has no model '{refusal.model}', or is no such address (404: {refusal.said})"
    elif status == 402 or (status in (403, 429) and _QUOTA.search(text)):
        account = f"the account of the key in {refusal.key_name}" if refusal.key_name else "the account"
        line = f"{refusal.endpoint}: quota exhausted or billing required ({status}) for {account}"
    elif 300 <= status < 400:
        line = f"{refusal.endpoint} redirects ({status}), which is not followed: set base_url to the final address"
    else:
        return None
    return CallFailure(line, "fatal")


def _key_refused(refusal: Refusal) -> str:
    status, name = refusal.status, refusal.key_name
    if name:
        return f"{refusal.endpoint} refused the key ({status}): put a good one into the environment variable {name}"
    line = f"{refusal.endpoint} was sent no key and refused ({status}): name the environment variable of its key"
    return f"{line}, such as --set models.default.api_key_env={OPENAI_KEY}"
