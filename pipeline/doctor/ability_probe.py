"""Find out in a few short conversations, before a run, what a model can do, and say it in words.

Trouble is nearly always of these kinds: the server does not parse calls, files answers under the reasoning, ignores
structured output, or has too short a context.
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
from pipeline.llm.endpoint import is_prompt_cut, longer_context
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
"""Tokens of the long prompt, if the model's context allows them."""
_KEEPER_SENTENCE, _KEEPER = "The keeper of the lighthouse is called Ada Brannick.", "Brannick"
_KEEPER_QUESTION = (
    "What is the keeper of the lighthouse called? The first sentence says it. Answer with the name alone."
)
_LINE = "Day {}: the lamp was lit at dusk and put out at dawn, {} ships went by, and the wind came from the {}."
_WINDS = ("north", "east", "south", "west")
Outcome = tuple[str, str]
"""The detail, and the remedy, which is empty if all is well."""


class ProbeFinding(Data):
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    found: ModeFinding | None = Field(None, exclude=True)
    """The tool mode to use, from the check of tool calls."""


async def probe(model: ModelConfig, llm: LLM) -> list[ProbeFinding]:
    """Check a model with at most nine calls, and six more if its server cannot read calls.

    One call has a long prompt. The probe ends when the endpoint refuses for good, and turns such errors into a finding.
    A model that follows fixed rules skips the checks that only real models fail.
    """
    outcomes: dict[str, Outcome] = {}
    mode: ModeFinding | None = None
    has_reasoned = False

    async def ask(**fields: Any) -> Completion:
        nonlocal has_reasoned
        completion = await llm.complete(
            Request(**{"model": model.model, "sampling": model.sampling, "calls": model.calls, **fields})
        )
        has_reasoned = has_reasoned or bool(completion.message.reasoning)
        return completion

    async def attempt(mode: ToolMode, reasoning: ReasoningMode) -> ProbeAttempt:
        return await search_and_answer(ask, mode, reasoning)

    name = _CALLS
    try:
        mode, tool_calls = await choose(model, attempt)
        detail = f"{mode.mode}, since {mode.why}: {tool_calls.detail}"
        outcomes[name] = (detail if tool_calls.ok else f"{tool_calls.detail}; {mode.why}", tool_calls.remedy)
        model = model.model_copy(update={"tools": mode.mode, "reasoning": mode.reasoning})
        for name, check in (_CHECKS if model.capabilities.understands else _CHECKS_FOR_RULES).items():
            outcomes[name] = await _unless_refused(check(model, ask))
        name = "reasoning"
        outcomes[name] = ("none, or within the answer", "")
        if has_reasoned or model.keeps_thoughts:
            where = "separate from the answer" if has_reasoned else "none so far"
            outcomes[name] = await _check_reasoning(model, ask, mode, tool_calls, where)
    except ProviderError as error:
        outcomes[name] = (str(error), "fix the error above")
    findings = [
        ProbeFinding(name=name, ok=not remedy, detail=detail, remedy=remedy)
        for name, (detail, remedy) in outcomes.items()
    ]
    return [findings[0].model_copy(update={"found": mode}), *findings[1:]]


async def _unless_refused(work: Awaitable[Outcome]) -> Outcome:
    try:
        return await work
    except RequestRefused as error:
        return str(error), "look into the server's log: a run would lose each seed that asks for the same"


async def _check_reasoning(
    model: ModelConfig, ask: Ask, finding: ModeFinding, attempt: ProbeAttempt, location: str
) -> Outcome:
    """Say whether the server takes the thoughts of earlier turns, and whether its chat template shows them.

    Both are seen in the prompt tokens of one conversation without and with a long thought.
    """
    summary = f"{location}; {'sent back' if model.keeps_thoughts else 'not sent back'}"
    if finding.refuses == "strip":
        return f"{summary}, since the server refuses a conversation without it", ""
    if finding.refuses == "keep":
        return f"{summary}, since the server refuses a conversation with it", ""
    short_sampling = model.sampling.model_copy(update={"max_tokens": 16})
    messages = _insert_long_thought(attempt)
    counts = dict[bool, int | None]()
    for thoughts in (False, True):
        try:
            completion = await ask(messages=messages, tools=SOLVER_TOOLS, sampling=short_sampling, thoughts=thoughts)
            counts[thoughts] = completion.usage.prompt_tokens
        except RequestRefused:
            counts[thoughts] = None
    without_thought, with_thought = counts[False], counts[True]
    if without_thought is None or with_thought is None:
        return _describe_refusal(model, summary, without_thought, with_thought)
    if without_thought == with_thought == size(messages, SOLVER_TOOLS):
        return f"{summary}; whether the chat template shows it is unknown: the server reports no token usage", ""
    is_shown = with_thought - without_thought >= len(_LONG_THOUGHT.split())
    template = "shows what is sent back" if is_shown else "leaves out what is sent back"
    detail = f"{summary}; the server's chat template {template} ({without_thought} and {with_thought} prompt tokens)"
    if is_shown and not model.keeps_thoughts:
        return f"{detail}: reasoning = 'keep' is possible", ""
    remedy = "set reasoning = 'strip' for the model, or serve it with a template that shows `reasoning_content`"
    return detail, "" if is_shown or not model.keeps_thoughts else remedy


