"""The stage after the distractors: a teacher's rollouts among them, each judged (RAGShaper, §3.3 to 3.4).

None of it touches acceptance or difficulty, which are the index's alone.
"""

import asyncio
from collections.abc import Sequence

from pipeline import assess
from pipeline.adversary import UNDECIDED
from pipeline.agents.judge import rule
from pipeline.agents.navigation import Navigation
from pipeline.agents.site import Site
from pipeline.agents.teacher import teach
from pipeline.config import TeacherConfig
from pipeline.encounters import encounters
from pipeline.llm import ledger
from pipeline.llm.deadline import in_time
from pipeline.measure import f1
from pipeline.types import Distractor, Draft, Lesson, Opposition, Outcome, Rollout


async def lessons(
    draft: Draft, opposition: Opposition | None, key: str, site: Site, before: tuple[Lesson, ...] = ()
) -> tuple[Lesson, ...]:
    """As many as are configured, by sample; none where there is no distractor to meet. `key` is the seed's.

    A rollout without a verdict is left out (`untaught`); what an earlier try left in `before` is kept.
    """
    if opposition is None or not opposition.used:
        return ()
    ledger.enter(ledger.TEACH)

    async def taught(sample: int) -> Lesson | None:
        try:
            return await _lesson(draft, opposition.used, key, sample, site)
        except UNDECIDED:
            return None

    found = await asyncio.gather(*map(taught, untaught(opposition, before, site)))
    return tuple(sorted([*before, *filter(None, found)], key=lambda lesson: lesson.rollout.sample))


def untaught(opposition: Opposition | None, made: tuple[Lesson, ...], site: Site) -> list[int]:
    """The samples that the teacher is still to play."""
    if opposition is None or not opposition.used:
        return []
    return sorted({*range(site.config.teacher.rollouts)} - {lesson.rollout.sample for lesson in made})


async def _lesson(draft: Draft, distractors: Sequence[Distractor], key: str, sample: int, site: Site) -> Lesson:
    passages = [distractor.passage for distractor in distractors]

    async def start() -> Rollout:
        navigation = Navigation(site.retriever, passages, site.config.teacher, key)
        return await teach(draft.question, sample, navigation, site)

    rollout = await in_time(start, site.config.how.rollout_seconds)
    ruling = await rule(draft, rollout.answer, site, ask=assess.supported(draft, rollout))
    verdict = assess.verdict(draft, rollout, ruling)
    met = encounters(draft, distractors, rollout, correct=verdict.correct)
    score = max(f1(rollout.answer, gold) for gold in (draft.answer, *draft.answer_aliases))
    lesson = Lesson(rollout=rollout, verdict=verdict, f1=score, encounters=met, kept=False)
    return lesson.model_copy(update={"kept": kept(lesson, site.config.teacher)})


def kept(lesson: Lesson, rule: TeacherConfig) -> bool:
    """Is it to be imitated? The paper asks for the answer alone; `resisted` asks for a distractor met and resisted."""
    right = lesson.f1 > rule.f1 if rule.keep == "f1" else lesson.verdict.correct
    met = any(encounter.outcome is Outcome.RESISTED for encounter in lesson.encounters)
    return right and (met or not rule.resisted)
