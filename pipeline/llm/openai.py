"""The client of every server that speaks OpenAI's Chat Completions, or of several that serve one model."""

from itertools import takewhile

from pipeline.config.models import ModelConfig
from pipeline.llm import reply
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.cached import request_digest
from pipeline.llm.endpoint import Endpoint
from pipeline.llm.limiter import Slot
from pipeline.llm.pool import Pool
from pipeline.llm.retry import CallFailure
from pipeline.llm.tokens import size


class OpenAIModel:
    """One model at its addresses, shared by all roles that name it."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self.pool = Pool([Endpoint(one, run_seed) for one in config.each()], config.limits)

    async def complete(self, request: Request) -> Completion:
        """Raises ProviderError where no endpoint gave an answer in all tries, or refused the key or the model."""

        async def once(endpoint: Endpoint, slot: Slot) -> Completion:
            completion = await endpoint.answer(request)
            slot.tokens = completion.usage.prompt_tokens + completion.usage.completion_tokens
            return completion

        try:
            return await self.pool.ask(
                once,
                tokens=size(request.messages, request.tools, thoughts=request.thoughts),
                digest=lambda: request_digest(request),
                conversation=lambda: _conversation(request),
            )
        except CallFailure as failure:
            line = f"{self.config.model} fails on one request, which is given up ({failure})"
            self.pool.members[0].warn(line)
            return reply.refused(Finish.CONTENT_FILTER)


def _conversation(request: Request) -> bytes:
    """The same for all turns of one conversation: the digest of what it began with."""
    began = tuple(takewhile(lambda message: message.role != "assistant", request.messages))
    return request_digest(Request(model=request.model, messages=began, sample=request.sample))
