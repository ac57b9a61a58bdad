"""Is it the operator that made a question harder, or any change of its words? Fresh rollouts of a rewritten question in
the words in which it was brought, in a neutral paraphrase of them, and as it was accepted."""

from functools import partial

from pipeline.agents.naming import mentions
from pipeline.agents.solver import graded_rollout
from pipeline.agents.structured import structured
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import completed
from pipeline.errors import FormatError
from pipeline.llm import ledger
from pipeline.text.names import normalise
from pipeline.types import Data, Draft, Record, Rollout, Status, Usage, Verdict
from pipeline.types.wording import Wording


class ParaphraseOutput(Data):
    question: str


async def compare_wordings(record: Record, context: RunContext) -> tuple[Wording, ...]:
    """The wordings of an accepted record, where they are asked for and it was rewritten, with what was missing of them.
    Acceptance rests on none of their rollouts, nor they on those of acceptance; one without a verdict is left out."""
    draft, first = record.draft, record.rounds[0].draft if record.rounds else None
    config = context.config
    asked = config.hardens and config.questions.compare_wordings and record.status is Status.ACCEPTED
    if not asked or draft is None or first is None or draft.question == first.question:
        return ()
    ledger.enter(ledger.POLICIES if config.policy else "wordings")
    known: dict[str, Wording] = {one.name: one for one in record.wordings}
    if known:
        said = known.get("paraphrase")
        neutral = first.model_copy(update={"question": said.question}) if said else None
        took = (said or known["unchanged"]).written
    else:
        neutral, took = await _paraphrased(first, context)
    paid = "paraphrase" if neutral else "unchanged"
    drafts = {"unchanged": first, "paraphrase": neutral, "hardened": draft}
    samples, made = range(2 * config.loop.rollouts, 3 * config.loop.rollouts), list[Wording]()
    for name, one in drafts.items():
        if one is None:
            continue
        attempt = partial(_tried, one, context)
        before = zip(had.rollouts, had.verdicts, strict=True) if (had := known.get(name)) else ()
        pairs = await completed(before, samples, attempt)
        rollouts, verdicts = zip(*pairs, strict=True) if pairs else ((), ())
        role, written = "policy" if config.policy else "solver", took if name == paid else Usage()
        tried = {"role": role, "rollouts": rollouts, "verdicts": verdicts, "written": written}
        made.append(Wording(name=name, question=one.question, **tried))
    return tuple(made)


def missing_wordings(record: Record, context: RunContext) -> bool:
    return any(len(one.rollouts) < context.config.loop.rollouts for one in record.wordings)


async def _tried(draft: Draft, context: RunContext, sample: int) -> tuple[Rollout, Verdict]:
    return await graded_rollout(draft, sample, context, context.config.policy_model)


async def _paraphrased(draft: Draft, context: RunContext) -> tuple[Draft | None, Usage]:
    """The question in other words that say the same; none where the author gives the same words, or the answer."""
    messages, model = context.prompt("refiner/paraphrase", question=draft.question), context.config.models.of("refiner")
    try:
        output, usage = await structured(context.llm, model, messages, "paraphrase", ParaphraseOutput)
    except FormatError:
        return None, Usage()
    said = output.question.strip()
    told = not draft.answer_type.decided and any(mentions(said, n) for n in (draft.answer, *draft.answer_aliases))
    bad = told or not said or normalise(said) == normalise(draft.question)
    return None if bad else draft.model_copy(update={"question": said}), usage
