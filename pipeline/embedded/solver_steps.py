"""From a puzzle to an answer: take the clue with one open unknown, search, read, fill it in, go on to the one asked."""

import re
from itertools import pairwise

from pipeline.embedded.solver_clues import read as read_question
from pipeline.embedded.solver_lexis import plain, stem, stems
from pipeline.embedded.solver_lines import same
from pipeline.embedded.solver_mind import Mind
from pipeline.embedded.solver_puzzle import Clue, Puzzle, Unknown
from pipeline.embedded.solver_reader import Candidate, HopQuery, query_words, read
from pipeline.text import words

SURE = 0.85
"""A candidate in passages already seen that scores this much needs no search."""
WEAK = 0.4
"""Below this the hop is searched once more in other words."""
_INVERTED = frozenset("is are was were do does did has have had can".split())


def pursue(question: str, mind: Mind) -> str:
    """The answer to any question; empty where nothing was found."""
    puzzle = read_question(question)
    for _ in range(len(puzzle.unknowns) + 1):
        index = _next(puzzle)
        best = hop(_query(puzzle, index), mind)
        if index == puzzle.ask:
            return best.text if best else ""
        unknown = puzzle.unknowns[index]
        unknown.value = unknown.phrase if best is None else _placed(best) if unknown.kind == "place" else best.text
    return ""


def _placed(found: Candidate) -> str:
    """A place with what it lies in, as its sentence has it: there is more than one Cambridge."""
    within = re.search(rf"\b{re.escape(found.text)}(, [A-Z][\w'-]+(?: [A-Z][\w'-]+)?)", found.line)
    return found.text + within[1] if within else found.text


def hop(query: HopQuery, mind: Mind) -> Candidate | None:
    """Fill in one unknown, with no search, one, or two."""
    found = read(query, mind.seen)
    if found and found[0].score >= SURE and found[0].told:
        return mind.pick(found)
    mind.search(query.text)
    found = read(query, mind.seen)
    if (not found or found[0].score < WEAK) and query.names:
        mind.search(" ".join(query.names))
        found = read(query, mind.seen)
    return mind.pick(found) if found else None


def _next(puzzle: Puzzle) -> int:
    """The unknown to fill in now: one that a clue ties to known things; the asked one, where no other is needed."""
    open_ = {i for i, u in enumerate(puzzle.unknowns) if not u.value}
    ready = [c for c in puzzle.clues if len(c.unknowns & open_) == 1]
    asked = [c for c in puzzle.clues if puzzle.ask in c.unknowns]
    if asked and all(c in ready for c in asked):
        return puzzle.ask
    needed = _needed(puzzle, open_)
    choices = [c for c in ready if (c.unknowns & open_) <= needed and puzzle.ask not in c.unknowns]
    choices.sort(key=lambda c: (not _anchored(puzzle, c), c.phrase and len(c.items) < 3))
    if choices:
        return next(iter(choices[0].unknowns & open_))
    partly = [c for c in puzzle.clues if c.unknowns & open_ - {puzzle.ask} and c.unknowns & open_ <= needed]
    if partly and not any(c in ready for c in asked):
        return min(min(partly, key=lambda c: len(c.unknowns & open_)).unknowns & open_ - {puzzle.ask})
    return puzzle.ask


def _needed(puzzle: Puzzle, open_: set[int]) -> set[int]:
    """Open unknowns that are tied to the asked one through clues."""
    needed, size = {puzzle.ask}, 0
    while len(needed) > size:
        size = len(needed)
        for clue in puzzle.clues:
            if clue.unknowns & open_ & needed:
                needed |= clue.unknowns & open_
    return needed


def _anchored(puzzle: Puzzle, clue: Clue) -> bool:
    return bool(clue.names) or any(puzzle.unknowns[i].value for i in clue.unknowns)


def _query(puzzle: Puzzle, index: int) -> HopQuery:
    """All clues of one unknown with the others filled in, or described where they are still open."""
    unknown = puzzle.unknowns[index]
    clues = [c for c in puzzle.clues if index in c.unknowns]
    closed = [c for c in clues if all(puzzle.unknowns[i].value for i in c.unknowns - {index})]
    clues = closed or clues
    names: list[str] = []
    said: list[str] = []
    for clue in clues:
        names += clue.names
        for item in clue.items:
            if item == index:
                continue
            if isinstance(item, int):
                other = puzzle.unknowns[item]
                if other.value:
                    names.append(other.value)
                said.append(other.value or other.phrase)
            else:
                said.append(item)
    names = list(dict.fromkeys(names))
    return make_query(unknown, names, said, *_context(puzzle, clues[0] if clues else None, index))


def make_query(
    unknown: Unknown, names: list[str], said: list[str], before: tuple[str, ...] = (), after: tuple[str, ...] = ()
) -> HopQuery:
    tags = [text for text, name in pairwise(said) if name in names and plain(text.lower())]
    content = [s for text in said if text not in names and text not in tags for s in stems(text)]
    phrase = [s for s in stems(unknown.phrase) if s not in ("kind", "many")]
    if content and plain(unknown.head):
        phrase = [s for s in phrase if s != stem(unknown.head)]
    content = list(dict.fromkeys([*content, *phrase]))
    shown = [unknown.phrase, *said]
    told = [word for text in shown for word in words(text) if word.isdigit()]
    return HopQuery(
        kind=unknown.kind,
        head=unknown.head,
        phrase=unknown.phrase,
        names=tuple(names),
        content=tuple(content),
        before=before,
        after=after,
        text=query_words(shown, names) or " ".join(shown),
        banned=frozenset([*told, *(form for name in names for form in (same(name), *same(name).split()[-1:]))]),
    )


def _context(puzzle: Puzzle, clue: Clue | None, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words before and after the unknown in its clue."""
    if clue is None or index not in clue.items:
        return (), ()
    texts = [puzzle.unknowns[i].value or puzzle.unknowns[i].head if isinstance(i, int) else i for i in clue.items]
    place = clue.items.index(index)
    before = [w for text in texts[:place] for w in words(text)]
    after = [w for text in texts[place + 1 :] for w in words(text)]
    if index == puzzle.ask and after and after[0] in _INVERTED:  # "Where was X born" says "X was born in ..."
        unknown = puzzle.unknowns[index]
        link = (
            "in"
            if unknown.kind in ("place", "date", "year") and after[-1] not in ("in", "at", "on", "to", "from", "by")
            else ""
        )
        return tuple([w for w in (*after[1:], link) if w]), ()
    return tuple(before), tuple(after)
