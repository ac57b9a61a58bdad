"""The answer is not given with the passages of all hops, or needs a fact that none of them states."""

from collections.abc import Sequence
from functools import partial

from pipeline.agents import cited, readers
from pipeline.agents.grading import shows_evidence
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.loop.asking import ask_reader
from pipeline.loop.checks.base import CheckResult, DraftCheck
from pipeline.types import Cause, Draft, Finding, Passage, Probe


async def check_oracle(draft: Draft, context: RunContext) -> CheckResult:
    """Ask a reader who is given all passages. A right answer with a fact that they do not state proves nothing."""
    passages = await cited.load_passages(draft, context.retriever)
    answer = partial(readers.oracle, draft.question, passages, context)
    probe = await ask_reader("oracle", draft, context, answer, context.config.checks.oracle_tries, until_grounded=True)
    probe = probe.model_copy(update={"evidence": _hold_evidence(passages, draft)})
    if probe.grounded:
        return CheckResult(probes=(probe,))
    finding = Finding(check="oracle", cause=CHECK.cause, detail=f"{_describe_failure(probe)}. {ADVICE}")
    return CheckResult(probes=(probe,), findings=(finding,))


def _hold_evidence(passages: Sequence[Passage], draft: Draft) -> bool:
    """Return whether passages hold the evidence of the last hop, or of the last hop of each branch that decides."""
    ids, text = [passage.id for passage in passages], render(passages)
    return bool(passages) and all(shows_evidence(draft, hop, ids, text) for hop in draft.graph.decisive_hops)


ADVICE = "Ask for what the passages state, or take another one that states it."


def _describe_failure(probe: Probe) -> str:
    answers = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers) if answer) or "nothing"
    answered = f"with all its passages in hand the answer was {answers}"
    unstated = "no passage of the draft states: " + ", ".join(f"'{fact}'" for fact in probe.uncited)
    if probe.right:
        return f"the reader answered, but {unstated}"
    return f"{answered}; {unstated}" if probe.uncited else answered


CHECK = DraftCheck(2, Cause.GENERATOR_ERROR, check_oracle)
