"""The passages that a draft cites, fetched once for all checks, and what a search found, as checks keep it."""

from collections.abc import Sequence

from pipeline.agents.naming import mentions
from pipeline.retrieval.base import Retriever
from pipeline.text import numbers, untagged
from pipeline.text.names import contains, normalise
from pipeline.types import CONSTRAINTS, AnswerType, Draft, Hit, Passage, Searched

Evidence = tuple[Passage | None, ...]
"""The passage of each hop, or none where the corpus has no such id."""


async def gather(draft: Draft, retriever: Retriever) -> Evidence:
    return tuple([await retriever.get(hop.passage_id) for hop in draft.hops])


async def passages(draft: Draft, retriever: Retriever) -> list[Passage]:
    """Those that the corpus has, each once, in the order of the hops; then those of the items of a list."""
    items = [await retriever.get(item.passage_id) for item in draft.answer_items if item.passage_id]
    found = (*await gather(draft, retriever), *items)
    return list({passage.id: passage for passage in found if passage is not None}.values())


def linked(draft: Draft, number: int) -> bool:
    """Is a hop about the answer of the hop before: does its title or its quote name it? "Hessian (soldiers)" is a title
    of the Hessians, and guillotines are what a passage on "the guillotine" is about."""
    hop, before = draft.hops[number], untagged(draft.hops[number - 1].answer)
    told, title = f"{hop.title} | {hop.quote}", untagged(hop.title)
    forms = (before, f"{before}s", before.removesuffix("s")) if before.islower() else (before,)
    titles = (title, f"{title}s") if title else ()
    return any(mentions(told, form) for form in forms) or any(contains(before, one) for one in titles)


def _led(draft: Draft, number: int) -> bool:
    """Does the hop before lead to this one? A bare number may stand there for something else, so that it leads to
    nothing that the question names."""
    before, title = draft.hops[number - 1].answer, untagged(draft.hops[number].title)
    bare = [one.span for one in numbers(before)[:1]] == [(0, len(before))]
    return linked(draft, number) and not (bare and mentions(draft.question, title))


def listed(draft: Draft, number: int) -> bool:
    """Does an earlier hop, no value of the program, quote a list that names what this hop's passage is about?"""
    values, thing = closing(draft), untagged(draft.hops[number].title)
    return any(mentions(hop.quote, thing) for n, hop in enumerate(draft.hops[:number]) if n not in values)


def clues(draft: Draft) -> tuple[int, ...]:
    """Of a question of the family `constraints` the hops that each say something of its hidden thing and give it as
    their answer. The last of them is the last hop, or the one before it, which asks for a fact of that thing."""
    hides = draft.family == CONSTRAINTS and draft.answer_type is not AnswerType.UNANSWERABLE
    for hidden in draft.hops[:-3:-1] if hides else ():
        names = {*map(normalise, hidden.spellings)}
        found = [n for n, hop in enumerate(draft.hops) if not names.isdisjoint(map(normalise, hop.spellings))]
        if len(found) > 1:
            return tuple(found)
    return ()


def closing(draft: Draft) -> set[int]:
    """The hops that end a chain by the draft's own word: each value of a program, and each clue but the last."""
    return {one.hop for one in draft.program.values} if draft.program else {*clues(draft)[:-1]}


def before(draft: Draft, number: int) -> set[int]:
    """Return the hops that lead to a hop."""
    if draft.graph is None:
        return {*range(start(draft, number), number)}
    ancestors = {step.id for step in draft.graph.ancestors(draft.graph.found[number])}
    return {place for place, step in enumerate(draft.graph.found) if step.id in ancestors}


def start(draft: Draft, number: int) -> int:
    """The first hop of the chain that a hop belongs to: 0, but for several chains: what they find decides the answer,
    or each is a clue."""
    if draft.graph is not None:
        return min(before(draft, number), default=number)
    closed = closing(draft)
    while number and not (number - 1 in closed if closed else draft.decided and not _led(draft, number)):
        number -= 1
    return number


def ends(draft: Draft) -> tuple[int, ...]:
    """The last hop of each chain."""
    if draft.graph is not None:
        decisive = {step.id for step in draft.graph.decisive}
        return tuple(place for place, step in enumerate(draft.graph.found) if step.id in decisive)
    last = len(draft.hops) - 1
    return tuple(number for number in range(last + 1) if number == last or start(draft, number + 1) == number + 1)


def subject(draft: Draft, number: int) -> str:
    """What a hop is about: the answer of the hop before, or what its own title names."""
    if draft.graph is not None:
        return untagged(draft.graph.subject(draft.graph.found[number]))
    return untagged(draft.hops[number].title) if start(draft, number) == number else draft.hops[number - 1].answer


def searched(query: str, hits: Sequence[Hit]) -> Searched:
    return Searched(query=query, passage_ids=tuple(hit.passage.id for hit in hits))
