"""Parts of a request that a server may refuse and that can be left out or sent differently, and how errors name them.

The path of the field in an error has precedence over its words: "set reasoning_effort to use function tools" does not
refuse tools. Tools themselves are never left out: whether a model gets them is decided before a run
(`agents/tool_mode`), and recorded.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from pipeline.llm.chat_body import Dialect

_REFUSED = r"(?:unsupported|not (?:supported|permitted|allowed|expected)|unknown|unrecogni[sz]ed|unexpected|forbidden)"
_EMPTY = r"(?:null|none|nil|empty|missing|required|valid string|string_type|must be (?:a |of type )?string)"
_CONTENT = rf"(?<![\w.])content\b.{{0,80}}{_EMPTY}|{_EMPTY}.{{0,80}}(?<![\w.])content\b"
_CONTENT_PARAM = r"^messages\W*\d+\W+(?:assistant\W+)?content$"


class Concession(NamedTuple):
    name: str
    param: str
    """A pattern of the field paths that name it."""
    words: str
    """A pattern of the messages and codes that name it."""
    line: str = ""
    """What is done, as the predicate of the server's address; empty if `name` is a field that is left out."""

    @property
    def description(self) -> str:
        return self.line or f"refuses '{self.name}', which is left out from now on"


def _parameter(name: str, words: str = "") -> Concession:
    return Concession(name, rf"^{name}\b", words or rf"\b{name}\b")


def _reasoning(name: str) -> Concession:
    words = rf"{_REFUSED}.{{0,80}}\b{name}\b|\b{name}\b.{{0,60}}{_REFUSED}"
    return Concession(name, rf"(?:^|\W){name}$", words)


CONCESSIONS = (
    Concession(
        "reasoning_with_tools",
        r"^reasoning(?:_effort|\.effort)?$",
        r"\breasoning[_.]effort\b",
        "takes tools only without reasoning: reasoning_effort = 'none' is sent with them from now on",
    ),
    _reasoning("reasoning_content"),
    _reasoning("reasoning"),
    _parameter("stream_options"),
    Concession(
        "no_stream",
        r"^stream$",
        r"\bstream\w*.{0,20}(?:must|should|has to|needs to).{0,20}(?:true|set|enabled)|only supports? stream"
        r"|only stream\w* is supported|\bnon-?stream\w*|stream\W{1,4}false",
        "only streams: its streams are read from now on",
    ),
    _parameter("parallel_tool_calls"),
    _parameter("max_completion_tokens", r"max_completion_tokens|max_tokens"),
    _parameter("temperature"),
    _parameter("top_p"),
    _parameter("top_k"),
    _parameter("min_p"),
    _parameter("seed"),
    Concession("strict", r"\bstrict$", r"\bstrict\b"),
    Concession("additionalProperties", r"additional_?[pP]roperties", r"additional_?[pP]roperties"),
    _parameter("response_format", r"response_format|json_schema|structured output"),
    _parameter("tool_choice", r"tool_choice"),
    Concession(
        "server_ids",
        r"tool_call_id$|tool_calls\W{0,3}\d{0,6}\W{0,3}id$",
        r"tool.?call.?id.{0,100}(?:must be|length|invalid)",
        "refuses ids of calls that it gave: ours of nine letters and digits are sent from now on",
    ),
    Concession(
        "user_after_tool",
        r"$^",
        r"invalid_request_message_order|unexpected role|\broles? must (?:always )?alternate|\bafter (?:this )?role",
        "takes no user's message after a tool's: an empty turn between them is sent in words from now on",
    ),
    Concession(
        "system_role",
        r"^messages\W*0\W*role$",
        rf"(?:system|developer) (?:role|message|prompt|instruction)s?.{{0,40}}(?:{_REFUSED}|not enabled)"
        rf"|{_REFUSED}.{{0,40}}(?:\brole\W{{0,4}})?\bsystem\b|\brole\W{{1,4}}system\b|does not support \W?system\b"
        r"|only user.{0,30}roles? (?:is|are) (?:supported|allowed)|\broles? must (?:always )?alternate",
        "refuses a system prompt: it is the beginning of the first message of the user from now on",
    ),
    Concession(
        "null_content", _CONTENT_PARAM, _CONTENT, "refuses `content: null` beside calls: it is left out from now on"
    ),
    Concession("empty_content", _CONTENT_PARAM, _CONTENT, "wants a content beside calls: it is '' from now on"),
)
BY_NAME = {concession.name: concession for concession in CONCESSIONS}
_PARAMS = {concession.name: re.compile(concession.param) for concession in CONCESSIONS}
_WORDS = {concession.name: re.compile(concession.words, re.IGNORECASE) for concession in CONCESSIONS}
_NO_TOOLS = re.compile(
    r"tool-call-parser|enable-auto-tool-choice|support (?:tools|tool use|tool calling|function calling)", re.IGNORECASE
)
_TOOLS = re.compile(r"\btools?\b|\bfunctions?\b|function_declarations", re.IGNORECASE)
_OF_TOOLS = ("strict", "additionalProperties")
"""What to leave out if an error names only tools."""
_ALTERNATIVES = {"reasoning": "reasoning_content", "reasoning_content": "reasoning"}
"""Two names of one field, of which one must be sent."""


def find_concession(param: str, text: str, without: Dialect, may_help: Callable[[str], bool]) -> str:
    """Return the first concession that an error names, that was not made yet and that may help, or an empty text."""
    if _NO_TOOLS.search(text):
        return ""
    names = [name for name, pattern in _PARAMS.items() if param and pattern.search(param)]
    if not names:
        names = [name for name, pattern in _WORDS.items() if pattern.search(text)]
        names += _OF_TOOLS if _TOOLS.search(f"{param} {text}") else ()
    untried = (name for name in names if not without.intersection((name, _ALTERNATIVES.get(name, ""))))
    return next(filter(may_help, untried), "")
