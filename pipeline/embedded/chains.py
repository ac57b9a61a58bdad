"""Chains of hops over the passages that an author has seen, and the drafts that ask for them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.embedded.asking import Described, Given, Named, Phrase, read_question
from pipeline.embedded.reading import Fact, Seen, description, facts, key
from pipeline.embedded.relations import kind_of
from pipeline.text import contains, untagged
from pipeline.types import sha256

_TITLED = frozenset(("film", "record", "book", "game", "ship"))
"""Classes whose names are titles, which a question puts in quotation marks after their class word."""
_MOST = 4000


class Hop(NamedTuple):
    passage: Seen
    entry: Fact | None
    """By what the passage's subject is described; where that is the answer of the hop before, or the name that the
    chain starts from, nothing."""
    exit: Fact

    def about(self, inner: Phrase) -> Phrase:
        """What the hop asks about, where `inner` stands for the answer of the hop before."""
        return Described(description(self.passage), self.entry.relation, inner) if self.entry else inner


Chain = tuple[Hop, ...]


def chains(passages: Sequence[Seen], length: int, types: Sequence[str]) -> list[Chain]:
    """Chains of so many hops; those that answer with the type wanted first, then in an order of chance."""
    found: list[Chain] = []
    exits = [(passage, fact) for passage in passages for fact in facts(passage) if fact.sole]
    entries: dict[str, list[tuple[Seen, Fact]]] = {}
    titles: dict[str, list[Seen]] = {}
    for passage in passages:
        titles.setdefault(key(passage.title), []).append(passage)
        for fact in facts(passage) if description(passage) else ():
            if fact.relation.back:
                entries.setdefault(key(fact.value), []).append((passage, fact))

    def longer(chain: Chain) -> Iterator[Chain]:
        last = chain[-1].exit
        for passage in titles.get(key(last.value), ()) if last.relation.to else ():
            if kind_of(passage.text).name in last.relation.to:
                yield from ((*chain, Hop(passage, None, fact)) for fact in facts(passage) if fact.sole)
        for passage, entry in entries.get(key(last.value), ()) if last.relation.to else ():
            if set(entry.relation.to) & set(last.relation.to):
                yield from ((*chain, Hop(passage, entry, fact)) for fact in facts(passage) if fact.sole)

    open_chains: list[Chain] = [(Hop(passage, None, fact),) for passage, fact in exits]
    open_chains += [
        (Hop(passage, entry, fact),)
        for several in entries.values()
        for passage, entry in several
        if "person" in entry.relation.to
        for fact in facts(passage)
        if fact.sole
    ]
    while open_chains and len(found) < _MOST:
        chain = open_chains.pop()
        if not _hidden(chain):
            continue
        if len(chain) == length:
            if chain[-1].exit.relation.type in types and _told_apart(chain, passages):
                found.append(chain)
        elif chain[-1].exit.relation.noun:
            open_chains.extend(longer(chain))
    return sorted(found, key=lambda chain: _order(chain, types))


def _order(chain: Chain, types: Sequence[str]) -> tuple[int, str]:
    return types.index(chain[-1].exit.relation.type), sha256("|".join(hop.exit.quote for hop in chain))


def start(chain: Chain) -> Named:
    first = chain[0]
    if first.entry:
        return Named(first.entry.named)
    kind, name = kind_of(first.passage.text), untagged(first.passage.title)
    if kind.name in _TITLED:
        return Named(name, kind.word)
    the = first.passage.text.startswith(f"The {name}") and not name.startswith("The ")
    return Named(f"the {name}" if the else name)


def _hidden(chain: Chain) -> bool:
    """Does no passage but the one that states it tell an answer, and is nothing met twice?"""
    last = chain[-1]
    if last.entry and last.exit.relation.name in (last.entry.relation.name, *_dated_by(last)):
        return False
    if any(hop.passage.title == last.passage.title or hop.exit.quote == last.exit.quote for hop in chain[:-1]):
        return False
    names = [start(chain).name, *(hop.exit.value for hop in chain)]
    if len({key(name) for name in names}) < len(names):
        return False
    told = [f"{hop.passage.title}\n{hop.passage.text}" for hop in chain]
    # A hop's passage may name what leads to it and what it gives: of `names` those at its place and the next.
    return not any(
        contains(text, name)
        for place, text in enumerate(told)
        for number, name in enumerate(names)
        if number not in (place, place + 1)
    )


def _dated_by(hop: Hop) -> tuple[str, ...]:
    """The relation that its description rests on."""
    return tuple(how for how in ("born", "opened", "founded") if f" {how} in " in description(hop.passage)) + (
        "released",
    )


def _told_apart(chain: Chain, passages: Sequence[Seen]) -> bool:
    """Is the question read again as it is meant, and does each description fit one thing alone among what was seen?"""
    asked = meaning(chain)
    if read_question(asked.question()) != asked:
        return False
    return not any(
        other.title != hop.passage.title
        and description(other) == description(hop.passage)
        and any(key(fact.value) == key(hop.entry.value) for fact in facts(other))
        for hop in chain
        if hop.entry
        for other in passages
    )


def meaning(chain: Chain) -> Given:
    phrase: Phrase = start(chain)
    for hop in chain:
        phrase = Given(hop.exit.relation, hop.about(phrase))
    assert isinstance(phrase, Given)
    return phrase


def draft(chain: Chain) -> dict[str, object]:
    """What `propose` takes."""
    last = chain[-1].exit
    inner: Named = start(chain)
    hops = []
    for hop in chain:
        fact = hop.exit
        hops.append(
            {
                "sub_question": Given(fact.relation, hop.about(inner)).question(),
                "answer": fact.value,
                "passage_id": hop.passage.id,
                "quote": _quote(hop),
                "relation": fact.relation.query,
            }
        )
        inner = Named(fact.named)
    return {
        "question": capital(meaning(chain).question()),
        "answer": last.value,
        "answer_aliases": [],
        "answer_type": last.relation.type,
        "answer_precision": "year" if last.relation.type == "date" else "",
        "hops": hops,
    }


def _quote(hop: Hop) -> str:
    """The sentence that states the answer, with those between it and the one that describes what it is about."""
    if not hop.entry or hop.entry.quote == hop.exit.quote:
        return hop.exit.quote
    text = hop.passage.text
    places = [(text.find(fact.quote), text.find(fact.quote) + len(fact.quote)) for fact in (hop.entry, hop.exit)]
    return text[min(places)[0] : max(end for _, end in places)]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
