"""A stretch of a passage with spans masked that other documents state too (MaskSearch's task): names by the links of
the corpus, dates and numbers by what linked passages say. No model is asked. What is masked is drawn by the seed's key,
as many spans as there are to be steps.

The document and its versions are hidden from all searches for the question, since any sentence of the stretch would
find all of it at once. Each span has a hop on a document of its own, whose sentence names the subject of the text, or
something else that stands beside the span, and says more of the same; of a date or number, which may be that of
anything, it must say more in any case. Where that something is masked too, its span comes first in the order.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from pipeline import prompts
from pipeline.agents.naming import mentions
from pipeline.context import RunContext
from pipeline.links.stored import StoredLinks
from pipeline.links.walks import Walks
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies.base import Proposal
from pipeline.text import Span, dates, numbers, sentences, terms, untagged
from pipeline.text.scripts import spaceless
from pipeline.types import AnswerItem, AnswerType, Draft, Hop, Passage, Round, Seed, Stop, Trajectory, sha256

WORDED = False
_FEWEST, _MOST, _LONGEST = 2, 5, 1_200
"""Sentences of a stretch, and its characters."""
_EACH, _POOL, _HIDDEN = 8, 200, 200
"""Passages of a phrase that are looked at, passages in all, and passages that a question may hide: each search brings
as many more."""
_SMALL, _SHORT, _WIDE, _GAP, _NEAR, _LONG = 100, 4, 60, 10, 30, 5
"""A number below it stands in many passages; characters of a span at least ("Les" is part of a title) and at most,
between two at least, between a value and what it may be the value of, and of a word that says something."""
_LONGER = re.compile(r"['’]?\w|\s?[–/&-]|\s(?:of|de|von|van)\s[^\W\d_a-z]"), re.compile(r"[:–/-]\s?\Z")
"""What follows and comes before a part of something longer: the 1980s, 1971-1977, Star Wars: The Rise of Cobra."""


class _Mask(NamedTuple):
    """A span of the seed's passage, with a sentence of another document that states it."""

    start: int
    end: int
    text: str
    passage: Passage
    quote: str
    anchors: frozenset[str]
    """What else quote or title name: the subject of the text, and names that stand beside the span."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    """A seed without a stretch is passed over, as one without a walk."""
    draft = next(_drafts(seed, context, aim(seed, context.config, ())), None)
    return _made(draft, Stop.NO_WALK)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    """Other spans, of the same or another stretch, whatever was wrong with those before."""
    asked = {frozenset(past.draft.answer_items) for past in rounds if past.draft}
    drafts = _drafts(seed, context, aim(seed, context.config, rounds))
    return _made(next((one for one in drafts if frozenset(one.answer_items) not in asked), None), Stop.ANSWERED)


def _made(draft: Draft | None, without: Stop) -> Proposal:
    """The trace of an author that no model was asked for."""
    stop = Stop.ANSWERED if draft else without
    return Proposal(trajectory=Trajectory(messages=(), calls=(), stop=stop), draft=draft)


def _drafts(seed: Seed, context: RunContext, count: int) -> Iterator[Draft]:
    """In the order of the seed's draw."""
    walks, passage = context.walks[seed.side], seed.passage
    if (place := walks.links.corpus.place(passage.id)) is None:
        return
    said, sizes = sentences(passage.text), range(_FEWEST, _MOST + 1)
    stretches = [Span(said[n].start, said[n + size - 1].end) for size in sizes for n in range(len(said) - size + 1)]
    spans, hidden = _spans(walks, place, said), cache(lambda: _hidden(walks.links, place))
    spans.sort(key=lambda masks: sha256(f"mask:{seed.key}:{masks[0].start}"))
    for stretch in sorted(stretches, key=lambda one: sha256(f"stretch:{seed.key}:{one.start}:{one.end}")):
        within = [masks for masks in spans if stretch.start <= masks[0].start and masks[0].end <= stretch.end]
        for first in range(len(within) - count + 1 if stretch.end - stretch.start <= _LONGEST else 0):
            masks = _chosen(within[first:], passage, stretch, count)
            if len(masks) == count and len(hidden()) <= _HIDDEN:
                yield _draft(masks, passage, stretch, said, hidden())


def _spans(walks: Walks, place: int, said: Sequence[Span]) -> list[list[_Mask]]:
    """The phrases, dates and numbers of a passage that passages of other documents state too which share a phrase with
    it: of each all of these, those that say most of the same first."""
    links, own, names, pool = walks.links, walks.links.passage(place), set[Span](), dict[int, Passage]()
    for number in sorted(links.of(place), key=lambda number: links.phrase(number).documents):
        mention = links.mention(number, place)
        names |= {Span(mention.start - own.start, mention.end - own.start)} if mention.end else set()
        places, groups = walks.places(number)
        others = places[groups != links.group(place)].tolist()[:_EACH]
        pool |= {other: links.passage(other) for other in others[: _POOL - len(pool)]}
    values = {date.span for date in dates(own.text)} | {n.span for n in numbers(own.text) if n.value >= _SMALL}
    spans, reached = list[list[_Mask]](), 0
    for span in sorted(names | values, key=lambda span: (span.start, -span.end)):
        text = own.text[slice(*span)]
        part = _LONGER[0].match(own.text, span.end) or _LONGER[1].search(own.text, 0, span.start)
        part = None if spaceless(own.text) else part
        fits = (1 if spaceless(text) else _SHORT) <= len(text) <= _WIDE
        if span.start < reached or part or not fits or any(mark in text for mark in ";[]\n"):
            continue
        around = next((slice(*one) for one in said if one.start <= span.start < one.end), slice(*span))
        near = (0, len(own.text)) if span in names else (span.start - _NEAR, span.end + _NEAR)
        beside = (name for name in names - {span} if around.start <= name.start < around.stop)
        called = [own.text[slice(*name)] for name in beside if near[0] <= name.end and name.start <= near[1]]
        about = untagged(own.title)
        masks = _stated(span, own.text, own.text[around], [about, *called], pool.values(), value=span not in names)
        if masks and not mentions(about, text):
            spans.append(masks)
            reached = span.end
    return spans


