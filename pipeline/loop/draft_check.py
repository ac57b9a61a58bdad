"""What the checks say of a draft, in words for the agent that is writing it."""

from collections.abc import Iterable, Mapping, Sequence

from pipeline.context import RunContext
from pipeline.loop.assess import feedback_from_findings
from pipeline.loop.examine import examine
from pipeline.loop.rival_answer import quote_rival
from pipeline.text import sentences
from pipeline.types import Draft, Passage, Probe


async def check_draft(
    draft: Draft, target: int, shown: Mapping[str, Passage], context: RunContext
) -> tuple[str, tuple[Probe, ...]]:
    """Say why the round would send the draft back, or nothing if it would not. The round takes the result and asks
    nothing again.

    Args:
        draft: the draft.
        target: the number of searches that it must take.
        shown: the passages that the agent has been shown: the title of no other one is named.
        context: the run.

    Returns:
        The text, and what readers answered now.
    """
    result = await examine(draft, target, context, author=True)
    probes = () if result.again else result.probes
    if not result.findings:
        return "", probes
    known = {passage.id for passage in shown.values()}
    ids = dict.fromkeys(i for finding in result.findings for search in finding.searches for i in search.passage_ids)
    unseen = [await context.retriever.get(passage_id) for passage_id in ids if passage_id not in known]
    feedback = feedback_from_findings(result.findings)
    lines = [f"It would be sent back: yes, as {feedback.label.value}, cause {feedback.cause.value}."]
    lines += [f"- {finding.check}: {finding.detail}" for finding in result.findings]
    return without_hidden("\n".join(lines), unseen, shown.values()), probes


def places(found: Sequence[str], draft: Draft) -> str:
    """The hops whose passages a search found, with their ranks."""
    homes = [(n, hop.passage_id) for n, hop in enumerate(draft.hops) if hop.passage_id in found]
    return ", ".join(f"hops[{n}] at rank {found.index(home) + 1}" for n, home in homes)


def without_hidden(text: str, hidden: Iterable[Passage | None], known: Iterable[Passage]) -> str:
    """The text without the titles of passages that its reader may not know of, and without what it quotes of them."""
    unseen = [passage for passage in hidden if passage]
    for passage in unseen:
        for start, end in sentences(passage.text):
            text = text.replace(quote_rival(passage.text[start:end]), "")
    titles = {passage.title for passage in unseen} - {passage.title for passage in known}
    for title in sorted(titles, key=lambda title: (-len(title), title)):
        # Of a title that may stand within any word only the quoted form is one.
        text = text.replace(f"'{title}'", _UNKNOWN)
        text = text.replace(title, _UNKNOWN) if len(title) > _SHORT else text
    return text


_UNKNOWN, _SHORT = "[hidden title]", 4
