"""The stage after the distractors: a teacher's rollouts among them, each judged (RAGShaper, §3.3 to 3.4).

None of it touches acceptance or difficulty, which are the index's alone.
"""

import asyncio
from collections.abc import Sequence

from pipeline.agents import grading
from pipeline.agents.grading import f1
from pipeline.agents.judge import grade
from pipeline.config import TeacherConfig
from pipeline.context import RunContext
from pipeline.distractors.encounters import encounters
from pipeline.distractors.evaluate import UNDECIDED
from pipeline.distractors.navigation import Navigation
from pipeline.distractors.teacher import teach
from pipeline.llm import ledger
from pipeline.llm.deadline import in_time
from pipeline.types import Distractor, DistractorEval, Draft, Outcome, Rollout, TeacherRollout


async def lessons(
    draft: Draft,
    opposition: DistractorEval | None,
    key: str,
    context: RunContext,
    before: tuple[TeacherRollout, ...] = (),
) -> tuple[TeacherRollout, ...]:
    """As many as are configured, by sample; none where there is no distractor to meet. `key` is the seed's.

    A rollout without a verdict is left out (`untaught`); what an earlier try left in `before` is kept.
    """
    if opposition is None or not opposition.used:
        return ()
    ledger.enter(ledger.TEACH)

    async def taught(sample: int) -> TeacherRollout | None:
        try:
            return await _lesson(draft, opposition.used, key, sample, context)
        except UNDECIDED:
            return None

    found = await asyncio.gather(*map(taught, untaught(opposition, before, context)))
    return tuple(sorted([*before, *filter(None, found)], key=lambda lesson: lesson.rollout.sample))


def untaught(opposition: DistractorEval | None, made: tuple[TeacherRollout, ...], context: RunContext) -> list[int]:
    """The samples that the teacher is still to play."""
    if opposition is None or not opposition.used:
        return []
    return sorted({*range(context.config.teacher.rollouts)} - {lesson.rollout.sample for lesson in made})


async def _lesson(
    draft: Draft, distractors: Sequence[Distractor], key: str, sample: int, context: RunContext
) -> TeacherRollout:
    passages = [distractor.passage for distractor in distractors]

    async def start() -> Rollout:
        navigation = Navigation(context.retriever, passages, context.config.teacher, key)
        return await teach(draft.question, sample, navigation, context)

    rollout = await in_time(start, context.config.how.rollout_seconds)
    graded = await grade(draft, rollout.answer, context, ask=grading.supported(draft, rollout))
    verdict = grading.verdict(draft, rollout, graded)
    met = encounters(draft, distractors, rollout, correct=verdict.correct)
    score = max(f1(rollout.answer, gold) for gold in (draft.answer, *draft.answer_aliases))
    lesson = TeacherRollout(rollout=rollout, verdict=verdict, f1=score, encounters=met, kept=False)
    return lesson.model_copy(update={"kept": kept(lesson, context.config.teacher)})


def kept(lesson: TeacherRollout, grade: TeacherConfig) -> bool:
    """Is it to be imitated? The paper asks for the answer alone; `resisted` asks for a distractor met and resisted."""
    right = lesson.f1 > grade.f1 if grade.keep == "f1" else lesson.verdict.correct
    met = any(encounter.outcome is Outcome.RESISTED for encounter in lesson.encounters)
    return right and (met or not grade.resisted)
