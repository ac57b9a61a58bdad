"""What an error status means: try again, ask otherwise, give this request up, or stop the run.

Statuses are not enough: servers say "too long" with 400 and 500, "out of money" with 429, and a parameter that they do
not know in words only.
"""

import re
from typing import NamedTuple

from pipeline.llm.base import Finish
from pipeline.llm.retry import Failure, Kind
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


class Verdict(NamedTuple):
    """Exactly one of `failure`, `finish` and `lacks` is set."""

    said: str
    failure: Failure | None = None
    finish: Finish | None = None
    lacks: str = ""
    """The parameter to leave out from now on."""


def judged(refusal: Refusal, without: Dialect, taken: Dialect = frozenset()) -> Verdict:
    """`taken` are the parameters of requests that the endpoint did answer: those it does not refuse as such, so that a
    bad request is that request's own fault."""
    status, text = refusal.status, f"{refusal.code} {refusal.said}"
    if failure := _fatal(refusal, text):
        return Verdict(str(failure), failure)
    if status not in _BUSY and _OVERFLOW.search(text):
        line = f"a conversation outgrew the context of {refusal.model} ({refusal.said})"
        return Verdict(line, finish=Finish.CONTEXT)
    if status in _BUSY or status >= 500:
        said = f"{refusal.endpoint} answered {status}" + (f" ({refusal.said})" if refusal.said else "")
        return Verdict(said, Failure(said, _KINDS.get(status, "passing"), after=refusal.after))
    if _FILTER.search(text):
        return Verdict(f"{refusal.model} would not answer a request ({refusal.said})", finish=Finish.CONTENT_FILTER)
    for name, told in REFUSABLE.items():
        # `auto` may be taken where the name of a tool is not.
        if name not in without and (name not in taken or name == "tool_choice") and re.search(told, text):
            return Verdict(refusal.said, lacks=name)
    said = f"{refusal.endpoint} takes no request of ours ({status}: {refusal.said})"
    if taken:
        return Verdict(said.replace("no request", "not every request"), finish=Finish.CONTENT_FILTER)
    return Verdict(said, Failure(said, "fatal"))


def _fatal(refusal: Refusal, text: str) -> Failure | None:
    """What no waiting mends. The texts of 401 and 403 are left out: they may hold the key, or half of it."""
    status, name = refusal.status, refusal.key_name
    if status in (401, 403):
        line = f"{refusal.endpoint} refused the key ({status}): put a good one into the environment variable {name}"
    elif status == 404:
        line = f"{refusal.endpoint} has no model '{refusal.model}', or is no such address (404: {refusal.said})"
    elif status == 402 or (status == 429 and _QUOTA.search(text)):
        line = f"{refusal.endpoint} wants money ({status}): the account of the key in {name} has no quota left"
    elif 300 <= status < 400:
        line = f"{refusal.endpoint} sends us elsewhere ({status}): name the right address as base_url"
    else:
        return None
    return Failure(line, "fatal")
