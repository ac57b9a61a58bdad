"""What the audit says of a draft, in words for the agent that is writing it."""

from collections.abc import Iterable, Mapping, Sequence

from pipeline.context import RunContext
from pipeline.loop.assess import feedback_from_audit, what_to_change
from pipeline.loop.checks.another_answer import saying
from pipeline.loop.examine import examine
from pipeline.text import sentences
from pipeline.types import Draft, Finding, Label, Passage, Probe


async def check_draft(
    draft: Draft, target: int, shown: Mapping[str, Passage], context: RunContext
) -> tuple[str, tuple[Probe, ...]]:
    """Why the round would send the draft back, or nothing where it would not; and what readers were asked for it, each
    once. The round takes what was found here and asks nothing again.

    `shown` holds the passages that the agent has been shown: the title of no other one is named.
    """
    result = await examine(draft, target, context, author=True)
    asked = () if result.again else result.probes
    if not any(finding.fatal for finding in result.findings):
        return "", asked
    known = {passage.id for passage in shown.values()}
    ids = dict.fromkeys(i for finding in result.findings for search in finding.searches for i in search.passage_ids)
    found = [await context.retriever.get(passage_id) for passage_id in ids if passage_id not in known]
    back = feedback_from_audit(draft, result.findings)
    # Of a draft that is too easy also what only saves hops: together they leave too few.
    told = [f for f in result.findings if f.fatal or (back.label is Label.TOO_EASY and f.hops)]
    lines = [f"It would be sent back: yes, as {back.label.value}, cause {back.cause.value}."]
    lines += [line for finding in told for line in _lines(finding, draft)]
    return without_hidden("\n".join(lines), found, shown.values()), asked


def _lines(finding: Finding, draft: Draft) -> list[str]:
    about = f" ({', '.join(f'hops[{n}]' for n in finding.hops)})" if finding.hops else ""
    said = finding.detail.rstrip(".")
    mend = f". {what_to_change(draft, finding)}" if finding.fatal else "; by itself it would leave enough hops."
    lines = [f"- {finding.check}{about}: {said}{mend}"]
    for search in finding.searches:
        over = f" over {search.retriever}" if search.retriever else ""
        found = places(search.passage_ids, draft) or "no cited passage"
        lines.append(f"  searched '{search.query}'{over}: {found}")
    return lines


def places(found: Sequence[str], draft: Draft) -> str:
    """The hops whose passages a search found, with their ranks."""
    homes = [(n, hop.passage_id) for n, hop in enumerate(draft.hops) if hop.passage_id in found]
    return ", ".join(f"hops[{n}] at rank {found.index(home) + 1}" for n, home in homes)


def without_hidden(text: str, hidden: Iterable[Passage | None], known: Iterable[Passage]) -> str:
    """The text without the titles of passages that its reader may not know of, and without what it quotes of them."""
    unseen = [passage for passage in hidden if passage]
    for passage in unseen:
        for start, end in sentences(passage.text):
            text = text.replace(saying(passage.text[start:end]), "")
    titles = {passage.title for passage in unseen} - {passage.title for passage in known}
    for title in sorted(titles, key=lambda title: (-len(title), title)):
        # Of a title that may stand within any word only the quoted form is one.
        text = text.replace(f"'{title}'", _UNKNOWN)
        text = text.replace(title, _UNKNOWN) if len(title) > _SHORT else text
    return text


_UNKNOWN, _SHORT = "[hidden title]", 4
