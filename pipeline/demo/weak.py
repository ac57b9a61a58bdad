"""The demo model in a second strength, `embedded-weak`: its solver overlooks passages. Its other roles are the same.

It stands in for a model that is to be trained: what it overlooks is another passage in every try, so that its solve
rates lie anywhere between 0 and 1. No file beside it imports it: the digest of the strong one is of those.
"""

from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Completion, Request
from pipeline.text import words
from pipeline.types import Message, sha256

OVERLOOKED = 0.25
"""The share of the passages in its search results that a rollout does not notice, each by a draw of its own."""


class WeakModel:
    """A pure function of the request, as the strong one. Usage counts what was sent, overlooked or not."""

    def __init__(self) -> None:
        self._strong = DemoModel()

    async def complete(self, request: Request) -> Completion:
        """Raises ValueError for a role that the demo model has no rules for."""
        if request.output or not request.tools or request.tools[-1].name != "answer":
            return await self._strong.complete(request)
        messages = noticed(request)
        completion = await self._strong.complete(request.model_copy(update={"messages": messages}))
        pairs = zip(request.messages, messages, strict=True)
        overlooked = sum(len(words(sent.content)) - len(words(seen.content)) for sent, seen in pairs if sent != seen)
        usage = completion.usage.model_copy(update={"prompt_tokens": completion.usage.prompt_tokens + overlooked})
        return completion.model_copy(update={"usage": usage})


def noticed(request: Request) -> tuple[Message, ...]:
    """The messages without the passages that this rollout does not notice, the same in every turn."""
    chance = sha256(f"{next(m.content for m in request.messages if m.role == 'user')}\n{request.sample}")
    return tuple(_noticed(message, chance) if message.role == "tool" else message for message in request.messages)


def _noticed(message: Message, chance: str) -> Message:
    blocks = message.content.split("\n\n")
    kept = [block for block in blocks if int(sha256(f"{chance}\n{block}")[:8], 16) >= OVERLOOKED * 2**32]
    return message.model_copy(update={"content": "\n\n".join(kept)})
