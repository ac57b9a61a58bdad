"""A single call that must come back as one JSON object: judge, oracle reader and probes, which have no tools."""

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
    """The schema of `output` as it is sent. Its name tells the role."""
    return Schema(name=name, body=schema_of(output))


async def request_object(
    llm: LLM, model: ModelConfig, messages: tuple[Message, ...], name: str, output: type[T], *, sample: int = 0
) -> tuple[T, Usage]:
    """The object, and what all tries took.

    Raises FormatError where none of TRIES answers can be read: that is a fault of the model and no answer.
    """
    usage = Usage()
    for again in range(TRIES):
        request = Request(
            model=model.model,
            messages=messages,
            output=schema(name, output),
            sampling=model.sampling,
            # Asked again under the same index, a cache would give the same unreadable answer.
            sample=TRIES * sample + again,
            shared_prefix=1.0 if again else 0.0,
        )
        completion = await llm.complete(request)
        usage += completion.usage
        try:
            return parse(output, completion.message.content), usage
        except FormatError:
            continue
    raise FormatError(f"'{model.model}' gave no readable '{name}' in {TRIES} tries")
