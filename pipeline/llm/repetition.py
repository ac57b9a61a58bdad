"""Answers in which a model repeats one passage, or writes only white space, up to its token limit.

An answer that ended in any other way may contain repetition: a table may have equal rows.
"""

from pipeline.llm.base import Completion, Finish
from pipeline.llm.token_estimate import tokens

STEP = 1024
"""Tokens of an answer after which it is checked, if its model may repeat itself."""
LONGEST = 500
"""Most characters of a repeated passage."""
TIMES, LEAST = 6, 400
"""How often a text must repeat a passage at its end, and the least characters of that repetition."""


def loop_start(text: str) -> int | None:
    """Return where the repetition at the end of a text starts, or None if there is none."""
    for period in range(1, min(LONGEST, len(text) // (TIMES + 1)) + 1):
        span = max(LEAST, TIMES * period)
        if len(text) < span + period:
            break
        if text[-span:] == text[-span - period : -period]:
            start = len(text) - span
            while start > period and text[start - 1] == text[start - 1 - period]:
                start -= 1
            return start
    end = len(text.rstrip())
    return end if len(text) - end >= LEAST else None


def reaches_limit(completion: Completion, max_tokens: int) -> bool:
    """Return whether an answer used up its tokens. Some servers report that as a stop."""
    message = completion.message
    length = completion.usage.completion_tokens or tokens(message.content + message.reasoning)
    return completion.finish is Finish.LENGTH or length >= max_tokens


def cut_repetition(completion: Completion, max_tokens: int) -> Completion:
    """Cut an answer where it begins to repeat itself, if it does so up to its token limit.

    The result has `Finish.REPEATS` and no calls, since none of them is complete. Any other answer is returned as it is.
    """
    message = completion.message
    if not reaches_limit(completion, max_tokens):
        return completion
    starts = {name: loop_start(getattr(message, name)) for name in ("content", "reasoning")}
    calls_repeat = any(loop_start(call.arguments) is not None for call in message.tool_calls)
    # The last call may be cut off.
    complete_calls = [(call.name, call.arguments) for call in message.tool_calls[:-1]]
    calls_repeat |= len(complete_calls) >= TIMES and len(set(complete_calls[-TIMES:])) == 1
    if not calls_repeat and all(start is None for start in starts.values()):
        return completion
    texts = {name: getattr(message, name)[:start] for name, start in starts.items()}
    message = message.model_copy(update={**texts, "tool_calls": ()})
    return completion.model_copy(update={"message": message, "finish": Finish.REPEATS})
