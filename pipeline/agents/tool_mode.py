"""Find the way of calling tools that works with a model, and whether its server accepts the reasoning of earlier turns.

Models call tools by the server's native calls, by an object of structured output, or in words. Native calls come first,
since models are trained for them. If the server cannot read a model's calls, structured output constrains the model to
one; words are the last resort. A short conversation before the run settles both, since a switch in the middle would mix
two environments.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments, OpenArguments, SearchArguments
from pipeline.config.models import ModelConfig, ReasoningMode, ToolMode
from pipeline.errors import FormatError, RequestRefused, UsageError
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.types import Data, Message, ToolCall

SYSTEM = "You answer questions by searching a small corpus. Call `search` first, then `answer` with a short answer."
QUESTION = "In which year was the lighthouse of Ostrava Point first lit?"
OPENING = (Message(role="system", content=SYSTEM), Message(role="user", content=QUESTION))
PARSER = "the tool parser of the model's family (vLLM: --enable-auto-tool-choice --tool-call-parser ...)"
BIGGER = f"a bigger model, or {PARSER}"
_RESULT = "Doc 1 [p0123456789ab] Ostrava Point\nThe lighthouse of Ostrava Point was first lit in 1874 by Ada Brannick."
_SHAPES: dict[str, type[Data]] = {"search": SearchArguments, "open": OpenArguments, "answer": AnswerArguments}
_UNREAD = "its calls come in a form that a strict parser does not read"
_TURNS = 3
Ask = Callable[..., Awaitable[Completion]]
"""Sends a `Request` with these fields to the model under test."""


class ProbeAttempt(NamedTuple):
    """The outcome of a test conversation in one mode."""

    ok: bool
    detail: str
    repaired: bool = False
    """Whether a call had to be extracted from the text, or repaired."""
    remedy: str = ""
    refused_turn: int = 0
    """The turn that the server refused, from 1; 0 if it refused none."""
    messages: tuple[Message, ...] = OPENING

    @property
    def failure(self) -> str:
        return self.detail.partition(";")[0]


class ModeFinding(Data):
    """The way in which a run calls a model."""

    mode: ToolMode
    why: str
    reasoning: ReasoningMode
    refuses: ReasoningMode | None = None
    """The other value of `reasoning`, if the server refuses it."""

    def holds_for(self, model: ModelConfig) -> bool:
        return model.tools in ("auto", self.mode) and model.reasoning in (self.reasoning, self.refuses)


async def choose(
    model: ModelConfig, attempt: Callable[[ToolMode, ReasoningMode], Awaitable[ProbeAttempt]]
) -> tuple[ModeFinding, ProbeAttempt]:
    reasoning: ReasoningMode = model.reasoning
    refuses: ReasoningMode | None = None

    async def run(mode: ToolMode) -> ProbeAttempt:
        nonlocal reasoning, refuses
        first = await attempt(mode, reasoning)
        if first.refused_turn < 2 or refuses:
            return first
        # Only from the second turn on does a request hold history, and with it earlier reasoning.
        opposite: ReasoningMode = "strip" if reasoning == "keep" else "keep"
        second = await attempt(mode, opposite)
        if second.refused_turn:
            return first
        reasoning, refuses = opposite, reasoning
        return second

    def finding(mode: ToolMode, why: str) -> ModeFinding:
        return ModeFinding(mode=mode, why=why, reasoning=reasoning, refuses=refuses)

    if model.tools != "auto":
        only = await run(model.tools)
        return finding(model.tools, "as the settings say"), only
    native = await run("native")
    if model.capabilities.calls_tools or (native.ok and not native.repaired):
        return finding("native", "the server gives its calls"), native
    lacks = _UNREAD if native.ok else f"by the server's own calls it fails ({native.failure})"
    schema = await run("schema")
    if schema.ok:
        return finding("schema", lacks), schema
    if native.ok:
        return finding("native", f"{_UNREAD}, and structured output fails ({schema.failure})"), native
    text = await run("text")
    if text.ok:
        return finding("text", f"{lacks}, and by structured output too ({schema.failure})"), text
    # A server that refuses native calls may still accept words, even if the model makes no good calls of them.
    attempts: dict[ToolMode, ProbeAttempt] = {"native": native, "schema": schema, "text": text}
    mode: ToolMode = next((mode for mode, probe in attempts.items() if not probe.refused_turn), "native")
    return finding(mode, "so in no mode that was tried"), attempts[mode]


async def find(model: ModelConfig, llm: LLM) -> ModeFinding:
    """Return the way in which to call the model.

    Raises:
        UsageError: the server refuses every mode. Errors of `llm` pass through.
    """

    async def ask(**fields: Any) -> Completion:
        return await llm.complete(Request(model=model.model, sampling=model.sampling, **fields))

    async def attempt(mode: ToolMode, reasoning: ReasoningMode) -> ProbeAttempt:
        return await search_and_answer(ask, mode, reasoning)

    finding, attempted = await choose(model, attempt)
    if attempted.refused_turn:
        raise UsageError(f"{model.model}: {attempted.detail}: {attempted.remedy}")
    return finding


async def search_and_answer(ask: Ask, mode: ToolMode, reasoning: ReasoningMode) -> ProbeAttempt:
    """Let the model search, read and answer in three turns. The last turn forces the answer."""
    messages: tuple[Message, ...] = OPENING
    called: list[str] = []
    sent = cached = 0
    is_repaired = False
    for turn in range(_TURNS):
        choice = "answer" if turn == _TURNS - 1 else "auto"
        fields = {"tools": SOLVER_TOOLS, "calls": mode, "tool_choice": choice}
        try:
            completion = await ask(messages=messages, **fields, thoughts=reasoning == "keep" and turn > 0)
        except RequestRefused as error:
            remedy = f"set tools to another mode than '{mode}', change what the server names, or name another server"
            return ProbeAttempt(
                ok=False,
                detail=f"turn {turn + 1}: {error}",
                remedy=remedy,
                refused_turn=turn + 1,
                messages=messages,
            )
        if wrong := problem(completion):
            return ProbeAttempt(ok=False, detail=f"turn {turn + 1}: {wrong}", remedy=f"try {BIGGER}", messages=messages)
        call = completion.message.tool_calls[0].model_copy(update={"id": f"call{turn:05d}"})
        called.append(call.name)
        sent, cached = sent + completion.usage.prompt_tokens, cached + completion.usage.cached_tokens
        is_repaired = is_repaired or any(call.repaired for call in completion.message.tool_calls)
        if call.name == "answer":
            break
        messages += observe(completion.message, call)
    answer = parse(AnswerArguments, call.arguments).answer if call.name == "answer" else ""
    outcome = "the right answer" if "1874" in answer else "a wrong answer" if answer else "no answer"
    detail = f"{' → '.join(called)}, {outcome}; {cached} of {sent} prompt tokens were cached"
    if is_repaired:
        detail += "; a strict parser would not read them all: they are read, and marked as repaired"
    remedy = "" if answer else f"it never answered, though the call was forced; try {BIGGER}"
    return ProbeAttempt(ok=bool(answer), detail=detail, repaired=is_repaired, remedy=remedy, messages=messages)


def observe(message: Message, call: ToolCall) -> tuple[Message, ...]:
    turn = message.model_copy(update={"tool_calls": (call,)})
    return turn, Message(role="tool", content=_RESULT, tool_call_id=call.id, name=call.name)


def problem(completion: Completion) -> str:
    """Describe what is wrong with a turn that should hold a call; empty if nothing is."""
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
