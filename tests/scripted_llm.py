"""A model for tests: it gives scripted answers and keeps the requests."""

from collections.abc import Callable, Iterable

from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Message, Usage

Output = Completion | Message | str


class ScriptedLLM:
    """`outputs` is a list of answers in order, or a function that sees the request.

    An answer that is an exception is raised. Running out of answers is an error of the test.
    """

    def __init__(self, outputs: Iterable[Output | Exception] | Callable[[Request], Output | Exception]) -> None:
        self.requests: list[Request] = []
        if callable(outputs):
            self._next = outputs
        else:
            iterator = iter(outputs)
            self._next = lambda _: next(iterator)

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        try:
            output = self._next(request)
        except StopIteration:
            raise AssertionError(f"no output left for request {len(self.requests)}") from None
        if isinstance(output, Exception):
            raise output
        if isinstance(output, str):
            output = Message(role="assistant", content=output)
        if isinstance(output, Message):
            finish = Finish.TOOL_CALLS if output.tool_calls else Finish.STOP
            output = Completion(message=output, finish=finish, usage=Usage(calls=1))
        return output
