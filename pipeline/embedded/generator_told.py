"""Questions about entries: a row of one is asked, and the entry told by something else that the work says of it.

"What is the capital of the country that broke away from Colombia in 1903?" Where that names another entry, that one is
told so too, and each takes one step more.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_table import PARTICULAR, Row, Teller, Works
from pipeline.embedded.observed import Seen
from pipeline.text import contains, dates

_MOST_WAYS = 200
_SHORT = 6
"""Words of a description behind which a sentence can go on."""
_PART = re.compile(r"[A-Z][\w’'-]* of$")
""""the Kingdom of the Netherlands" is not the Netherlands."""
_LEADS = r"(?:(?<![\w-])(?:of|from|with|to|by|in|against|after|alongside|and|near|into|for|between|[a-z]+ed))"
_CAN_GO = re.compile(r"$|,| and | in \d")
_AND = re.compile(r"(?:,| and|, and) (?:the )?[A-Z]")
_MEASURES = frozenset("rate age population coastline area length elevation density speed weight height".split())
_POSTS = frozenset("head chief leader president king queen monarch mayor governor minister director".split())
_WHAT = {"number": "number", "date": "date", "entity": "name"}
_FRAMES = (
    "What {what} is stated under “{label}” for {whom}?",
    "Under “{label}”, what {what} is given for {whom}?",
    "In the entry for {whom}, what {what} stands under “{label}”?",
    "For {whom}, which {what} is found under “{label}”?",
    "What is stated under “{label}” for {whom}?",
    "Which {what} stands under “{label}” in the entry for {whom}?",
    "Which {what} is to be found under “{label}” for {whom}?",
    "As to “{label}”, what {what} is given for {whom}?",
    "Looking up {whom}, what {what} does one find under “{label}”?",
)


class Told(NamedTuple):
    """An entry and what tells it; `before` and `after` go round the entry that comes next in the question, if any."""

    title: str
    teller: Teller
    before: str
    after: str = ""

    def clause(self, inner: str) -> str:
        return f"{self.before} {inner}".rstrip() + self.after


class Drawn(NamedTuple):
    question: str
    answer: str
    kind: str
    hops: list[dict[str, str]]

    def arguments(self) -> dict[str, object]:
        """Those of `propose` or `revise`."""
        found = dates(self.answer) if self.kind == "date" else []
        return {
            "question": self.question,
            "answer": self.answer,
            "answer_type": self.kind,
            "answer_precision": found[0].precision if found else "",
            "hops": self.hops,
            "family": "chain",
        }


def drafts(works: Works, seed: Seen, steps: int, kind: str, chance: Callable[[str], float]) -> Iterator[Drawn]:
    """Questions of so many hops, one of them over the seed's entry; those about itself first, of the kind asked for
    first."""
    own = plain(seed.title)
    for title in sorted(works.sorts, key=lambda title: (title != own, chance(title))):
        over = (way for way in _ways(works, title, steps - 1) if any(told.title == own for told in way))
        ways = list(islice(over, _MOST_WAYS))
        ways.sort(
            key=lambda way: (sum(told.teller.by_row for told in way), _usual(works, way) + chance(way[-1].teller.quote))
        )
        rows = [(row.kind != kind, row.passage.id != seed.id, chance(row.quote), row) for row in works.rows[title]]
        for place, (*_, drawn, row) in enumerate(sorted(rows)):
            start = place % max(1, len(ways))
            way = next((way for way in ways[start:] + ways[:start] if _sound(row, way)), None)
            if way:
                yield _draft(works, row, way, int(len(_FRAMES) * drawn))


def _usual(works: Works, way: tuple[Told, ...]) -> float:
    """How common it is to tell entries so: not all are to be told by their capital."""
    return 6 * sum(works.shares[told.teller.relation] for told in way)


def _ways(works: Works, title: str, length: int, passed: tuple[str, ...] = ()) -> Iterator[tuple[Told, ...]]:
    """Ways to tell an entry over as many entries, itself the first."""
    for teller in works.tellers[title]:
        if any(contains(teller.clause, name) for name in passed):
            continue
        if length == 1:
            yield (Told(title, teller, teller.clause),)
            continue
        for other in works.sorts:
            named = _named(other, teller.clause) if other in teller.clause and other not in (title, *passed) else None
            for rest in _ways(works, other, length - 1, (title, *passed)) if named else ():
                yield from _over(title, teller, named, rest)  # type: ignore[arg-type]


def _named(other: str, clause: str) -> re.Match[str] | None:
    """Where the clause names that entry, so that a description can stand for the name."""
    named = re.search(rf"{_LEADS}( (?:the )?{re.escape(other)})\b(?! [A-Z]|['’-])", clause)
    return named if named and not _PART.search(clause[: named.start(1)]) else None


def _over(title: str, teller: Teller, named: re.Match[str], rest: tuple[Told, ...]) -> Iterator[tuple[Told, ...]]:
    """What follows the name stays after a short description, and is left out after a long one where it can be."""
    before, after = teller.clause[: named.start(1)], teller.clause[named.end() :]
    if len(rest) > 1 or len(rest[0].before.split()) > _SHORT:
        if not _CAN_GO.match(after):
            return
        after = ""
    if _AND.match(teller.clause, named.end()):  # "between the country whose capital is Algiers and Mauritania"
        return
    if PARTICULAR.search(before + after):  # many have "achieved independence from the country ..."
        yield (Told(title, teller, before, after), *rest)


def _sound(row: Row, way: tuple[Told, ...]) -> bool:
    """Each hop has a page of its own, by its title, which tells no later answer."""
    homes = [row.passage, *(told.teller.passage for told in way)]
    later = [row.answer, *(told.title for told in way)]
    told_of = " ".join(told.teller.clause for told in way)
    if len({home.title for home in homes}) < len(homes) or contains(told_of, row.answer):
        return False
    return not any(contains(homes[i].text, later[j]) for i in range(1, len(homes)) for j in range(i))


def _draft(works: Works, row: Row, way: tuple[Told, ...], pick: int) -> Drawn:
    told, hops, named = "", [], ""
    for entry in reversed(way):
        sort, clause = works.sorts[entry.title], entry.teller.clause
        verb, _, rest = clause.partition(" ")
        asked = f"Which {sort} {rest}?" if verb == "that" else f"Which is the {sort} {clause}?"
        hops.append(_hop(asked, entry.title, entry.teller, entry.teller.relation))
        told, named = f"the {sort} {entry.clause(told)}", entry.title
    hops.append(_hop(_ask(row, named), row.answer, row, row.relation))
    return Drawn(_ask(row, told, pick), row.answer, row.kind, hops)


def _ask(row: Row, whom: str, pick: int = 0) -> str:
    if "“" not in row.called and (
        row.kind == "entity" or (row.called.split()[-1] in _MEASURES and "%" not in row.quote)
    ):
        return f"{'Who' if row.called.split()[0] in _POSTS else 'What'} is the {row.called} of {whom}?"
    label = re.sub(r"^(.+) > (?=\1)", "", row.label.strip())  # "Exports > Exports 2023"
    return _FRAMES[pick].format(what=_WHAT[row.kind], label=label, whom=whom)


def _hop(question: str, answer: str, stated: Row | Teller, relation: str) -> dict[str, str]:
    return {
        "sub_question": question,
        "answer": answer,
        "passage_id": stated.passage.id,
        "quote": stated.quote,
        "relation": relation,
    }
