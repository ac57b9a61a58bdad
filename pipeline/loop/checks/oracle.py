"""The answer is not given with the passages of all hops, or needs a fact that none of them states."""

from collections.abc import Sequence
from functools import partial

from pydantic import Field

from pipeline.agents import cited, readers
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.errors import FormatError, RequestRefused
from pipeline.loop.asking import ask_reader, over
from pipeline.loop.checks.base import CheckResult, DraftCheck, Found, Meaning, Stage
from pipeline.text.names import contains
from pipeline.types import Cause, Data, Draft, Passage, Probe, Usage


class TraceOutput(Data):
    reason: str = ""
    answers: tuple[str, ...] = Field(max_length=64)


async def oracle(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Never answered from all its passages by one who was given them. Then each hop is read alone, to name the bad one.

    A right answer proves nothing where the passages state less than the reader needed.
    """
    passages = await cited.passages(draft, context.retriever)
    answer = partial(readers.oracle, draft.question, passages, context)
    probe = await ask_reader("oracle", draft, context, answer, context.config.checks.oracle_tries, until_grounded=True)
    probe = over(passages, draft, probe)
    if probe.grounded:
        return CheckResult(probes=(probe,))
    parts = await _hop_by_hop(draft, context)
    hops = tuple(hop for part in parts for hop in part.hops)
    found = Found(_unproven(probe), hops).finding("oracle", CHECK.cause)
    return CheckResult(probes=(probe, *parts), findings=(found,))


def _unproven(probe: Probe) -> str:
    said = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers) if answer) or "nothing"
    answered = f"with all its passages in hand the answer was {said}"
    unstated = "no passage of the draft states: " + ", ".join(f"'{fact}'" for fact in probe.uncited)
    if probe.right:
        return f"the reader answered, but {unstated}"
    return f"{answered}; {unstated}" if probe.uncited else answered


async def _hop_by_hop(draft: Draft, context: RunContext) -> list[Probe]:
    """Each hop's own question over its own passage, where there are several hops."""
    passages = [passage for passage in await cited.gather(draft, context.retriever) if passage is not None]
    if not 1 < len(draft.hops) == len(passages):
        return []
    questions = [hop.sub_question for hop in draft.hops]
    try:
        answers, model, usage = await trace(list(zip(questions, passages, strict=True)), context)
    except (FormatError, RequestRefused):
        return []  # The draft goes back in any case; only the hint which hop it was is lost.
    misread = tuple(
        place
        for place, (hop, answer) in enumerate(zip(draft.hops, answers, strict=True))
        if not all(any(contains(answer, name) for name in names) for names in draft.wanted(place))
        and (len(draft.wanted(place)) > 1 or not contains(hop.answer, answer))
    )
    right = len(answers) - len(misread)
    return [Probe(check="trace", model=model, answers=tuple(answers), right=right, hops=misread, usage=usage)]


async def trace(parts: Sequence[tuple[str, Passage]], context: RunContext) -> tuple[list[str], str, Usage]:
    """Each question answered from its own passage alone, all in one call; and who read. An answer that is missing
    counts as none."""
    asked = [{"question": question, "passage": shown(passage)} for question, passage in parts]
    messages = readers.noted(context.prompt("oracle/trace", parts=asked), context)
    output, model, usage = await readers.read(messages, "trace", TraceOutput, context)
    return [answer.strip() for answer in (*output.answers, *[""] * len(parts))][: len(parts)], model, usage


def told(probe: Probe) -> str:
    answers = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers)) or "nothing"
    misread = ", ".join(f"hops[{n}]" for n in probe.hops)
    return f"each hop read alone: {answers}; not understood: {misread or 'none'}"


FURTHER = {"trace": Meaning("Each hop is read alone, to find the one that is misread.", told=told)}
CHECK = DraftCheck(Stage.READ, 4, Cause.GENERATOR_ERROR, ask=oracle, further=FURTHER)
