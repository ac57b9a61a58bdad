"""What a model can do, found out in a few short conversations before a run, and said in words.

Field trouble is nearly always of these kinds: calls that the server does not parse, answers that it files under the
reasoning, structured output that it ignores, a context that is too short.
"""

from collections.abc import Awaitable
from typing import Any

import orjson
from pydantic import Field

from pipeline.agents.graph_proposals import WordedGraphArguments
from pipeline.agents.judge import VERDICT, NearMiss, VerdictOutput, judge_prompt
from pipeline.agents.parse import parse
from pipeline.agents.tool_mode import (
    OPENING,
    PARSER,
    QUESTION,
    Ask,
    ModeFinding,
    ProbeAttempt,
    choose,
    observe,
    search_and_answer,
)
from pipeline.agents.tools import PROPOSE, SOLVER_TOOLS
from pipeline.config.models import ModelConfig, ReasoningMode, ToolMode
from pipeline.errors import FormatError, ProviderError, RequestRefused
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.llm.endpoint import longer_context, prompt_cut
from pipeline.llm.token_estimate import size, tokens
from pipeline.types import AnswerType, Data, Message, ToolCall

_CASE = NearMiss(question=QUESTION, answer="1874", answer_type=AnswerType.NUMBER, response="in 1874")
_LONG_THOUGHT = " ".join(["The question names a lighthouse, so that I look for its page."] * 20)
_BOUNDARY = "0123456789abcdef"
_CALLS = "tool calls"
_NESTED = f"""Call `{PROPOSE.name}` once, with exactly this and nothing else:
- question: In which year was the lighthouse first lit that stands in the town where Ada Brannick was born?
- two steps: the first has the id birth and asks "Where was Ada Brannick born?", with the answer "Ostrava Point", the
  passage_id p0123456789ab and the sentences 2 and 3; the second has the id lit, needs birth and asks "When was the
  lighthouse of {{birth}} lit?", with the answer "1874", the answer_aliases "in 1874" and "the year 1874", the
  passage_id pba9876543210 and the sentence 1
"""
LONG = 12_000
"""Tokens of the long prompt, where the model's context takes them."""
_FIRST, _KEEPER = "The keeper of the lighthouse is called Ada Brannick.", "Brannick"
_ASKED = "What is the keeper of the lighthouse called? The first sentence says it. Answer with the name alone."
_LINE = "Day {}: the lamp was lit at dusk and put out at dawn, {} ships went by, and the wind came from the {}."
_WINDS = ("north", "east", "south", "west")
Found = tuple[str, str]
"""What was found, and the remedy; none where all is well."""


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
    found: dict[str, Found] = {}
    mode: ModeFinding | None = None
    thought = False

    async def ask(**fields: Any) -> Completion:
        nonlocal thought
        completion = await llm.complete(
            Request(**{"model": model.model, "sampling": model.sampling, "calls": model.calls, **fields})
        )
        thought = thought or bool(completion.message.reasoning)
        return completion

    async def attempt(mode: ToolMode, reasoning: ReasoningMode) -> ProbeAttempt:
        return await search_and_answer(ask, mode, reasoning)

    name = _CALLS
    try:
        mode, tool_calls = await choose(model, attempt)
        said = f"{mode.mode}, since {mode.why}: {tool_calls.detail}"
        found[name] = (said if tool_calls.ok else f"{tool_calls.detail}; {mode.why}", tool_calls.remedy)
        model = model.model_copy(update={"tools": mode.mode, "reasoning": mode.reasoning})
        for name, tried in (_TRIES if model.capabilities.understands else _TRIES_OF_RULES).items():
            found[name] = await _unless_refused(tried(model, ask))
        name = "reasoning"
        found[name] = ("none, or within the answer", "")
        if thought or model.keeps_thoughts:
            where = "separate from the answer" if thought else "none so far"
            found[name] = await _reasoning(model, ask, mode, tool_calls, where)
    except ProviderError as error:
        found[name] = (str(error), "fix the error above")
    findings = [ProbeFinding(name=name, ok=not mend, detail=said, remedy=mend) for name, (said, mend) in found.items()]
    return [findings[0].model_copy(update={"found": mode}), *findings[1:]]


async def _unless_refused(work: Awaitable[Found]) -> Found:
    try:
        return await work
    except RequestRefused as error:
        return str(error), "look into the server's log: a run would lose each seed that asks for the same"


async def _reasoning(model: ModelConfig, ask: Ask, finding: ModeFinding, attempt: ProbeAttempt, where: str) -> Found:
    """Say whether the server takes the thoughts of earlier turns, and whether its chat template shows them.

    Both are seen in the prompt tokens of one conversation without and with a long thought.
    """
    does = f"{where}; {'sent back' if model.keeps_thoughts else 'not sent back'}"
    if finding.refuses == "strip":
        return f"{does}, since the server refuses a conversation without it", ""
    if finding.refuses == "keep":
        return f"{does}, since the server refuses a conversation with it", ""
    short = model.sampling.model_copy(update={"max_tokens": 16})
    messages = _long_thought(attempt)
    counts = dict[bool, int | None]()
    for thoughts in (False, True):
        try:
            completion = await ask(messages=messages, tools=SOLVER_TOOLS, sampling=short, thoughts=thoughts)
            counts[thoughts] = completion.usage.prompt_tokens
        except RequestRefused:
            counts[thoughts] = None
    without, sent = counts[False], counts[True]
    if without is None or sent is None:
        return _refused_reasoning(model, does, without, sent)
    if without == sent == size(messages, SOLVER_TOOLS):
        return f"{does}; whether the chat template shows it is unknown: the server reports no token usage", ""
    is_shown = sent - without >= len(_LONG_THOUGHT.split())
    template = "shows what is sent back" if is_shown else "leaves out what is sent back"
    detail = f"{does}; the server's chat template {template} ({without} and {sent} prompt tokens)"
    if is_shown and not model.keeps_thoughts:
        return f"{detail}: reasoning = 'keep' is possible", ""
    remedy = "set reasoning = 'strip' for the model, or serve it with a template that shows `reasoning_content`"
    return detail, "" if is_shown or not model.keeps_thoughts else remedy


