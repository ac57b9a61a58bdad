"""Control tokens of chat templates within a text.

Servers and trainers interpret them anywhere in a text: after `<|im_end|>` a passage could pose as the system.
"""

import re

_OPENING = re.compile(
    r"<(?=[|｜]|/?(?:[a-z]{1,16}:)?(?:s|bos|eos|pad|unk|sop|eop|think|[BE]OS_TOKEN|[a-z]{1,12}_of_[a-z]{1,12}"
    r"|tool_[a-z]{1,12})>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|gMASK)\])"
    r"|◁(?=/?think▷)"
)
"""The first character of each token."""


def break_tokens(text: str) -> str:
    return _OPENING.sub(r"\g<0> ", text)


def escape_tokens(json: str) -> str:
    return _OPENING.sub(lambda match: f"\\u{ord(match[0]):04x}", json)
