"""What a model can do, found out in a few short conversations before a run, and said in words.

Field trouble is nearly always of these kinds: calls that the server does not parse, answers that it files under the
reasoning, structured output that it ignores, a context that is too short.
"""

from collections.abc import Sequence
from functools import partial

from pydantic import Field

from pipeline.agents.judge import VERDICT, NearMiss, VerdictOutput, judge_prompt
from pipeline.agents.parse import parse
from pipeline.agents.probe_run import PARSER, Found, long_prompt, nested_call
from pipeline.agents.tool_mode import OPENING, QUESTION, ModeFinding, Try, choose, problem
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments
from pipeline.config.models import ModelConfig, ToolMode
from pipeline.errors import FormatError, ProviderError
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.token_estimate import size
from pipeline.types import AnswerType, Data, Message, ToolCall

_FOUND = "Doc 1 [p0123456789ab] Ostrava Point\nThe lighthouse of Ostrava Point was first lit in 1874 by Ada Brannick."
_CASE = NearMiss(question=QUESTION, answer="1874", answer_type=AnswerType.NUMBER, response="in 1874")
_LONG_THOUGHT = " ".join(["The question names a lighthouse, so that I look for its page."] * 20)
_BOUNDARY = "0123456789abcdef"
_TURNS = 3
_BIG = f"a bigger model, or {PARSER}"


class ProbeFinding(Data):
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    found: ModeFinding | None = Field(None, exclude=True)
    """How the model is to be asked for calls, of the check of that."""


async def probe(model: ModelConfig, llm: LLM) -> list[ProbeFinding]:
    """At most nine calls, one with a long prompt, and six more of a model whose calls its server cannot read. What the
    endpoint refuses for good ends it; nothing is raised but for bugs. One that goes by rules is not asked for what only
    others fail at."""
    try:
        calls, completions = await _calls(model, llm)
    except ProviderError as error:
        return [ProbeFinding(name="tool calls", ok=False, detail=str(error), remedy="fix the error above")]
    findings, thought = [calls], any(completion.message.reasoning for completion in completions)
    model = model.model_copy(update={"tools": calls.found.mode if calls.found else model.tools})
    for name, tried in (_TRIES if model.capabilities.understands else _TRIES_OF_RULES).items():
        try:
            (ok, detail, remedy), completions = await tried(model, llm)
        except ProviderError as error:
            return [*findings, ProbeFinding(name=name, ok=False, detail=str(error), remedy="fix the error above")]
        findings.append(ProbeFinding(name=name, ok=ok, detail=detail, remedy=remedy))
        thought = thought or any(completion.message.reasoning for completion in completions)
    if not thought and not model.keeps_thoughts:
        return [*findings, ProbeFinding(name="reasoning", ok=True, detail="none, or within the answer")]
    try:
        return [*findings, await _reasoning(model, llm, "separate from the answer" if thought else "none so far")]
    except ProviderError as error:
        return [*findings, ProbeFinding(name="reasoning", ok=False, detail=str(error), remedy="fix the error above")]


async def _reasoning(model: ModelConfig, llm: LLM, where: str) -> ProbeFinding:
    """Whether the server's chat template shows a model its thoughts of earlier turns within a tool loop, if they are
    sent back: by the prompt tokens of one conversation without and with a long one."""
    call = ToolCall(id="call00000", name="search", arguments='{"query":"Ostrava Point lighthouse"}')
    said = Message(role="assistant", reasoning=_LONG_THOUGHT, tool_calls=(call,))
    messages = [*OPENING]
    messages += [said, Message(role="tool", content=_FOUND, tool_call_id=call.id, name=call.name)]
    request = Request(
        model=model.model,
        messages=tuple(messages),
        tools=SOLVER_TOOLS,
        calls=model.calls,
        sampling=model.sampling.model_copy(update={"max_tokens": 16}),
    )
    without, sent = [
        (await llm.complete(request.model_copy(update={"thoughts": thoughts}))).usage.prompt_tokens
        for thoughts in (False, True)
    ]
    does = "sent back" if model.keeps_thoughts else "not sent back"
    if without == sent == size(request.messages, request.tools):
        detail = f"{where}; {does}; whether the chat template shows it is unknown: the server reports no token usage"
        return ProbeFinding(name="reasoning", ok=True, detail=detail)
    shown = sent - without >= len(_LONG_THOUGHT.split())
    template = "shows what is sent back" if shown else "leaves out what is sent back"
    detail = f"{where}; {does}; the server's chat template {template} ({without} and {sent} prompt tokens)"
    if shown or not model.keeps_thoughts:
        also = ": reasoning = 'keep' is possible" if shown and not model.keeps_thoughts else ""
        return ProbeFinding(name="reasoning", ok=True, detail=detail + also)
    remedy = "set reasoning = 'strip' for the model, or serve it with a template that shows `reasoning_content`"
    return ProbeFinding(name="reasoning", ok=False, detail=detail, remedy=remedy)