def _long_thought(attempt: ProbeAttempt) -> tuple[Message, ...]:
    """Return the first call of the attempt, as the server gave it, with a long thought before it, and its result."""
    call = ToolCall(id="call00000", name="search", arguments='{"query":"Ostrava Point lighthouse"}')
    messages = attempt.messages[: len(OPENING) + 2]
    if len(messages) == len(OPENING):
        messages += observe(Message(role="assistant"), call)
    thinking = messages[-2].model_copy(update={"reasoning": _LONG_THOUGHT, "server_fields": ""})
    return (*messages[:-2], thinking, messages[-1])


def _refused_reasoning(model: ModelConfig, does: str, without: int | None, sent: int | None) -> Found:
    if without is None and sent is None:
        return f"{does}; the server refused this conversation with and without it", ""
    refused: ReasoningMode = "strip" if without is None else "keep"
    other = "without" if without is None else "with"
    remedy = f"set reasoning = '{'keep' if refused == 'strip' else 'strip'}' for the model"
    return f"{does}; the server refused a conversation {other} it", remedy if model.reasoning == refused else ""


async def _structured(model: ModelConfig, ask: Ask) -> Found:
    """As a judge of a run is asked: the demo model, behind `digsite serve-model`, reads nothing else."""
    completion = await ask(messages=judge_prompt(_CASE, _BOUNDARY), output=VERDICT)
    try:
        said = parse(VerdictOutput, completion.message.content)
    except FormatError as error:
        remedy = "name another model for [models.judge], or a server that honours response_format"
        return f"what it answered does not fit the schema ({error})", remedy
    return "fits the schema" + ("" if said.correct else ", though the verdict on an easy case is wrong"), ""


async def nested_call(model: ModelConfig, ask: Ask) -> Found:
    """What a generator ends with. Some parsers give the lists in it as text, or lose them."""
    completion = await ask(messages=(Message(role="user", content=_NESTED),), tools=(PROPOSE,))
    if not completion.message.tool_calls:
        cut = ", cut off at the token limit" if completion.finish is Finish.LENGTH else ""
        longer = "raise sampling.max_tokens, or " if cut else ""
        return f"it did not call `{PROPOSE.name}`{cut}: a run would give no question", f"{longer}try {PARSER}"
    call = completion.message.tool_calls[0]
    try:
        steps = parse(WordedGraphArguments, call.arguments).steps
    except FormatError as error:
        shape = "as text" if _as_text(call.arguments) else "in another form"
        said = f"lists and objects come {shape}, which cannot be read ({error}): a run would give no question"
        return said, f"try {PARSER}, or a bigger model"
    if len(steps) != 2:
        return f"{len(steps)} of two steps came", f"try {PARSER}, or a bigger model"
    how = "in another form: read, and marked as repaired" if call.repaired else "as they should"
    return f"lists and objects come {how}", ""


def _as_text(arguments: str) -> bool:
    try:
        tree = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tree, str) or (isinstance(tree, dict) and isinstance(tree.get("steps"), str))


async def long_prompt(model: ModelConfig, ask: Ask) -> Found:
    """A prompt as long as those of a run become, whose beginning is asked for."""
    room = min(LONG, model.room or LONG) - 500
    lines, left = [_FIRST], room - tokens(_FIRST + _ASKED)
    while left > 0:
        day = len(lines)
        lines.append(_LINE.format(day, day * 7 % 41, _WINDS[day % 4]))
        left -= tokens(lines[-1]) + 1
    messages = (Message(role="user", content="\n".join([*lines, _ASKED])),)
    completion = await ask(messages=messages)
    sent, read = size(messages), completion.usage.prompt_tokens
    remedy = f"give the server a context of {model.context:,} ({longer_context(model.context)}), or lower context"
    if completion.finish is Finish.CONTEXT:
        return f"a prompt of about {sent:,} tokens does not fit", remedy
    if prompt_cut(sent, read):
        return f"the server cuts prompts: it has read {read:,} of about {sent:,} tokens", remedy
    if _KEEPER.lower() in completion.message.content.lower():
        return f"about {sent:,} tokens are read", ""
    if read == sent:
        unknown = "tokens the beginning was not known: the server may cut prompts, and reports no usage"
        return f"of about {sent:,} {unknown}", remedy
    return f"about {sent:,} tokens are read, though what stood at the beginning was not found", ""


_TRIES = {
    "nested calls": nested_call,
    "structured output": _structured,
    "long prompt": long_prompt,
}
_TRIES_OF_RULES = {"structured output": _structured}
