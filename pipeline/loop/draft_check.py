"""What the audit will say of a draft, in words for the agent that is writing it."""

from collections.abc import Iterable, Mapping

from pipeline.agents.evidence import searched
from pipeline.context import RunContext
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.audit import audit
from pipeline.types import Draft, Finding, Passage, Searched


async def check_draft(draft: Draft, target: int, shown: Mapping[str, Passage], context: RunContext) -> str:
    """The findings of the audit, over the whole index as in a round, and where single searches find what is cited.

    `shown` holds the passages that the agent has been shown: the title of no other one is named.
    """
    retriever, k = context.retriever, context.config.retrieval.k
    findings = await audit(draft, target, retriever, k)
    known = {passage.id for passage in shown.values()}
    ids = dict.fromkeys(i for finding in findings for search in finding.searches for i in search.passage_ids)
    found = [await retriever.get(passage_id) for passage_id in ids if passage_id not in known]
    lines = []
    if any(finding.fatal for finding in findings):
        back = feedback_from_audit(draft, findings)
        lines.append(f"It would be sent back as {back.label.value}, cause {back.cause.value}: {back.message}")
    else:
        lines.append("The automatic checks let it pass; a reader and search agents try it next.")
    lines += [line for finding in findings for line in _lines(finding, draft)]
    lines.append(
        "Where one search finds the cited passages; the passage of a later hop should not be among the first few:"
    )
    queries = {"the question": draft.question} | {f"hops[{n}]": hop.sub_question for n, hop in enumerate(draft.hops)}
    results = await retriever.search_many(list(queries.values()), k)
    for name, hits in zip(queries, results, strict=True):
        lines.append(f"- {name}: {places(searched('', hits), draft) or f'none among the first {k}'}")
    return without_titles("\n".join(lines), found, shown.values())


def _lines(finding: Finding, draft: Draft) -> list[str]:
    about = f" ({', '.join(f'hops[{n}]' for n in finding.hops)})" if finding.hops else ""
    searches = [f"  searched '{s.query}': {places(s, draft) or 'no cited passage'}" for s in finding.searches]
    return [f"- {finding.check}{about}: {finding.detail}", *searches]


def places(search: Searched, draft: Draft) -> str:
    """The hops whose passages a search found, with their ranks."""
    homes = [(n, hop.passage_id) for n, hop in enumerate(draft.hops) if hop.passage_id in search.passage_ids]
    return ", ".join(f"hops[{n}] at rank {search.passage_ids.index(home) + 1}" for n, home in homes)


def without_titles(text: str, hidden: Iterable[Passage | None], known: Iterable[Passage]) -> str:
    """The text without the titles of passages that its reader may not know of."""
    titles = {passage.title for passage in hidden if passage} - {passage.title for passage in known}
    for title in sorted(titles, key=lambda title: (-len(title), title)):
        # Of a title that may stand within any word only the quoted form is one.
        text = text.replace(f"'{title}'", _UNKNOWN)
        text = text.replace(title, _UNKNOWN) if len(title) > _SHORT else text
    return text


_UNKNOWN, _SHORT = "a passage that you have not been shown", 4
