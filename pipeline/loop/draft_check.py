"""The checks of a draft, described to the agent that is writing it."""

from collections.abc import Iterable, Mapping, Sequence

from pipeline.context import RunContext
from pipeline.loop.assess import feedback_from_findings
from pipeline.loop.examine import examine
from pipeline.loop.rival_answer import quote_rival
from pipeline.text import sentences
from pipeline.types import Draft, Passage, Probe

_HIDDEN_TITLE, _SHORT = "[hidden title]", 4
"""A title of at most four letters may be part of any word, so it is hidden in quotation marks only."""


async def check_draft(
    draft: Draft, target: int, shown_passages: Mapping[str, Passage], context: RunContext
) -> tuple[str, tuple[Probe, ...]]:
    """Say why the round would send the draft back; an empty text if it would not.

    The result stays in memory, so that the round does not repeat the checks.

    Args:
        draft: the draft.
        target: the number of searches that it must need.
        shown_passages: the passages that the agent has been shown. The text names no other titles.
        context: the run.

    Returns:
        The text, and the readers' new answers.
    """
    result = await examine(draft, target, context, author=True)
    probes = () if result.again else result.probes
    if not result.findings:
        return "", probes
    shown_ids = {passage.id for passage in shown_passages.values()}
    ids = dict.fromkeys(i for finding in result.findings for search in finding.searches for i in search.passage_ids)
    unseen = [await context.retriever.get(passage_id) for passage_id in ids if passage_id not in shown_ids]
    feedback = feedback_from_findings(result.findings)
    lines = [f"It would be sent back: yes, as {feedback.label.value}, cause {feedback.cause.value}."]
    lines += [f"- {finding.check}: {finding.detail}" for finding in result.findings]
    return hide_unseen("\n".join(lines), unseen, shown_passages.values()), probes


def format_ranks(passage_ids: Sequence[str], draft: Draft) -> str:
    return ", ".join(
        f"hops[{index}] at rank {passage_ids.index(hop.passage_id) + 1}"
        for index, hop in enumerate(draft.hops)
        if hop.passage_id in passage_ids
    )


def hide_unseen(text: str, hidden: Iterable[Passage | None], shown_passages: Iterable[Passage]) -> str:
    """Remove the titles of hidden passages, and the quotes from them."""
    unseen = [passage for passage in hidden if passage]
    for passage in unseen:
        for start, end in sentences(passage.text):
            text = text.replace(quote_rival(passage.text[start:end]), "")
    titles = {passage.title for passage in unseen} - {passage.title for passage in shown_passages}
    for title in sorted(titles, key=lambda title: (-len(title), title)):
        text = text.replace(f"'{title}'", _HIDDEN_TITLE)
        text = text.replace(title, _HIDDEN_TITLE) if len(title) > _SHORT else text
    return text
