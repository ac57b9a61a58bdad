"""Single calls whose output must be one JSON object, for judges, readers and writers, which have no tools."""

from functools import cache
from typing import TypeVar

from pipeline.agents.parse import parse, schema_of
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Request, Schema
from pipeline.types import Data, Message, Usage

TRIES = 3
T = TypeVar("T", bound=Data)


@cache
def schema(name: str, output: type[Data]) -> Schema:
    return Schema(name=name, body=schema_of(output))


async def request_object(
    llm: LLM, model: ModelConfig, messages: tuple[Message, ...], name: str, output: type[T], *, sample: int = 0
) -> tuple[T, Usage]:
    """Return the object and the usage of all attempts.

    Raise FormatError if none of TRIES outputs is readable: that is a fault of the model, not an answer.
    """
    usage = Usage()
    for attempt in range(TRIES):
        request = Request(
            model=model.model,
            messages=messages,
            output=schema(name, output),
            sampling=model.sampling,
            # With the same index, a cache would give the same unreadable output again.
            sample=TRIES * sample + attempt,
            shared_prefix=1.0 if attempt else 0.0,
        )
        completion = await llm.complete(request)
        usage += completion.usage
        try:
            return parse(output, completion.message.content), usage
        except FormatError:
            continue
    raise FormatError(f"'{model.model}' gave no readable '{name}' in {TRIES} tries")
