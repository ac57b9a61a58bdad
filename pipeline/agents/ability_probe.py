"""What a model can do, found out in a few short conversations before a run, and said in words.

Field trouble is nearly always of these kinds: calls that the server does not parse, answers that it files under the
reasoning, structured output that it ignores, a context that is too short.
"""

from pipeline.agents.judge import VERDICT, NearMiss, VerdictOutput, judge_prompt
from pipeline.agents.parse import parse
from pipeline.agents.probe_run import PARSER, Found, long_prompt, nested_call
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments, OpenArguments, SearchArguments
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError, ProviderError
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.llm.token_estimate import size
from pipeline.types import AnswerType, Data, Message, ToolCall

_SYSTEM = "You answer questions by searching a small corpus. Call `search` first, then `answer` with a short answer."
_QUESTION = "In which year was the lighthouse of Ostrava Point first lit?"
_FOUND = "Doc 1 [p0123456789ab] Ostrava Point\nThe lighthouse of Ostrava Point was first lit in 1874 by Ada Brannick."
_CASE = NearMiss(question=_QUESTION, answer="1874", answer_type=AnswerType.NUMBER, response="in 1874")
_LONG_THOUGHT = " ".join(["The question names a lighthouse, so that I look for its page."] * 20)
_BOUNDARY = "0123456789abcdef"
_SHAPES: dict[str, type[Data]] = {"search": SearchArguments, "open": OpenArguments, "answer": AnswerArguments}
_TURNS = 3
_BIG = f"a bigger model, or {PARSER}"


class ProbeFinding(Data):
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


async def probe(model: ModelConfig, llm: LLM) -> list[ProbeFinding]:
    """At most nine calls, one with a long prompt. What the endpoint refuses for good ends it; nothing is raised but for
    bugs. One that goes by rules is not asked for what only others fail at."""
    findings: list[ProbeFinding] = []
    thought = False
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
    messages = [Message(role="system", content=_SYSTEM), Message(role="user", content=_QUESTION)]
    messages += [said, Message(role="tool", content=_FOUND, tool_call_id=call.id, name=call.name)]
    request = Request(
        model=model.model,
        messages=tuple(messages),
        tools=SOLVER_TOOLS,
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


async def _tools(model: ModelConfig, llm: LLM) -> tuple[Found, list[Completion]]:
    """Search, read, answer: with a turn that is forced in the end."""
    messages = [Message(role="system", content=_SYSTEM), Message(role="user", content=_QUESTION)]
    made: list[Completion] = []
    called: list[str] = []
    for turn in range(_TURNS):
        request = Request(
            model=model.model,
            messages=tuple(messages),
            tools=SOLVER_TOOLS,
            tool_choice="answer" if turn == _TURNS - 1 else "auto",
            sampling=model.sampling,
            thoughts=model.keeps_thoughts and turn > 0,
        )
        made.append(completion := await llm.complete(request))
        problem = _problem(completion)
        if problem:
            detail = f"turn {turn + 1}: {problem}"
            return (False, detail, f"try {_BIG}"), made
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
    if any(call.repaired for completion in made for call in completion.message.tool_calls):
        detail += "; a strict parser would not read them all: they are read, and marked as repaired"
    remedy = "" if said else f"it never answered, though the call was forced; try {_BIG}"
    return (bool(said), detail, remedy), made


def _observed(completion: Completion, call: ToolCall) -> list[Message]:
    said = completion.message.model_copy(update={"tool_calls": (call,)})
    return [said, Message(role="tool", content=_FOUND, tool_call_id=call.id, name=call.name)]


def _problem(completion: Completion) -> str:
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


_TRIES_OF_RULES = {"tool calls": _tools, "structured output": _structured}
_TRIES = {
    "tool calls": _tools,
    "nested calls": nested_call,
    "structured output": _structured,
    "long prompt": long_prompt,
}
