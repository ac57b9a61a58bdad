"""What a run asks of a model and a short conversation does not: a call with lists of objects, and a long prompt."""

import orjson

from pipeline.agents.parse import parse
from pipeline.agents.tools import PROPOSE, ProposeArguments
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.llm.endpoint import longer_context, prompt_cut
from pipeline.llm.token_estimate import size, tokens
from pipeline.types import Message

PARSER = "the tool parser of the model's family (vLLM: --enable-auto-tool-choice --tool-call-parser ...)"
_NESTED = f"""Call `{PROPOSE.name}` once, with exactly this and nothing else:
- question: In which year was the lighthouse first lit that stands in the town where Ada Brannick was born?
- answer: 1874, answer_aliases: "in 1874" and "the year 1874", answer_type: number
- two hops: the first asks "Where was Ada Brannick born?", with the answer "Ostrava Point", the passage_id p0123456789ab
  and the quote "Ada Brannick was born at Ostrava Point."; the second asks "When was the lighthouse of Ostrava Point
  lit?", with the answer "1874", the passage_id pba9876543210 and the quote "The lighthouse was lit in 1874."
"""
LONG = 12_000
"""Tokens of the long prompt, where the model's context takes them."""
_FIRST, _KEEPER = "The keeper of the lighthouse is called Ada Brannick.", "Brannick"
_ASKED = "What is the keeper of the lighthouse called? The first sentence says it. Answer with the name alone."
_LINE = "Day {}: the lamp was lit at dusk and put out at dawn, {} ships went by, and the wind came from the {}."
_WINDS = ("north", "east", "south", "west")
Found = tuple[bool, str, str]
"""Is it well, what was found, and the remedy."""


async def nested_call(model: ModelConfig, llm: LLM) -> tuple[Found, list[Completion]]:
    """What a generator ends with. Some parsers give the lists in it as text, or lose them."""
    messages = (Message(role="user", content=_NESTED),)
    request = Request(
        model=model.model, messages=messages, tools=(PROPOSE,), calls=model.calls, sampling=model.sampling
    )
    completion = await llm.complete(request)
    if not completion.message.tool_calls:
        cut = ", cut off at the token limit" if completion.finish is Finish.LENGTH else ""
        return (False, f"it did not call `{PROPOSE.name}`{cut}: a run would give no question", f"try {PARSER}"), [
            completion
        ]
    call = completion.message.tool_calls[0]
    try:
        hops = parse(ProposeArguments, call.arguments).hops
    except FormatError as error:
        shape = "as text" if _as_text(call.arguments) else "in another form"
        said = f"lists and objects come {shape}, which cannot be read ({error}): a run would give no question"
        return (False, said, f"try {PARSER}, or a bigger model"), [completion]
    if len(hops) != 2:
        return (False, f"{len(hops)} of two hops came", f"try {PARSER}, or a bigger model"), [completion]
    detail = "lists and objects come as they should"
    if call.repaired:
        detail = "lists and objects come in another form: read, and marked as repaired"
    return (True, detail, ""), [completion]


def _as_text(arguments: str) -> bool:
    try:
        tree = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tree, str) or (isinstance(tree, dict) and isinstance(tree.get("hops"), str))


async def long_prompt(model: ModelConfig, llm: LLM) -> tuple[Found, list[Completion]]:
    """A prompt as long as those of a run become, whose beginning is asked for."""
    room = min(LONG, model.room or LONG) - 500
    days, lines, left = 0, [_FIRST], room - tokens(_FIRST + _ASKED)
    while left > 0:
        days += 1
        lines.append(_LINE.format(days, days * 7 % 41, _WINDS[days % 4]))
        left -= tokens(lines[-1]) + 1
    messages = (Message(role="user", content="\n".join([*lines, _ASKED])),)
    completion = await llm.complete(Request(model=model.model, messages=messages, sampling=model.sampling))
    sent, read = size(messages), completion.usage.prompt_tokens
    remedy = f"give the server a context of {model.context:,} ({longer_context(model.context)}), or lower context"
    if completion.finish is Finish.CONTEXT:
        return (False, f"a prompt of about {sent:,} tokens does not fit", remedy), [completion]
    if prompt_cut(sent, read):
        return (False, f"the server cuts prompts: it has read {read:,} of about {sent:,} tokens", remedy), [completion]
    known = _KEEPER.lower() in completion.message.content.lower()
    if read == sent and not known:
        detail = (
            f"of about {sent:,} tokens the beginning was not known: the server may cut prompts, and reports no usage"
        )
        return (False, detail, remedy), [completion]
    detail = f"about {sent:,} tokens are read" + ("" if known else ", though what stood at the beginning was not found")
    return (True, detail, ""), [completion]
