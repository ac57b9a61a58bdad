"""Chains of hops over the passages that an author has seen, and the drafts that ask for them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from pipeline.demo.passage_facts import Fact, Seen, description, facts, key
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf, read_question
from pipeline.demo.relations import kind_of
from pipeline.text import contains, strip_tag
from pipeline.types import sha256

_TITLED = frozenset(("film", "record", "book", "game", "ship"))
"""Classes whose names are titles, which a question puts in quotation marks after their class word."""
_MOST = 4000
"""Chains of one length that are looked at."""
_BACK = frozenset(
    (("venue", "tenant"), ("tenant", "venue"), ("county", "seat"), ("seat", "seat_of"), ("seat_of", "seat"))
)
"""Relations that lead back to where they come from."""


class ChainHop(NamedTuple):
    passage: Seen
    entry: Fact | None
    """By what the passage's subject is described; where that is the answer of the hop before, or the name that the
    chain starts from, nothing."""
    exit: Fact

    def about(self, inner: Phrase) -> Phrase:
        """What the hop asks about, where `inner` stands for the answer of the hop before."""
        return Described(description(self.passage), self.entry.relation, inner) if self.entry else inner


Chain = tuple[ChainHop, ...]


class Paths:
    """The chains over some passages."""

    def __init__(self, passages: Sequence[Seen]) -> None:
        self.passages = passages
        self._entries: dict[str, list[tuple[Seen, Fact]]] = {}
        self._titles: dict[str, list[Seen]] = {}
        for passage in passages:
            self._titles.setdefault(key(passage.title), []).append(passage)
            for fact in facts(passage) if description(passage) else ():
                if fact.relation.back:
                    self._entries.setdefault(key(fact.value), []).append((passage, fact))
        starts = [(passage, None) for passage in passages]
        named = [one for several in self._entries.values() for one in several if "person" in one[1].relation.to]
        self.by_length = [[chain for one in [*starts, *named] for chain in _through((), *one)]]

    def of(self, length: int) -> list[Chain]:
        """Chains of so many hops, whether or not they can be asked for."""
        while len(self.by_length) < length:
            self.by_length.append([longer for chain in self.by_length[-1] for longer in self._longer(chain)][:_MOST])
        return self.by_length[length - 1]

    def _longer(self, chain: Chain) -> Iterator[Chain]:
        last = chain[-1].exit
        if not last.relation.noun:
            return
        for passage in self._titles.get(key(last.value), ()):
            if kind_of(passage.text).name in last.relation.to:
                yield from _through(chain, passage, None)
        for passage, entry in self._entries.get(key(last.value), ()):
            if set(entry.relation.to) & set(last.relation.to):
                yield from _through(chain, passage, entry)

    def asked(self, length: int, given: frozenset[str]) -> list[Chain]:
        """Return the chains that a question can be asked for: those with most of the `given` passages first, then by
        chance; last those whose passages name what led to them.
        """
        seed = "".join(sorted(given))

        def order(chain: Chain) -> tuple[bool, int, str]:
            used = sum(hop.passage.id in given for hop in chain)
            # The relation that is asked for is drawn first, so that none is asked for most of the time.
            last = chain[-1].exit.relation
            chance = sha256(f"{seed} {last.name}") + sha256("|".join([seed, *(hop.exit.quote for hop in chain)]))
            return is_led_back(chain), -used, chance

        return sorted((chain for chain in self.of(length) if is_told_apart(chain, self.passages)), key=order)


def _through(chain: Chain, passage: Seen, entry: Fact | None) -> Iterator[Chain]:
    """The chain with one more hop, through a passage to each thing that it tells."""
    longer = ((*chain, ChainHop(passage, entry, fact)) for fact in facts(passage) if fact.sole)
    return (chain for chain in longer if _hidden(chain))


def start(chain: Chain) -> Named:
    first = chain[0]
    if first.entry:
        return Named(first.entry.named)
    kind, name = kind_of(first.passage.text), strip_tag(first.passage.title)
    if kind.name in _TITLED:
        # Another work of that title is told apart by its year.
        return Named(name, kind.word if name == first.passage.title else description(first.passage))
    the = first.passage.text.startswith(f"The {name}") and not name.startswith("The ")
    return Named(f"the {name}" if the else name)


def _hidden(chain: Chain) -> bool:
    """Does no passage tell an answer before the one that states it, and is nothing met twice?"""
    last = chain[-1]
    if last.entry and last.exit.relation.name in (last.entry.relation.name, *_dated_by(last)):
        return False
    if len(chain) > 1 and (chain[-2].exit.relation.name, last.exit.relation.name) in _BACK:
        return False
    if any(hop.passage.title == last.passage.title or hop.exit.quote == last.exit.quote for hop in chain[:-1]):
        return False
    names, told = _names(chain), _told(chain)
    if len({key(name) for name in names}) < len(names):
        return False
    return not any(contains(text, name) for place, text in enumerate(told) for name in names[place + 2 :])


def is_led_back(chain: Chain) -> bool:
    """Return whether a passage names what the hops before its own are about: then a search for that may find it."""
    names, title = _names(chain), strip_tag(chain[0].passage.title)
    texts = _told(chain)
    return any(contains(text, name) for place, text in enumerate(texts) for name in names[:place]) or any(
        contains(text, title) for text in texts[1:]
    )


def _names(chain: Chain) -> list[str]:
    """What each hop is about, and the answer."""
    return [start(chain).name, *(hop.exit.value for hop in chain)]


def _told(chain: Chain) -> list[str]:
    return [f"{hop.passage.title}\n{hop.passage.text}" for hop in chain]


def _dated_by(hop: ChainHop) -> tuple[str, ...]:
    """The relation that its description rests on."""
    dated = (how for how in ("born", "opened", "founded") if f" {how} in " in description(hop.passage))
    return ("released", *dated)


def is_told_apart(chain: Chain, passages: Sequence[Seen]) -> bool:
    """Return whether the question is read again as it is meant, and each description fits one thing that was seen."""
    asked, first = meaning(chain), chain[0]
    if not first.entry and first.passage.title != start(chain).name.removeprefix("the ") and not start(chain).word:
        return False
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


def meaning(chain: Chain) -> RelationOf:
    phrase: Phrase = start(chain)
    for hop in chain:
        phrase = RelationOf(hop.exit.relation, hop.about(phrase))
    return cast(RelationOf, phrase)._replace(when=chain[-1].exit.when)


def build_steps(chain: Chain, name: str = "s") -> list[dict[str, Any]]:
    """Return the found steps of a chain, as `propose` takes them; their ids begin with `name`."""
    steps: list[dict[str, Any]] = []
    inner = start(chain)
    for number, hop in enumerate(chain, 1):
        fact, step_id = hop.exit, f"{name}{number}"
        steps.append(
            {
                "id": step_id,
                "sub_question": capital(RelationOf(fact.relation, hop.about(inner), fact.when).question()),
                "answer": fact.value,
                "needs": [step["id"] for step in steps[-1:]],
                "passage_id": hop.passage.id,
                "sentences": sorted({fact.sentence, hop.entry.sentence if hop.entry else fact.sentence}),
                "time": fact.when,
            }
        )
        inner = Named(f"{'the ' if fact.named.startswith('the ') else ''}{{{step_id}}}")
    return steps


def draft(chain: Chain) -> dict[str, Any]:
    """Return what the `propose` of a strategy that words its own questions takes."""
    return {"question": capital(meaning(chain).question()), "steps": build_steps(chain)}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