def _insert_long_thought(attempt: ProbeAttempt) -> tuple[Message, ...]:
    """Return the attempt's first call, as the server sent it, with a long thought before it, and its result."""
    call = ToolCall(id="call00000", name="search", arguments='{"query":"Ostrava Point lighthouse"}')
    messages = attempt.messages[: len(OPENING) + 2]
    if len(messages) == len(OPENING):
        messages += observe(Message(role="assistant"), call)
    thinking = messages[-2].model_copy(update={"reasoning": _LONG_THOUGHT, "server_fields": ""})
    return (*messages[:-2], thinking, messages[-1])


def _describe_refusal(
    model: ModelConfig, summary: str, without_thought: int | None, with_thought: int | None
) -> Outcome:
    if without_thought is None and with_thought is None:
        return f"{summary}; the server refused this conversation with and without it", ""
    refused: ReasoningMode = "strip" if without_thought is None else "keep"
    preposition = "without" if without_thought is None else "with"
    remedy = f"set reasoning = '{'keep' if refused == 'strip' else 'strip'}' for the model"
    return (
        f"{summary}; the server refused a conversation {preposition} it",
        remedy if model.reasoning == refused else "",
    )


async def _check_structured_output(model: ModelConfig, ask: Ask) -> Outcome:
    """Send a request like a judge's: the demo model, behind `digsite serve-model`, reads nothing else."""
    completion = await ask(messages=judge_prompt(_CASE, _BOUNDARY), output=VERDICT)
    try:
        verdict = parse(VerdictOutput, completion.message.content)
    except FormatError as error:
        remedy = "name another model for [models.judge], or a server that honours response_format"
        return f"what it answered does not fit the schema ({error})", remedy
    return "fits the schema" + ("" if verdict.correct else ", though the verdict on an easy case is wrong"), ""


async def nested_call(model: ModelConfig, ask: Ask) -> Outcome:
    """Check the nested arguments of a generator's last call. Some parsers return its lists as text, or lose them."""
    completion = await ask(messages=(Message(role="user", content=_NESTED),), tools=(PROPOSE,))
    if not completion.message.tool_calls:
        cut_note = ", cut off at the token limit" if completion.finish is Finish.LENGTH else ""
        longer_output = "raise sampling.max_tokens, or " if cut_note else ""
        return (
            f"it did not call `{PROPOSE.name}`{cut_note}: a run would give no question",
            f"{longer_output}try {PARSER}",
        )
    call = completion.message.tool_calls[0]
    try:
        steps = parse(WordedGraphArguments, call.arguments).steps
    except FormatError as error:
        shape = "as text" if _is_text(call.arguments) else "in another form"
        detail = f"lists and objects come {shape}, which cannot be read ({error}): a run would give no question"
        return detail, f"try {PARSER}, or a bigger model"
    if len(steps) != 2:
        return f"{len(steps)} of two steps came", f"try {PARSER}, or a bigger model"
    form = "in another form: read, and marked as repaired" if call.repaired else "as they should"
    return f"lists and objects come {form}", ""


def _is_text(arguments: str) -> bool:
    try:
        tree = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tree, str) or (isinstance(tree, dict) and isinstance(tree.get("steps"), str))


async def long_prompt(model: ModelConfig, ask: Ask) -> Outcome:
    """Ask about the beginning of a prompt as long as a run's prompts become."""
    target_tokens = min(LONG, model.room or LONG) - 500
    lines, remaining = [_KEEPER_SENTENCE], target_tokens - tokens(_KEEPER_SENTENCE + _KEEPER_QUESTION)
    while remaining > 0:
        day = len(lines)
        lines.append(_LINE.format(day, day * 7 % 41, _WINDS[day % 4]))
        remaining -= tokens(lines[-1]) + 1
    messages = (Message(role="user", content="\n".join([*lines, _KEEPER_QUESTION])),)
    completion = await ask(messages=messages)
    sent_tokens, read_tokens = size(messages), completion.usage.prompt_tokens
    remedy = f"give the server a context of {model.context:,} ({longer_context(model.context)}), or lower context"
    if completion.finish is Finish.CONTEXT:
        return f"a prompt of about {sent_tokens:,} tokens does not fit", remedy
    if is_prompt_cut(sent_tokens, read_tokens):
        return f"the server cuts prompts: it has read {read_tokens:,} of about {sent_tokens:,} tokens", remedy
    if _KEEPER.lower() in completion.message.content.lower():
        return f"about {sent_tokens:,} tokens are read", ""
    if read_tokens == sent_tokens:
        unknown = "the model did not know its beginning: the server may cut prompts, and reports no usage"
        return f"a prompt of about {sent_tokens:,} tokens was sent, and {unknown}", remedy
    return f"about {sent_tokens:,} tokens are read, but the model did not find the answer at the beginning", ""


_CHECKS = {
    "nested calls": nested_call,
    "structured output": _check_structured_output,
    "long prompt": long_prompt,
}
_CHECKS_FOR_RULES = {"structured output": _check_structured_output}
