"""What to do about an error answer: try again, change the request, give this request up, or stop the run.

The status is not enough: servers report "too long" with 400 and 500, an exhausted quota with 429, and an unknown
parameter in words only.
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
    "top_k": r"\btop_k\b",
    "min_p": r"\bmin_p\b",
    "seed": r"\bseed\b",
    "strict": r"\bstrict\b",
    "tool_choice": r"tool_choice",
    "tools": r"tool-call-parser|enable-auto-tool-choice|support (?:tools|tool use|function calling)|\btools\b",
}
"""Parameters that a server may refuse, and the words by which it does; `tool_choice` comes before `tools`."""
_BUSY = (408, 409, 425, 429)
_KINDS: dict[int, Kind] = {429: "throttled", 500: "inside"}


class Refusal(NamedTuple):
    """An error answer, without the key."""

    status: int
    message: str
    code: str
    after: float | None
    endpoint: str
    model: str
    key_name: str


class RefusalAction(NamedTuple):
    """Exactly one of `failure`, `finish` and `lacks` is set."""

    line: str
    failure: CallFailure | None = None
    finish: Finish | None = None
    lacks: str = ""
    """The parameter to leave out from now on."""


def refusal_action(refusal: Refusal, without: Dialect, accepted: Dialect = frozenset()) -> RefusalAction:
    """`without` are the parameters that are left out already. `accepted` are those of requests that the endpoint did
    answer: it does not refuse them as such, so that the fault is the request's own."""
    status, text = refusal.status, f"{refusal.code} {refusal.message}"
    if status == 403 and not _QUOTA.search(text):
        return RefusalAction("", CallFailure(_key_refused(refusal), "refused", own=f"{refusal.endpoint} answered 403"))
    if failure := _fatal(refusal, text):
        return RefusalAction(str(failure), failure)
    if status not in _BUSY and _OVERFLOW.search(text):
        line = f"a conversation exceeds the context of {refusal.model} ({refusal.message})"
        return RefusalAction(line, finish=Finish.CONTEXT)
    if status in _BUSY or status >= 500:
        line = f"{refusal.endpoint} answered {status}" + (f" ({refusal.message})" if refusal.message else "")
        return RefusalAction(line, CallFailure(line, _KINDS.get(status, "passing"), after=refusal.after))
    if _FILTER.search(text):
        return RefusalAction(f"{refusal.model} refused a request ({refusal.message})", finish=Finish.CONTENT_FILTER)
    for name, words in REFUSABLE.items():
        # An endpoint may accept `auto` and refuse the name of a tool.
        if name not in without and (name not in accepted or name == "tool_choice") and re.search(words, text):
            return RefusalAction(refusal.message, lacks=name)
    some = "some requests" if accepted else "every request"
    line = f"{refusal.endpoint} refuses {some} ({status}: {refusal.message})"
    if accepted:
        return RefusalAction(line, finish=Finish.CONTENT_FILTER)
    return RefusalAction(line, CallFailure(line, "refused", own=refusal.message))


def _fatal(refusal: Refusal, text: str) -> CallFailure | None:
    """What waiting cannot fix. The text of a 401 is left out: it may hold the key, or half of it."""
    status = refusal.status
    if status == 401:
        line = _key_refused(refusal)
    elif status == 404:
        line = f"{refusal.endpoint} has no model '{refusal.model}', or the address is wrong (404: {refusal.message})"
    elif status == 402 or (status in (403, 429) and _QUOTA.search(text)):
        account = f"the account of the key in {refusal.key_name}" if refusal.key_name else "the account"
        line = f"{refusal.endpoint}: quota exhausted or billing required ({status}) for {account}"
    elif 300 <= status < 400:
        line = f"{refusal.endpoint} answered {status}: redirects are not followed; set base_url to the final URL"
    else:
        return None
    return CallFailure(line, "fatal")


def _key_refused(refusal: Refusal) -> str:
    status, name = refusal.status, refusal.key_name
    if name:
        return f"{refusal.endpoint} refused the key ({status}): put a valid one into the environment variable {name}"
    line = f"{refusal.endpoint} needs a key ({status}): name the environment variable that holds it"
    return f"{line}, such as --set models.default.api_key_env={OPENAI_KEY}"
