"""Builds chains of hops over the passages that an author has seen, and drafts with their questions."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from pipeline.demo.passage_facts import Fact, Seen, description, facts, key
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf, read_question
from pipeline.demo.relations import kind_of
from pipeline.text import contains, strip_tag
from pipeline.types import sha256

_TITLED = frozenset(("film", "record", "book", "game", "ship"))
"""Classes whose names are titles, which a question puts in quotation marks after their class word."""
_MOST = 4000
"""The most chains of one length."""
_BACK = frozenset(
    (("venue", "tenant"), ("tenant", "venue"), ("county", "seat"), ("seat", "seat_of"), ("seat_of", "seat"))
)
"""Pairs of relations that lead back to the start."""


class ChainHop(NamedTuple):
    passage: Seen
    entry: Fact | None
    """The fact that describes the passage's subject; None if the subject is the answer of the hop before, or the name
    that the chain starts from."""
    exit: Fact

    def about(self, inner: Phrase) -> Phrase:
        """Return the subject of the hop's question, given a phrase for the answer of the hop before."""
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
        entries = [entry for same_value in self._entries.values() for entry in same_value]
        people = [(passage, fact) for passage, fact in entries if "person" in fact.relation.to]
        self.by_length = [[chain for start_hop in [*starts, *people] for chain in _through((), *start_hop)]]

    def of(self, length: int) -> list[Chain]:
        """Return the chains of so many hops, even if no question can ask for them."""
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

    def find_askable(self, length: int, preferred: frozenset[str]) -> list[Chain]:
        """Return the chains that a question can ask for.

        Those with most of the `preferred` passages are first, in random order; those whose passages name an earlier
        thing are last.
        """
        seed = "".join(sorted(preferred))

        def order(chain: Chain) -> tuple[bool, int, str]:
            preferred_count = sum(hop.passage.id in preferred for hop in chain)
            # Draw the last relation first, so that no relation dominates.
            last = chain[-1].exit.relation
            chance = sha256(f"{seed} {last.name}") + sha256("|".join([seed, *(hop.exit.quote for hop in chain)]))
            return is_led_back(chain), -preferred_count, chance

        return sorted((chain for chain in self.of(length) if is_told_apart(chain, self.passages)), key=order)


def _through(chain: Chain, passage: Seen, entry: Fact | None) -> Iterator[Chain]:
    longer = ((*chain, ChainHop(passage, entry, fact)) for fact in facts(passage) if fact.sole)
    return (chain for chain in longer if _hides_answers(chain))


def start(chain: Chain) -> Named:
    first = chain[0]
    if first.entry:
        return Named(first.entry.named)
    kind, name = kind_of(first.passage.text), strip_tag(first.passage.title)
    if kind.name in _TITLED:
        # Add the year if there is another work of that title.
        return Named(name, kind.word if name == first.passage.title else description(first.passage))
    the = first.passage.text.startswith(f"The {name}") and not name.startswith("The ")
    return Named(f"the {name}" if the else name)


def _hides_answers(chain: Chain) -> bool:
    """Return whether no passage reveals the answer of a later hop, and nothing occurs twice."""
    last = chain[-1]
    if last.entry and last.exit.relation.name in (last.entry.relation.name, *_dated_by(last)):
        return False
    if len(chain) > 1 and (chain[-2].exit.relation.name, last.exit.relation.name) in _BACK:
        return False
    if any(hop.passage.title == last.passage.title or hop.exit.quote == last.exit.quote for hop in chain[:-1]):
        return False
    names = _names(chain)
    if len({key(name) for name in names}) < len(names):
        return False
    return not any(_contains(hop.passage, name) for index, hop in enumerate(chain) for name in names[index + 2 :])


def is_led_back(chain: Chain) -> bool:
    """Return whether a passage names the subject of an earlier hop, so that a search for that may find it."""
    names, title = _names(chain), strip_tag(chain[0].passage.title)
    return any(_contains(hop.passage, name) for index, hop in enumerate(chain) for name in names[:index]) or any(
        _contains(hop.passage, title) for hop in chain[1:]
    )


def _names(chain: Chain) -> list[str]:
    return [start(chain).name, *(hop.exit.value for hop in chain)]


@lru_cache(maxsize=16384)
def _contains(passage: Seen, name: str) -> bool:
    """Return whether a passage contains a name. It is cached because many chains lead through the same passages."""
    return contains(f"{passage.title}\n{passage.text}", name)


def _dated_by(hop: ChainHop) -> tuple[str, ...]:
    dated = (how for how in ("born", "opened", "founded") if f" {how} in " in description(hop.passage))
    return ("released", *dated)


def is_told_apart(chain: Chain, passages: Sequence[Seen]) -> bool:
    """Return whether the question has only one reading, and each description fits only one of the passages."""
    question, first = meaning(chain), chain[0]
    if not first.entry and first.passage.title != start(chain).name.removeprefix("the ") and not start(chain).word:
        return False
    if read_question(question.question()) != question:
        return False
    return not any(
        passage.title != hop.passage.title
        and description(passage) == description(hop.passage)
        and any(key(fact.value) == key(hop.entry.value) for fact in facts(passage))
        for hop in chain
        if hop.entry
        for passage in passages
    )


def meaning(chain: Chain) -> RelationOf:
    phrase: Phrase = start(chain)
    for hop in chain:
        phrase = RelationOf(hop.exit.relation, hop.about(phrase))
    return cast(RelationOf, phrase)._replace(when=chain[-1].exit.when)


def build_steps(chain: Chain, name: str = "s") -> list[dict[str, Any]]:
    """Build the found steps of a chain in the format of `propose`; their ids begin with `name`."""
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
    """Build the arguments of `propose` for a strategy that words its own questions."""
    return {"question": capital(meaning(chain).question()), "steps": build_steps(chain)}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
