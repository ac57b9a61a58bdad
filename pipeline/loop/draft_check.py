"""What the audit will say of a draft, in words for the agent that is writing it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipeline.agents.evidence import gather, searched
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.assess import feedback_from_audit, what_to_change
from pipeline.loop.audit import audit
from pipeline.loop.audit.ahead import later, linked_back, masked
from pipeline.loop.audit.readings import readings
from pipeline.loop.audit.results import CheckResult
from pipeline.loop.audit.shortcuts import TOP
from pipeline.loop.audit.uniqueness import saying
from pipeline.retrieval.base import Retriever
from pipeline.text import sentences
from pipeline.types import Draft, Finding, Passage, Probe, Searched, naturalness

ASKED = ("naturalness", "skip_ahead", "complete_list")
"""The checks of a reader that are made here already: one call each, and what most drafts failed that a model wrote and
the free checks let pass."""

PASSED = "These checks let it pass."


async def check_draft(
    draft: Draft, target: int, shown: Mapping[str, Passage], context: RunContext
) -> tuple[str, tuple[Probe, ...]]:
    """The findings of the audit, over the whole index as in a round, and where single searches find what is cited; and
    what a reader was asked for it. Nothing is said of a draft of which an author could only learn that it passes.

    `shown` holds the passages that the agent has been shown: the title of no other one is named.
    """
    retriever, k = context.retriever, context.config.retrieval.k
    free = await audit(draft, target, retriever, k, context.others)
    read = await _read(draft, target, free, context)
    findings = (*free, *read.findings)
    known = {passage.id for passage in shown.values()}
    ids = dict.fromkeys(i for finding in findings for search in finding.searches for i in search.passage_ids)
    found = [await retriever.get(passage_id) for passage_id in ids if passage_id not in known]
    lines = [_verdict(draft, findings), *(line for finding in findings for line in _lines(finding, draft))]
    if (grade := naturalness(read.probes)) and not any(f.check == "naturalness" for f in findings):
        least = context.config.checks.naturalness
        lines.append(f"- naturalness: a reader graded the wording {grade} of 5; {least} is enough")
    linked = linked_back(draft, await gather(draft, retriever))
    bare = [(number, query) for number in later(draft) if (query := masked(draft, number))]
    queries = [draft.question, *(hop.sub_question for hop in draft.hops), *(query for _, query in bare)]
    asked, *parts = [searched("", hits) for hits in await retriever.search_many(queries, k)]
    held = draft.hops[-1].passage_id in asked.passage_ids
    if not (findings or linked or held):
        return "", read.probes
    lines += [
        f"Note: the passage of hops[{hop}] names what hops[{hop - 1}] is about too, which may be needless."
        for hop in linked
    ]
    means = " The last hop's passage is among them: it is too easy if the passages found state all other facts as well."
    lines += [
        f"Of {k} passages, one search with the question finds {_or_none(asked, draft)}." + means * held,
        f"One search with each sub-question finds (a later hop's passage among the first {TOP} makes it needless):",
        *(f"- hops[{n}]: {_or_none(part, draft)}" for n, part in enumerate(parts[: len(draft.hops)])),
    ]
    if bare:
        lines.append(
            "The same without what the hops before give (where a hop's passage stands far ahead, those are needless):"
        )
        left = zip(bare, parts[len(draft.hops) :], strict=True)
        lines += [f"- hops[{n}] by '{query}': {_or_none(part, draft)}" for (n, query), part in left]
    lines += [await _searched_by(name, other, draft, k) for name, other in context.others.items()]
    return without_hidden("\n".join(lines), found, shown.values()), read.probes


async def _searched_by(name: str, retriever: Retriever, draft: Draft, k: int) -> str:
    """What another retriever of the audit finds."""
    queries = [draft.question, *(hop.sub_question for hop in draft.hops)]
    asked, *parts = [searched("", hits) for hits in await retriever.search_many(queries, k)]
    found = "; ".join(f"hops[{n}] {_or_none(part, draft)}" for n, part in enumerate(parts))
    return f"Over {name} the question finds {_or_none(asked, draft)}. By sub-question: {found}."


async def _read(draft: Draft, target: int, free: tuple[Finding, ...], context: RunContext) -> CheckResult:
    """What a reader says: the audit asks the same again, and the cache answers it. Unlike there no fatal finding ends
    it, the free ones included, since all can be mended at once; and no answer is no reason to stop an author."""
    passed = [finding for finding in free if not finding.fatal]
    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()
    for name in (name for name in ASKED if name in context.config.checks_run()):
        checks = context.config.checks.model_copy(update={"run": (name,)})
        alone = replace(context, config=context.config.model_copy(update={"checks": checks}))
        try:
            result = await readings(draft, target, passed, alone)
        except FormatError:
            continue
        probes, findings = probes + result.probes, findings + result.findings
    return CheckResult(probes=probes, findings=findings)


def _verdict(draft: Draft, findings: tuple[Finding, ...]) -> str:
    first = next((finding for finding in findings if finding.fatal), None)
    if first is None:
        return f"{PASSED} It is not taken yet, because of what follows: mend that, or give the draft as it is."
    back = feedback_from_audit(draft, findings)
    return f"It would be sent back as {back.label.value}, cause {back.cause.value}. {what_to_change(draft, first)}"


def _lines(finding: Finding, draft: Draft) -> list[str]:
    about = f" ({', '.join(f'hops[{n}]' for n in finding.hops)})" if finding.hops else ""
    searches = [f"  searched '{s.query}'{_over(s)}: {places(s, draft) or 'no cited passage'}" for s in finding.searches]
    return [f"- {finding.check}{about}: {finding.detail}{'' if finding.fatal else '; enough hops remain'}", *searches]


def _over(search: Searched) -> str:
    return f" over {search.retriever}" if search.retriever else ""


def _or_none(search: Searched, draft: Draft) -> str:
    return places(search, draft) or "none that is cited"


def places(search: Searched, draft: Draft) -> str:
    """The hops whose passages a search found, with their ranks."""
    homes = [(n, hop.passage_id) for n, hop in enumerate(draft.hops) if hop.passage_id in search.passage_ids]
    return ", ".join(f"hops[{n}] at rank {search.passage_ids.index(home) + 1}" for n, home in homes)


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


_UNKNOWN, _SHORT = "a passage that you have not been shown", 4
