"""Control tokens of chat templates within a text.

Servers and trainers take them for turns wherever they stand: after `<|im_end|>` a passage would speak as the system.
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
    """Return the text with a blank in each control token, so that it is none."""
    return _OPENING.sub(r"\g<0> ", text)


def escape_tokens(json: str) -> str:
    """Return JSON that means the same and holds no control token."""
    return _OPENING.sub(lambda match: f"\\u{ord(match[0]):04x}", json)
