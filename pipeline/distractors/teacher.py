"""The teacher's rollouts among distractors, to be imitated where it was not misled (RAGShaper, §3.3 to 3.4).

Acceptance and difficulty rest on the solver over the index alone, and so on none of this.
"""

from dataclasses import replace

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.solver import rollout, solver
from pipeline.agents.tools import OPEN
from pipeline.config.ragshaper_settings import TeacherConfig
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import with_verdict
from pipeline.distractors.encounters import encounters
from pipeline.distractors.hard_passages import laid_over
from pipeline.distractors.navigation import Navigation
from pipeline.llm import ledger
from pipeline.llm.deadline import with_timeouts
from pipeline.types import DistractorEval, Draft, Rollout, TeacherRollout

KEPT_ABOVE = 0.9
"""The token F1 of an imitated answer, as in the paper."""


async def teacher_rollouts(
    draft: Draft, among: DistractorEval | None, key: str, context: RunContext, before: tuple[TeacherRollout, ...] = ()
) -> tuple[TeacherRollout, ...]:
    """As many as are configured, by sample; none where there is no distractor to meet. `key` is the seed's.

    A rollout without a verdict is left out (`missing_samples`). `before` holds what an earlier call made.
    """
    if among is None or not among.used:
        return ()
    ledger.enter(ledger.TEACH)

    async def one(sample: int) -> TeacherRollout:
        return await _teacher_rollout(draft, among, key, sample, context)

    found = await with_verdict(one, missing_samples(among, before, context))
    return tuple(sorted([*before, *found], key=lambda made: made.rollout.sample))


def missing_samples(among: DistractorEval | None, made: tuple[TeacherRollout, ...], context: RunContext) -> list[int]:
    """The samples that the teacher has still to try."""
    if among is None or not among.used:
        return []
    return sorted({*range(context.config.teacher.rollouts)} - {known.rollout.sample for known in made})


async def _teacher_rollout(
    draft: Draft, among: DistractorEval, key: str, sample: int, context: RunContext
) -> TeacherRollout:
    """One rollout with the solver's limits and form of answer, but without `open`."""
    settings = context.config.teacher

    async def start() -> Rollout:
        over = laid_over(draft, among.used, context.config.distractors)
        navigation = Navigation(context.retriever, over[0], settings, key, over[1])
        alike = solver(context.config, context.llm, navigation, context.config.models.of("teacher"))
        teacher = replace(alike, tools=tuple(tool for tool in alike.tools if tool.name != OPEN.name))
        messages = prompts.load("teacher/answer").render("", question=draft.question, searches=teacher.limits.searches)
        return await rollout(teacher, prompts.noted(messages, teacher.notes), sample, AgentState())

    made = await with_timeouts(start, context.config.how.rollout_seconds)
    graded = await grade(draft, made.answer, context, ask=grading.supported(draft, made))
    verdict = grading.verdict(draft, made, graded)
    met = encounters(draft, among.used, made, correct=verdict.correct)
    score = max(grading.f1(made.answer, gold) for gold in (draft.answer, *draft.answer_aliases))
    taught = TeacherRollout(rollout=made, verdict=verdict, f1=score, encounters=met, kept=False)
    return taught.model_copy(update={"kept": kept(taught, settings)})


def kept(made: TeacherRollout, settings: TeacherConfig) -> bool:
    """Is it to be imitated? The paper asks for the answer alone."""
    return made.f1 > KEPT_ABOVE if settings.keep == "f1" else made.verdict.correct
