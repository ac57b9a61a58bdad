"""A reader names all items of a list that the corpus gives.

It is shown what the corpus holds on the last step, not the list; each item is to be borne out.
"""

from collections.abc import Sequence
from itertools import zip_longest

from pydantic import Field

from pipeline.agents import cited, readers
from pipeline.agents.naming import mentions, without
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.loop.checks.another_answer import FILLERS
from pipeline.loop.checks.base import ALL_STAY, CheckResult, DraftCheck, Found, Meaning, Stage
from pipeline.reward.equality import equal
from pipeline.text import sentences, terms, untagged
from pipeline.text.names import contains, normalise
from pipeline.types import AnswerItem, Cause, Data, Draft, Hit, Hop, Passage, Probe

DEPTH, ITEM_DEPTH = 20, 5
"""Hits of a search for the whole list, and of one for an item."""
EACH, MOST_PASSAGES = 6, 40
"""Passages that the reader is shown for each thing of the list, and in all."""
ROOM = 400
"""Characters of a passage that is shown whole; of a longer one so many are, around the sentence that was searched for.
"""
MOST_NAMED = 5
"""Further items that a finding names."""


class ItemOutput(Data):
    item: str
    passage: str = ""


class CompleteOutput(Data):
    items: tuple[ItemOutput, ...] = Field(max_length=256)


