"""Dispatch of requests to models: roles may have different models at different addresses."""

from collections.abc import Mapping

from pipeline.llm.base import LLM, Completion, Request


class Routed:
    """Sends each request to the model that it names."""

    def __init__(self, models: Mapping[str, LLM]) -> None:
        self._models = dict(models)

    async def complete(self, request: Request) -> Completion:
        return await self._models[request.model].complete(request)
