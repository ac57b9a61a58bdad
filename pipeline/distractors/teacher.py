"""Rollouts of the teacher among distractors, which a model imitates if they were not misled (RAGShaper, §3.3 to 3.4).

They do not influence acceptance and difficulty, which depend on the solver's rollouts over the index alone.
"""

from dataclasses import replace

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.solver import rollout, solver
from pipeline.agents.tools import OPEN
from pipeline.config.loop import TeacherConfig
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import gather_finished
from pipeline.distractors.encounters import encounters
from pipeline.distractors.hard_passages import plan_overlay
from pipeline.distractors.navigation import Navigation
from pipeline.llm import ledger
from pipeline.llm.deadline import with_timeouts
from pipeline.types import DistractorEval, Draft, Rollout, TeacherRollout

KEPT_ABOVE = 0.9
"""The token F1 that an imitated answer exceeds, as in the paper."""


async def teacher_rollouts(
    draft: Draft, among: DistractorEval | None, key: str, context: RunContext, before: tuple[TeacherRollout, ...] = ()
) -> tuple[TeacherRollout, ...]:
    """Run as many teacher rollouts as are configured, sorted by sample; none if no distractor is used.

    A rollout without a verdict is left out (`missing_samples`).

    Args:
        key: the key of the seed.
        before: the rollouts of an earlier call.
    """
    if among is None or not among.used:
        return ()
    ledger.enter(ledger.TEACH)

    async def run_sample(sample: int) -> TeacherRollout:
        return await _teacher_rollout(draft, among, key, sample, context)

    rollouts = await gather_finished(run_sample, missing_samples(among, before, context))
    return tuple(sorted([*before, *rollouts], key=lambda taught: taught.rollout.sample))


def missing_samples(among: DistractorEval | None, done: tuple[TeacherRollout, ...], context: RunContext) -> list[int]:
    if among is None or not among.used:
        return []
    return sorted({*range(context.config.teacher.rollouts)} - {taught.rollout.sample for taught in done})


async def _teacher_rollout(
    draft: Draft, among: DistractorEval, key: str, sample: int, context: RunContext
) -> TeacherRollout:
    """Run one rollout with the solver's limits and form of answer, but without `open`."""
    settings = context.config.teacher

    async def start() -> Rollout:
        passages, changes = plan_overlay(draft, among.used, context.config.distractors)
        navigation = Navigation(context.retriever, passages, settings, key, changes)
        like_solver = solver(context.config, context.llm, navigation, context.config.models.of("teacher"))
        teacher = replace(like_solver, tools=tuple(tool for tool in like_solver.tools if tool.name != OPEN.name))
        messages = prompts.load("teacher/answer").render("", question=draft.question, searches=teacher.limits.searches)
        return await rollout(teacher, prompts.add_notes(messages, teacher.notes), sample, AgentState())

    finished = await with_timeouts(start, context.config.runtime.rollout_seconds)
    graded = await grade(draft, finished.answer, context, ask=grading.is_supported(draft, finished))
    verdict = grading.build_verdict(draft, finished, graded)
    met_distractors = encounters(draft, among.used, finished, correct=verdict.correct)
    score = max(grading.f1(finished.answer, gold) for gold in (draft.answer, *draft.answer_aliases))
    taught = TeacherRollout(rollout=finished, verdict=verdict, f1=score, encounters=met_distractors, kept=False)
    return taught.model_copy(update={"kept": is_imitated(taught, settings)})


def is_imitated(taught: TeacherRollout, settings: TeacherConfig) -> bool:
    """Return whether models should imitate the rollout. The paper looks at the answer alone (`f1`)."""
    return taught.f1 > KEPT_ABOVE if settings.keep == "f1" else taught.verdict.correct
