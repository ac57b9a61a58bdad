"""The answer is given from memory, without any passage."""

from pipeline.agents import readers
from pipeline.agents.answers import guess_chance
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.asking import ask_reader
from pipeline.loop.checks.alternatives import VOTES, is_known_answer, is_same_answer
from pipeline.loop.checks.base import CheckResult, DraftCheck, Meaning
from pipeline.types import KNOWN_TRIES, Cause, Draft, Finding, Probe, Usage, beyond_chance

CONTESTED = "contested"


async def check_closed_book(draft: Draft, context: RunContext) -> CheckResult:
    """Ask the models for the answer without any passage.

    The draft goes back if every model to be trained knows the answer in most tries, so that none would learn from it.
    What the solver knows never sends it back: it is kept as `Record.known_to`. Only another answer of the solver is
    checked (`check_contested`).
    """
    solver = context.config.models.of("solver")
    probes, knowing = [await ask_from_memory(draft, context, solver)], list[Probe]()
    for model in models_to_train(context.config):
        is_solver = model.digest_input() == solver.digest_input()
        if not is_solver:
            probes.append(await ask_from_memory(draft, context, model))
        probe = probes[0] if is_solver else probes[-1]
        if beyond_chance(probe.right, probe.tries, guess_chance(draft)) <= 0.5:
            knowing = []
            break
        knowing.append(probe)
    if knowing:
        models = " and ".join(probe.model for probe in knowing)
        detail = f"answered from memory by {models}. Ask for a less known fact, or of a less known thing."
        finding = Finding(check="closed_book", cause=CHECK.cause, detail=detail)
        return CheckResult(probes=tuple(probes), findings=(finding,))
    return CheckResult(probes=tuple(probes)) + await check_contested(draft, probes[0], context)


def models_to_train(config: RunConfig) -> list[ModelConfig]:
    """Return the model whose solve rate is the target, or else all models to be trained."""
    policies = config.models.policies
    return [policies[config.policy]] if config.solve_rate and config.policy else list(policies.values())


async def ask_from_memory(draft: Draft, context: RunContext, model: ModelConfig) -> Probe:
    """Ask a model for the answer without any passage, at least three times if it is to be trained.

    An unreadable output of a model to be trained counts as a wrong answer: a checkpoint need not write JSON.
    """
    policies = context.config.models.policies.values()
    is_policy = any(model.digest_input() == policy.digest_input() for policy in policies)

    async def answer(sample: int) -> readers.Reading:
        try:
            return await readers.closed_book(draft.question, context, model, sample)
        except FormatError:
            if not is_policy:
                raise
            return readers.Reading(answer="", model=model.model, usage=Usage())

    tries = context.config.checks.tries
    return await ask_reader("closed_book", draft, context, answer, max(KNOWN_TRIES, tries) if is_policy else tries)


async def check_contested(draft: Draft, recall: Probe, context: RunContext) -> CheckResult:
    """Ask a reader whether a general source may support another answer that most tries from memory gave.

    Such a question names no source or date. The reader is not asked if memory gave no other answer.
    """
    remembered = _find_remembered_answer(draft, recall)
    if not remembered:
        return CheckResult()
    prompt = context.prompt(
        "contested/weigh",
        question=draft.question,
        answer=draft.answer,
        quote=draft.hops[-1].quote,
        other_answer=remembered,
    )
    decision, model, usage = await readers.weigh(prompt, context)
    probe = Probe(check=CONTESTED, model=model, answers=(remembered,), right=int(decision.fits), usage=usage)
    if not decision.fits:
        return CheckResult(probes=(probe,))
    detail = f"from memory '{remembered}' is answered, which a general source may bear out"
    detail += "; the question names no source"
    if reason := " ".join(decision.reason.split()):
        detail += f"; a reader says: {reason.rstrip('.')}"
    hops = (len(draft.hops) - 1,)
    finding = Finding(check=CONTESTED, cause=Cause.AMBIGUOUS, hops=hops, detail=f"{detail}. {_CONTESTED_ADVICE}")
    return CheckResult(probes=(probe,), findings=(finding,))


def _find_remembered_answer(draft: Draft, recall: Probe) -> str:
    """Return the wrong answer of most tries, or an empty text. No source states a computed answer, so it has none."""
    if draft.graph.is_computed or recall.right * 2 > recall.tries:
        return ""
    votes_needed = max(VOTES, recall.tries // 2 + 1)
    for answer in filter(None, recall.answers):
        if sum(is_same_answer(answer, vote) for vote in recall.answers) >= votes_needed:
            return "" if is_known_answer(draft, answer) else answer
    return ""


_CONTESTED_ADVICE = "Name the kind of source or the year in the question, once."
FURTHER = {
    CONTESTED: Meaning(
        "From memory another answer is given, which a general source may support, of the same thing or of another that "
        "fits; no source or date is named.",
        lambda probe: f"from memory '{probe.answers[0]}' is answered, which nothing bears out",
    )
}
CHECK = DraftCheck(1, Cause.PRIOR_KNOWLEDGE, check_closed_book, further=FURTHER)