async def complete_list(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Of a list: what a reader found, and a fatal finding for items that are missing or that no passage bears out.

    The set of things over which a program computes is such a list.
    """
    last, step = len(draft.hops) - 1, "the set" if draft.program else "the last step"
    draft = _as_list(draft)
    if not draft.listed:
        return CheckResult()
    queries = _queries(draft)
    found = await context.retriever.search_many(queries[:2], DEPTH)
    found += await context.retriever.search_many(queries[2:], ITEM_DEPTH)
    passages = chosen(await cited.passages(draft, context.retriever), found, EACH * len(draft.answer_items))
    hop, about = draft.hops[-1], cited.subject(draft, len(draft.hops) - 1)
    question = hop.sub_question if contains(hop.sub_question, about) else f"{hop.sub_question} ({about})"
    asked = context.prompt(
        "list/complete", question=question, passages=[shown(cut(one, queries, draft)) for one in passages]
    )
    output, model, usage = await readers.read(asked, "complete", CompleteOutput, context)
    stated = [(named.item.strip(), passage) for named in output.items if (passage := stating(named, passages))]
    missed, more = _compared(draft.answer_items, stated)
    searches = tuple(map(cited.searched, queries, found))
    names, right = tuple(name for name, _ in stated), len(draft.answer_items) - len(missed)
    probe = Probe(check="complete_list", model=model, answers=names, right=right, searches=searches, usage=usage)
    findings = []
    if more:
        told = "; ".join(f"'{name}' by the passage '{passage.title}'" for name, passage in more[:MOST_NAMED])
        ids = {passage.id for _, passage in more}
        telling = tuple(search for search in searches if ids & set(search.passage_ids))[:1]
        found_more = Found(f"{step} has more answers than the list: {told}", (last,), telling)
        findings.append(found_more.finding("incomplete_list", CHECK.cause))
    if missed:
        told = " and ".join(f"'{item.answer}'" for item in missed)
        detail = f"a reader of {len(passages)} passages did not find that {step}'s answers include {told}"
        findings.append(Found(detail, (last,)).finding("unproven_item", Cause.GENERATOR_ERROR))
    return CheckResult(probes=(probe,), findings=tuple(findings))


def _as_list(draft: Draft) -> Draft:
    """Of a program the draft that asks for all things of its set, each with the passage that names what joins them."""
    if (program := draft.program) is None or not program.set_question:
        return draft
    items = []
    for one in program.values:
        chain = range(cited.start(draft, one.hop), one.hop + 1)
        led = [number + 1 for number in chain[:-1] if normalise(draft.hops[number].answer) == normalise(program.link)]
        hop = draft.hops[one.hop if cited.listed(draft, one.hop) else [*chain[:1], *led][-1]]
        named = one.value if program.operation == "count" and not program.condition else one.name
        name, *others = dict.fromkeys(filter(None, (named, untagged(hop.title), hop.title)))
        own = {field: getattr(hop, field) for field in ("passage_id", "title", "quote", "passage_sha256")}
        items.append(AnswerItem(answer=name, aliases=tuple(others), **own))
    end = {"sub_question": program.set_question, "answer": "; ".join(item.answer for item in items)}
    last = draft.hops[-1].model_copy(update={**end, "title": program.link})
    return draft.model_copy(update={"answer_items": tuple(items), "hops": (last,), "program": None})


def _queries(draft: Draft) -> list[str]:
    """The last step's question, the words of its quote without the items, and each item with what the list is about."""
    hop, about = draft.hops[-1], cited.subject(draft, len(draft.hops) - 1)
    rest = without(hop.quote, [name for item in draft.answer_items for name in item.spellings])
    return [
        hop.sub_question,
        rest if contains(rest, about) else f"{about} {rest}",
        *(f"{item.answer} {about}" for item in draft.answer_items),
    ]


def chosen(gold: Sequence[Passage], found: Sequence[Sequence[Hit]], room: int) -> list[Passage]:
    """Those that are cited, then the best hits of each search, the second best, and so on; of those with one text the
    first."""
    ranked = (hit.passage for rank in zip_longest(*found) for hit in rank if hit)
    kept: dict[str, Passage] = {}
    for passage in (*gold, *ranked):
        kept.setdefault(passage.text, passage)
    return list(kept.values())[: max(len(gold), min(MOST_PASSAGES, room))]


def cut(passage: Passage, queries: Sequence[str], draft: Draft, room: int = ROOM) -> Passage:
    """The passage as the reader is shown it: of a long one what the draft quotes, or else of the sentences that name
    what the list is about, or of all, the one with the most words of a query; and the sentences around, as many as
    there is room for."""
    text, spans = passage.text, sentences(passage.text)
    evidence: tuple[Hop | AnswerItem, ...] = (*draft.hops, *draft.answer_items)
    quotes = {one.quote for one in evidence if one.passage_id == passage.id}
    ends = [(text.find(quote), text.find(quote) + len(quote)) for quote in quotes if quote and quote in text]
    hits = [n for n, span in enumerate(spans) if any(span.start < end and at < span.end for at, end in ends)]
    if not hits and spans:
        asked, said = [{*terms(query)} - FILLERS for query in queries], [{*terms(text[slice(*span)])} for span in spans]
        about = cited.subject(draft, len(draft.hops) - 1)
        naming = [n for n, span in enumerate(spans) if contains(text[slice(*span)], about)]
        hits = [max(naming or range(len(spans)), key=lambda n: max(len(words & said[n]) for words in asked))]
    first, last = start, stop = min(hits, default=0), max(hits, default=-1)
    while wider := [
        (a, b)
        for a, b in ((first - 1, last), (first, last + 1))
        if a >= 0 and b < len(spans) and spans[b].end - spans[a].start <= room
    ]:
        first, last = min(wider, key=lambda one: max(start - one[0], one[1] - stop))
    kept = text[spans[first].start : spans[last].end] if spans else text
    gaps = "… " * bool(first), " …" * (last + 1 < len(spans))
    return passage.model_copy(update={"text": kept.join(gaps)})


def stating(output: ItemOutput, passages: Sequence[Passage]) -> Passage | None:
    """The passage that the reader names for an item, if it is among these and names the item."""
    named = (passage for passage in passages if passage.shown_id in output.passage)
    return next((p for p in named if normalise(output.item) and mentions(f"{p.title} | {p.text}", output.item)), None)


def _compared(
    items: Sequence[AnswerItem], stated: Sequence[tuple[str, Passage]]
) -> tuple[list[AnswerItem], list[tuple[str, Passage]]]:
    """The items that were not found, and what was found beside the list.

    A longer or shorter form stands for an item that is not found under one of its own names.
    """
    known = {name: [item for item in items if _same(name, item)] for name, _ in stated}
    missed = [item for item in items if not any(item in same for same in known.values())]
    more = [(name, passage) for name, passage in stated if not known[name]]
    for item in list(missed):
        forms = [pair for pair in more if any(contains(pair[0], s) or contains(s, pair[0]) for s in item.spellings)]
        if forms:
            missed.remove(item)
            more = [pair for pair in more if pair not in forms]
    return missed, list({normalise(name): (name, passage) for name, passage in more}.values())


def _same(name: str, item: AnswerItem) -> bool:
    return any(equal(form, list(item.spellings)) for form in {name, untagged(name)})


FURTHER = {
    "incomplete_list": Meaning(
        "A passage of the corpus gives one more item of a list.",
        f"Add them, or a clue that leaves them out, or ask for a list that is closed. {ALL_STAY}",
    ),
    "unproven_item": Meaning(
        "A reader finds an item of a list in no passage.", "Leave these items out, or quote a passage that states them."
    ),
}
CHECK = DraftCheck(Stage.READ, 2, Cause.AMBIGUOUS, ask=complete_list, at_once=complete_list, further=FURTHER)
