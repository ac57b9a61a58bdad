"""Answers in which a model says one thing again and again, or nothing but white space, until its tokens end.

An answer that ended in any other way may repeat what it likes: a table may have equal rows.
"""

from pipeline.llm.base import Completion, Finish
from pipeline.llm.token_estimate import tokens

STEP = 1024
"""Tokens of an answer after which it is looked at, where its model may be one that repeats itself."""
LONGEST = 500
"""Characters of what is said again and again, at most."""
TIMES, LEAST = 6, 400
"""How often a text must say it in the end, and how many characters of it at least."""


def loop_start(text: str) -> int | None:
    """Where a text has begun to say one thing again and again to its very end; None where it does not."""
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


def cut_off(completion: Completion, most: int) -> bool:
    """Did an answer of at most so many tokens reach them? Some servers call that a stop."""
    said = completion.message
    length = completion.usage.completion_tokens or tokens(said.content + said.reasoning)
    return completion.finish is Finish.LENGTH or length >= most


def ended(completion: Completion, most: int) -> Completion:
    """The answer up to where it only repeats itself, with `Finish.REPEATS`, if that is how it reached its `most`
    tokens. Its calls are left out: none of them is whole."""
    message = completion.message
    if not cut_off(completion, most):
        return completion
    starts = {name: loop_start(getattr(message, name)) for name in ("content", "reasoning")}
    called = any(loop_start(call.arguments) is not None for call in message.tool_calls)
    # The very last one may be cut off.
    whole = [(call.name, call.arguments) for call in message.tool_calls[:-1]]
    called |= len(whole) >= TIMES and len(set(whole[-TIMES:])) == 1
    if not called and all(start is None for start in starts.values()):
        return completion
    short = {name: getattr(message, name)[:start] for name, start in starts.items()}
    message = message.model_copy(update={**short, "tool_calls": ()})
    return completion.model_copy(update={"message": message, "finish": Finish.REPEATS})
