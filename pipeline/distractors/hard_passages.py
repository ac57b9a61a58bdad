"""Distractors that the corpus itself gives: hard passages from deep in the hits of a hop's query, and the overlay that
puts them among the hits.
"""

from collections.abc import Sequence

from pipeline.config.ragshaper_settings import DistractorConfig
from pipeline.context import RunContext
from pipeline.distractors.kinds.base import WritingTask
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.question_passages import LIFTED_FROM, IndexChanges, Overlay
from pipeline.text import dates, numbers
from pipeline.text.names import contains
from pipeline.types import Distractor, Draft, Passage

MOST = 8
"""Passages among which a model chooses."""


async def candidates(task: WritingTask, context: RunContext, refused: Sequence[Distractor]) -> list[Passage]:
    """What the hop's query finds beyond the k that a search shows, best first, one of each document that no hop cites
    and no earlier try used; none that holds an answer of the hop, or holds nothing of the answer's kind where that is a
    date or a number.
    """
    seen = {*task.excluded, *(one.source_id.rpartition("#")[0] for one in refused)}
    kind = next((kind for kind in (dates, numbers) if kind(task.answer)), None)
    found = list[Passage]()
    for hit in (await context.retriever.search(task.query, LIFTED_FROM))[context.config.retrieval.k :]:
        passage = hit.passage
        fits = kind is None or kind(passage.text)
        stated = any(contains(f"{passage.title}\n{passage.text}", answer) for answer in task.answers)
        if fits and not stated and passage.document_id not in seen:
            seen.add(passage.document_id)
            found.append(passage)
    return found[:MOST]


def distractor(
    kind: str, task: WritingTask, passage: Passage, text: str = "", *, claim: str, mark: str = ""
) -> Distractor:
    """The passage as a distractor of the task's hop; as it stands, or with an altered text."""
    return Distractor(
        kind=kind,
        title=passage.title,
        text=text or passage.text,
        hop=task.hop,
        source_id=passage.id,
        source_sha256=passage.sha256,
        date=passage.date,
        source=passage.source,
        claim=claim.strip(),
        mark=mark.strip(),
    )


def laid_over(
    draft: Draft, distractors: Sequence[Distractor], settings: DistractorConfig
) -> tuple[list[Passage], IndexChanges]:
    """The passages that lie over the index for the question of these distractors, and what the index itself changes."""
    evidence = {hop.passage_id for hop in draft.hops}
    # What comes from deep in the hits, and not from the evidence.
    deep = [one for one in distractors if one.source_id not in evidence]
    hidden = set() if settings.keep_original else {one.source_id for one in deep if not one.unaltered}
    changes = IndexChanges(
        # What was written stands where its words bring it; but words that would bring it first are too many to be read.
        lifted=frozenset(one.id for one in (distractors if settings.rank == "above" else deep)),
        hidden=frozenset(hidden),
        kept=frozenset(evidence),
        above=settings.rank == "above",
    )
    return [one.passage for one in distractors if not one.unaltered], changes


def overlaid(
    retriever: Retriever, draft: Draft, distractors: Sequence[Distractor], settings: DistractorConfig
) -> Overlay:
    """The index as the question of these distractors sees it."""
    return Overlay(retriever, *laid_over(draft, distractors, settings))