def _stated(
    span: Span, text: str, around: str, names: Sequence[str], passages: Iterable[Passage], *, value: bool
) -> list[_Mask]:
    """A mask for each sentence that states the span and names one of the names, of which the first is the subject.

    A name may be that of the subject without more; else the sentence must have two words in common with the one around
    it. A value of the subject needs one such word; one of something else must stand in the document about that."""
    asked, found = text[slice(*span)], list[tuple[bool, int, _Mask]]()
    own = _telling(around) - _telling(" ".join((asked, *names)))
    for passage in passages:
        for start, end in sentences(passage.text) if asked in passage.text else ():
            quote = passage.text[start:end]
            named = [name for name in names if mentions(f"{passage.title} | {quote}", name)]
            alike, of_subject = len(own & _telling(quote)), names[0] in named
            fits = bool(named) and alike >= (of_subject if value else 2 * (not of_subject)) and mentions(quote, asked)
            if fits and (of_subject or not value or untagged(passage.title) in named):
                found.append((not of_subject, -alike, _Mask(*span, asked, passage, quote, frozenset(named))))
    return [mask for *_, mask in sorted(found, key=lambda one: one[:2])]


def _telling(text: str) -> set[str]:
    return {term for term in terms(text) if len(term) >= _LONG or spaceless(term)}


def _chosen(spans: Sequence[Sequence[_Mask]], passage: Passage, stretch: Span, count: int) -> list[_Mask]:
    """A mask for each of so many of the spans, in their order; fewer where there are not as many."""
    chosen, text = list[_Mask](), passage.text
    for masks in spans:
        start, end, asked = masks[0][:3]
        if mentions(f"{text[stretch.start : start]} | {text[end : stretch.end]}", asked):
            continue
        for mask in masks:
            apart = all(_apart(mask, one) and _apart(one, mask) for one in chosen)
            if apart and (ordered := _ordered([*chosen, mask])):
                chosen = ordered
                break
        if len(chosen) == count:
            break
    return chosen


def _apart(mask: _Mask, other: _Mask) -> bool:
    """Are there words between the two, and does no passage give both, but to be found by the other?"""
    near = abs(mask.start - other.end) < _GAP or mask.passage.document_id == other.passage.document_id
    return not near and (mask.text in other.anchors or not mentions(other.passage.text, mask.text))


def _ordered(masks: Sequence[_Mask]) -> list[_Mask]:
    """Each after what leads to it, directly after where that can be, else as they stand in the text; nothing where one
    cannot be come by, since its quote names only what is masked."""
    left, placed = sorted(masks, key=lambda mask: mask.start), list[_Mask]()
    while left:
        hidden = {mask.text for mask in left}
        ready = [mask for mask in left if mask.anchors - hidden]
        if not ready:
            return []
        led = (mask for mask in ready if placed and placed[-1].text in mask.anchors)
        placed.append(next(led, ready[0]))
        left.remove(placed[-1])
    return placed


def _draft(
    masks: Sequence[_Mask], passage: Passage, stretch: Span, said: Sequence[Span], hidden: Sequence[str]
) -> Draft:
    about, answers = untagged(passage.title), [" ".join(mask.text.split()) for mask in masks]
    hops = []
    for number, mask in enumerate(masks):
        around = next((one for one in said if one.start <= mask.start < one.end), stretch)
        # What comes before it in the order is known by then.
        asked = _masked(passage.text, around, {one: n for n, one in enumerate(masks, 1) if n > number})
        hop = Hop(
            sub_question=f"{about}: {asked} – [{number + 1}]?",
            answer=answers[number],
            passage_id=mask.passage.id,
            title=mask.passage.title,
            quote=mask.quote,
            passage_sha256=mask.passage.sha256,
        )
        hops.append(hop)
    lead = prompts.note("mask/_write").replace("TITLE", about)
    text = _masked(passage.text, stretch, {one: n for n, one in enumerate(masks, 1)})
    return Draft(
        question=f"{lead} {text}",
        answer="; ".join(answers),
        answer_type=AnswerType.ORDERED,
        answer_items=tuple(AnswerItem(answer=answer) for answer in answers),
        hops=tuple(hops),
        family="mask",
        hidden=tuple(hidden),
    )


def _masked(text: str, within: Span, masks: Mapping[_Mask, int]) -> str:
    """A stretch of the text with the numbers of masks in their places."""
    parts, at = list[str](), within.start
    for mask in sorted((one for one in masks if within.start <= one.start < within.end), key=lambda one: one.start):
        parts += [text[at : mask.start], f"[{masks[mask]}]"]
        at = mask.end
    return " ".join("".join([*parts, text[at : within.end]]).split())


def _hidden(links: StoredLinks, place: int) -> tuple[str, ...]:
    """All passages of the document of a passage, and of those of its versions that share a phrase with it."""
    group, ids = links.group(place), {links.passage(place).document_id}
    for number in links.of(place):
        places, groups = links.places(number)
        ids |= {links.passage(int(other)).document_id for other in places[groups == group].tolist()}
    return tuple(passage.id for key in sorted(ids) for passage in links.corpus.passages_of(key))
