"""Distractors from the corpus itself.

Hard passages come from deep in the hits of a hop's query, and an overlay puts them among the hits.
"""

from collections.abc import Sequence

from pipeline.config.loop import DistractorConfig
from pipeline.context import RunContext
from pipeline.distractors.kinds.base import WritingTask
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.question_passages import LIFTED_FROM, IndexChanges, Overlay
from pipeline.text import dates, numbers
from pipeline.text.names import contains
from pipeline.types import Distractor, Draft, Passage

MOST = 8
"""The most passages that a model chooses from."""


async def candidates(task: WritingTask, context: RunContext, refused: Sequence[Distractor]) -> list[Passage]:
    """Return the passages that the hop's query finds beyond the k that a search shows, best first.

    There is one passage of each document that no hop cites and no earlier attempt used. A passage may not contain an
    answer of the hop; if the answer is a date or a number, the passage must contain one too.
    """
    seen = {*task.excluded, *(rejected.source_id.rpartition("#")[0] for rejected in refused)}
    find_values = next((find_values for find_values in (dates, numbers) if find_values(task.answer)), None)
    passages = list[Passage]()
    for hit in (await context.retriever.search(task.query, LIFTED_FROM))[context.config.retrieval.k :]:
        passage = hit.passage
        fits = find_values is None or find_values(passage.text)
        has_answer = any(contains(f"{passage.title}\n{passage.text}", answer) for answer in task.answers)
        if fits and not has_answer and passage.document_id not in seen:
            seen.add(passage.document_id)
            passages.append(passage)
    return passages[:MOST]


def distractor(
    kind: str, task: WritingTask, passage: Passage, text: str = "", *, claim: str, mark: str = ""
) -> Distractor:
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


def plan_overlay(
    draft: Draft, distractors: Sequence[Distractor], settings: DistractorConfig
) -> tuple[list[Passage], IndexChanges]:
    """Return the passages that these distractors add to the index for their question, and its changes to the index."""
    evidence = {hop.passage_id for hop in draft.hops}
    from_hits = [distractor for distractor in distractors if distractor.source_id not in evidence]
    hidden = {distractor.source_id for distractor in from_hits if not distractor.unaltered}
    changes = IndexChanges(
        # A written distractor ranks by its words, since a text whose words rank it first would be too long to read.
        lifted=frozenset(distractor.id for distractor in (distractors if settings.rank == "above" else from_hits)),
        hidden=frozenset() if settings.keep_original else frozenset(hidden),
        kept=frozenset(evidence),
        above=settings.rank == "above",
    )
    return [distractor.passage for distractor in distractors if not distractor.unaltered], changes


def build_overlay(
    retriever: Retriever, draft: Draft, distractors: Sequence[Distractor], settings: DistractorConfig
) -> Overlay:
    return Overlay(retriever, *plan_overlay(draft, distractors, settings))
