"""The client of every server that speaks OpenAI's Chat Completions, or of several that serve one model."""

from pipeline.config.models import ModelConfig
from pipeline.errors import RequestRefused
from pipeline.llm.base import Completion, Request
from pipeline.llm.endpoint import Endpoint
from pipeline.llm.pool import Pool
from pipeline.llm.retry import CallFailure


class OpenAIModel:
    """One model at its addresses, shared by all roles that name it."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self.pool = Pool([Endpoint(one, run_seed) for one in config.each()], config.limits)

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises ProviderError if no endpoint answered in all tries or one refused the key or the model, and
        RequestRefused if an endpoint refuses this request alone, or always fails on it.
        """
        try:
            return await self.pool.complete(request)
        except CallFailure as failure:
            line = f"{self.config.model} fails on one request, which is given up ({failure})"
            self.pool.members[0].warn(line)
            raise RequestRefused(line) from failure
