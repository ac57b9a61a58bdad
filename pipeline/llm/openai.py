"""The client of servers that speak OpenAI's Chat Completions API. Several servers may serve one model."""

from pipeline.config.models import ModelConfig
from pipeline.errors import RequestRefused
from pipeline.llm.base import Completion, Request
from pipeline.llm.endpoint import Endpoint
from pipeline.llm.pool import Pool
from pipeline.llm.retry import CallFailure


class OpenAIModel:
    """One model at one or more addresses, shared by all roles that use it."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self.pool = Pool([Endpoint(endpoint_config, run_seed) for endpoint_config in config.each()], config.limits)

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises ProviderError if no endpoint answered in all attempts, or if one refused the key or the model. Raises
        RequestRefused if an endpoint refuses only this request, or always fails on it.
        """
        try:
            return await self.pool.complete(request)
        except CallFailure as failure:
            line = f"{self.config.model} fails on one request, which is given up ({failure})"
            self.pool.members[0].warn(line)
            raise RequestRefused(line) from failure