async def _calls(model: ModelConfig, llm: LLM) -> tuple[ProbeFinding, Sequence[Completion]]:
    """How it calls tools, in the mode that it gets."""
    found, tried = await choose(model, partial(_tools, model, llm))
    detail = f"{found.mode}, since {found.why}: {tried.detail}" if tried.ok else tried.detail
    finding = ProbeFinding(name="tool calls", ok=tried.ok, detail=detail, remedy=tried.remedy, found=found)
    return finding, tried.completions


async def _tools(model: ModelConfig, llm: LLM, mode: ToolMode) -> Try:
    """Search, read, answer: with a turn that is forced in the end."""
    messages = [*OPENING]
    made: list[Completion] = []
    called: list[str] = []
    for turn in range(_TURNS):
        request = Request(
            model=model.model,
            messages=tuple(messages),
            tools=SOLVER_TOOLS,
            calls=mode,
            tool_choice="answer" if turn == _TURNS - 1 else "auto",
            sampling=model.sampling,
            thoughts=model.keeps_thoughts and turn > 0,
        )
        made.append(completion := await llm.complete(request))
        if wrong := problem(completion):
            return Try(ok=False, detail=f"turn {turn + 1}: {wrong}", completions=made, remedy=f"try {_BIG}")
        call = completion.message.tool_calls[0].model_copy(update={"id": f"call{turn:05d}"})
        called.append(call.name)
        if call.name == "answer":
            break
        messages += _observed(completion, call)
    said = parse(AnswerArguments, call.arguments).answer if call.name == "answer" else ""
    right = "the right answer" if "1874" in said else "a wrong answer" if said else "no answer"
    tokens = sum(completion.usage.prompt_tokens for completion in made)
    cached = sum(completion.usage.cached_tokens for completion in made)
    detail = f"{' → '.join(called)}, {right}; {cached} of {tokens} prompt tokens were cached"
    remedy = "" if said else f"it never answered, though the call was forced; try {_BIG}"
    found = Try(ok=bool(said), detail=detail, completions=made, remedy=remedy)
    if found.repaired:
        detail += "; a strict parser would not read them all: they are read, and marked as repaired"
    return found._replace(detail=detail)


def _observed(completion: Completion, call: ToolCall) -> list[Message]:
    said = completion.message.model_copy(update={"tool_calls": (call,)})
    return [said, Message(role="tool", content=_FOUND, tool_call_id=call.id, name=call.name)]


async def _structured(model: ModelConfig, llm: LLM) -> tuple[Found, list[Completion]]:
    """As a judge of a run is asked: the demo model, behind `digsite serve-model`, reads nothing else."""
    request = Request(
        model=model.model, messages=judge_prompt(_CASE, _BOUNDARY), output=VERDICT, sampling=model.sampling
    )
    completion = await llm.complete(request)
    try:
        said = parse(VerdictOutput, completion.message.content)
    except FormatError as error:
        remedy = "name another model for [models.judge], or a server that honours response_format"
        detail = f"what it answered does not fit the schema ({error})"
        return (False, detail, remedy), [completion]
    detail = "fits the schema" + ("" if said.correct else ", though the verdict on an easy case is wrong")
    return (True, detail, ""), [completion]


_TRIES_OF_RULES = {"structured output": _structured}
_TRIES = {
    "nested calls": nested_call,
    "structured output": _structured,
    "long prompt": long_prompt,
}
