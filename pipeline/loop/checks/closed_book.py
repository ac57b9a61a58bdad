"""The answer is given from memory, without any passage."""

from pipeline.agents import readers
from pipeline.agents.answers import guess_chance
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.asking import ask_reader
from pipeline.loop.checks.alternatives import VOTES, is_key, same
from pipeline.loop.checks.base import CheckResult, DraftCheck, Meaning
from pipeline.types import KNOWN_TRIES, Cause, Draft, Finding, Probe, Usage, beyond_chance


async def closed_book(draft: Draft, context: RunContext) -> CheckResult:
    """Ask for the answer from memory. A draft goes back if every model to be trained knows it in most tries, so that
    none would learn from it. What the solver knows is kept as `Record.known_to`; if it remembers another answer, a
    reader weighs that one (`contested`)."""
    solver, known = context.config.models.of("solver"), list[Probe]()
    probes = [await recalled(draft, context, solver)]
    for model in trained(context.config):
        same = model.digest_input() == solver.digest_input()
        probes += [] if same else [await recalled(draft, context, model)]
        known.append(probes[0] if same else probes[-1])
        if beyond_chance(known[-1].right, known[-1].tries, guess_chance(draft)) <= 0.5:
            known = []
            break
    if known:
        models = " and ".join(probe.model for probe in known)
        detail = f"answered from memory by {models}. Ask for a less known fact, or of a less known thing."
        return CheckResult(
            probes=tuple(probes), findings=(Finding(check="closed_book", cause=CHECK.cause, detail=detail),)
        )
    other = await contested(draft, probes[0], context)
    return CheckResult(probes=(*probes, *other.probes), findings=other.findings)


def trained(config: RunConfig) -> list[ModelConfig]:
    """The models to be trained that the pairs are for: the one whose solve rate is the target, or all."""
    policies = config.models.policies
    return [policies[config.policy]] if config.solve_rate and config.policy else list(policies.values())


async def recalled(draft: Draft, context: RunContext, model: ModelConfig) -> Probe:
    """What a model answers without any passage, in at least three tries if it is to be trained. There an answer that
    cannot be read is a wrong one: a checkpoint need not speak JSON."""
    policy = any(model.digest_input() == one.digest_input() for one in context.config.models.policies.values())

    async def answer(sample: int) -> readers.Reading:
        try:
            return await readers.closed_book(draft.question, context, model, sample)
        except FormatError:
            if not policy:
                raise
            return readers.Reading(answer="", model=model.model, usage=Usage())

    tries = context.config.checks.tries
    return await ask_reader("closed_book", draft, context, answer, max(KNOWN_TRIES, tries) if policy else tries)


async def contested(draft: Draft, recalled: Probe, context: RunContext) -> CheckResult:
    """Another answer, which most tries from memory agree on and which a general source may bear out, where the question
    does not say whose answer is asked for. Nobody is asked where memory gives nothing else."""
    other = _remembered(draft, recalled)
    if not other:
        return CheckResult()
    quote = draft.hops[-1].quote
    asked = context.prompt(
        "contested/weigh", question=draft.question, answer=draft.answer, quote=quote, other_answer=other
    )
    weighed, model, usage = await readers.weigh(asked, context)
    probe = Probe(check="contested", model=model, answers=(other,), right=int(weighed.fits), usage=usage)
    detail = f"from memory '{other}' is answered, which a general source may bear out; the question names no source"
    detail += f"; a reader says: {' '.join(weighed.reason.split()).rstrip('.')}" if weighed.reason.strip() else ""
    hops = (len(draft.hops) - 1,)
    finding = Finding(check="contested", cause=Cause.AMBIGUOUS, hops=hops, detail=f"{detail}. {_CONTESTED_ADVICE}")
    return CheckResult(probes=(probe,), findings=(finding,) if weighed.fits else ())


def _remembered(draft: Draft, recalled: Probe) -> str:
    """Return the wrong answer of most tries, or nothing. Nobody asks a source about an answer that is computed."""
    if draft.graph.is_computed or recalled.right * 2 > recalled.tries:
        return ""
    said, enough = recalled.answers, max(VOTES, recalled.tries // 2 + 1)
    agreed = next((one for one in said if one and sum(same(one, other) for other in said) >= enough), "")
    return "" if is_key(draft, agreed) else agreed


def _describe_contested(probe: Probe) -> str:
    return f"from memory '{probe.answers[0]}' is answered, which nothing bears out"


_CONTESTED_ADVICE = "Name the kind of source or the year in the question, once, or ask for another fact."
FURTHER = {
    "contested": Meaning(
        "From memory another answer is given, which a general source may support, of the same thing or of another that "
        "fits; no source or date is named.",
        _describe_contested,
    )
}
CHECK = DraftCheck(1, Cause.PRIOR_KNOWLEDGE, closed_book, further=FURTHER)
