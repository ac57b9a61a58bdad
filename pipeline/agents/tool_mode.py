"""Which way of calling tools works with a model: the server's own calls, an object of structured output, or words.

The server's own comes first: it is what models are trained for. A model whose calls its server cannot read is
constrained to one, if the server can do that; only else is it asked in words.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments, OpenArguments, SearchArguments
from pipeline.config.models import ModelConfig, ToolMode
from pipeline.errors import FormatError, RequestRefused
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.types import Data, Message

SYSTEM = "You answer questions by searching a small corpus. Call `search` first, then `answer` with a short answer."
QUESTION = "In which year was the lighthouse of Ostrava Point first lit?"
OPENING = (Message(role="system", content=SYSTEM), Message(role="user", content=QUESTION))
_SHAPES: dict[str, type[Data]] = {"search": SearchArguments, "open": OpenArguments, "answer": AnswerArguments}
_UNREAD = "its calls come in a form that a strict parser does not read"


class Try(NamedTuple):
    """How a model did in one mode."""

    ok: bool
    detail: str
    repaired: bool = False
    """Had a call to be looked for in the text, or to be mended?"""
    remedy: str = ""

    @property
    def failure(self) -> str:
        """In what it failed, without the particulars."""
        return self.detail.partition(";")[0]


class ModeFinding(Data):
    """The mode that a model gets."""

    mode: ToolMode
    why: str


async def choose(model: ModelConfig, converse: Callable[[ToolMode], Awaitable[Try]]) -> tuple[ModeFinding, Try]:
    """Return the mode, and how the model did in it. Try no more modes than needed: of most models one."""

    async def tried(mode: ToolMode) -> Try:
        try:
            return await converse(mode)
        except RequestRefused as error:
            return Try(ok=False, detail=str(error))

    if model.tools != "auto":
        return ModeFinding(mode=model.tools, why="as the settings say"), await tried(model.tools)
    native = await tried("native")
    if model.capabilities.calls_tools or (native.ok and not native.repaired):
        return ModeFinding(mode="native", why="the server gives its calls"), native
    lacks = _UNREAD if native.ok else f"by the server's own calls it fails ({native.failure})"
    schema = await tried("schema")
    if schema.ok:
        return ModeFinding(mode="schema", why=lacks), schema
    if native.ok:
        return ModeFinding(mode="native", why=f"{_UNREAD}, and structured output fails ({schema.failure})"), native
    text = await tried("text")
    if text.ok:
        return ModeFinding(mode="text", why=f"{lacks}, and by structured output too ({schema.failure})"), text
    return ModeFinding(mode="native", why="so in no mode that was tried"), native


async def find(model: ModelConfig, llm: LLM) -> ModeFinding:
    """The mode, by one call in each that is tried. Raises what the model does."""

    async def tried(mode: ToolMode) -> Try:
        request = Request(model=model.model, messages=OPENING, tools=SOLVER_TOOLS, calls=mode, sampling=model.sampling)
        completion = await llm.complete(request)
        detail = problem(completion)
        repaired = any(call.repaired for call in completion.message.tool_calls)
        return Try(ok=not detail, detail=detail, repaired=repaired)

    return (await choose(model, tried))[0]


def problem(completion: Completion) -> str:
    """What is wrong with a turn that should hold a call, in words; nothing where all is well."""
    if completion.finish is Finish.EMPTY:
        return "it thought, and then said nothing; the server may file calls under the reasoning"
    if completion.finish is Finish.CONTEXT:
        return "even this short conversation does not fit its context together with max_tokens"
    if not completion.message.tool_calls:
        cut = ", cut off at the token limit" if completion.finish is Finish.LENGTH else ""
        return f"it called no tool{cut}"
    call = completion.message.tool_calls[0]
    if call.name not in _SHAPES:
        return f"it called '{call.name[:40]}', which was not offered"
    try:
        parse(_SHAPES[call.name], call.arguments)
    except FormatError as error:
        return f"the arguments of '{call.name}' cannot be read ({error})"
    return ""
