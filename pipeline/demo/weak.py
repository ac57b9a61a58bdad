"""The weak demo model, `embedded-weak`, whose solver overlooks passages. Its other roles are the same.

It stands for a model to be trained: each rollout overlooks other passages, so that its solve rates lie anywhere between
0 and 1. No other file of this folder imports this one at its top.
"""

from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Completion, Request
from pipeline.text import words
from pipeline.types import Message, sha256

OVERLOOKED = 0.25
"""The share of the passages in its search results that a rollout overlooks, each drawn independently."""


class WeakModel:
    """A pure function of the request, like the normal demo model. Its usage counts overlooked passages too."""

    def __init__(self) -> None:
        self._strong = DemoModel()

    async def complete(self, request: Request) -> Completion:
        if request.output or not request.tools or request.tools[-1].name != "answer":
            return await self._strong.complete(request)
        messages = drop_overlooked(request)
        completion = await self._strong.complete(request.model_copy(update={"messages": messages}))
        pairs = zip(request.messages, messages, strict=True)
        overlooked = sum(len(words(sent.content)) - len(words(seen.content)) for sent, seen in pairs if sent != seen)
        usage = completion.usage.model_copy(update={"prompt_tokens": completion.usage.prompt_tokens + overlooked})
        return completion.model_copy(update={"usage": usage})


def drop_overlooked(request: Request) -> tuple[Message, ...]:
    """Return the messages without the passages that this rollout overlooks, which are the same in every turn."""
    chance = sha256(f"{next(m.content for m in request.messages if m.role == 'user')}\n{request.sample}")
    return tuple(_drop_passages(message, chance) if message.role == "tool" else message for message in request.messages)


def _drop_passages(message: Message, chance: str) -> Message:
    blocks = message.content.split("\n\n")
    noticed = [block for block in blocks if int(sha256(f"{chance}\n{block}")[:8], 16) >= OVERLOOKED * 2**32]
    return message.model_copy(update={"content": "\n\n".join(noticed)})
