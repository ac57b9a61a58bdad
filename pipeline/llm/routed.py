"""Each request to the model that it names: roles may be played by different models at different addresses."""

from collections.abc import Mapping

from pipeline.llm.base import LLM, Completion, Request


class Routed:
    """`models` goes by name. A request for another model is a mistake of the program's."""

    def __init__(self, models: Mapping[str, LLM]) -> None:
        self._models = dict(models)

    async def complete(self, request: Request) -> Completion:
        return await self._models[request.model].complete(request)
