"""Reading one hop: what in the seen passages may be the unknown of these clues, and how well does it fit?

A candidate scores by its sentence (is it about the clue's names, does it say the clue's words), by its kind, by how
near it stands to the clue's words and by whether its neighbours in the sentence are the unknown's in the clue.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_kinds import fit
from pipeline.embedded.solver_lexis import STOP, meanings, stem, stems
from pipeline.embedded.solver_lines import Found, Line, bare, lead, lines, nouns, same
from pipeline.embedded.solver_relations import pattern
from pipeline.text import words

_LIFE = re.compile(r"\([^()]*\d{4}[^()]*\)")


@dataclass(frozen=True)
class HopQuery:
    """One unknown with its clues, all other unknowns filled in."""

    kind: str
    head: str
    phrase: str
    names: tuple[str, ...]
    content: tuple[str, ...]
    """Stems of all clue words that belong to no name."""
    before: tuple[str, ...]
    """Words just before the unknown in its clue."""
    after: tuple[str, ...]
    text: str
    """The clue as words, for the search."""
    banned: frozenset[str]
    """Names (as compared) that cannot be the answer."""


@dataclass(frozen=True)
class Candidate:
    text: str
    score: float
    passage: str
    title: str
    line: str = ""
    told: bool = False
    """Its sentence says the clue's words, of the clue's names."""


@lru_cache(maxsize=512)  # every turn replays the turns before it
def read(query: HopQuery, passages: tuple[Seen, ...]) -> tuple[Candidate, ...]:
    """Candidates, best first, one per name."""
    best: dict[str, Candidate] = {}
    kinds = {same(bare(p.title)): lead(p) for p in passages if lead(p)}
    own = {name: max((name_match(name, p.title) for p in passages), default=0.0) for name in query.names}
    for passage in passages:
        for candidate in _candidates(query, passage, kinds, own):
            key = same(candidate.text)
            if key and key not in query.banned and (key not in best or best[key].score < candidate.score):
                best[key] = candidate
    return tuple(sorted(best.values(), key=lambda c: (-c.score, c.text)))


def _candidates(query: HopQuery, passage: Seen, kinds: dict[str, str], own: dict[str, float]) -> list[Candidate]:
    out: list[Candidate] = []
    about = max((name_match(name, passage.title) for name in query.names), default=0.0)
    everywhere = {s for line in lines(passage) for s in line.stems if s} | set(stems(passage.title))
    text = " ".join(same(line.text) for line in lines(passage))
    told = _names_told(query, passage, text, own)
    for line in lines(passage):
        cover, hits = _cover(query, line, everywhere, passage)
        base = _names_in(query, line, told) * (0.45 + 0.55 * cover)
        hits += _name_places(query, line, about)
        pool = line.found + (nouns(line) if query.kind == "thing" else ())
        for found in pool:
            suits = fit(query.kind, query.head, found, line, kinds.get(same(found.text), ""), query)
            if suits > 0:
                stated = pattern(query, found, line, about)
                suits = max(suits, 0.85) if stated >= 0.2 and suits > 0.1 else suits
                near = 0.15 * _near(found, hits) + _neighbours(query, found, line) + stated
                near += 0.06 if line.number == 0 and about >= 0.9 else 0.0
                score = base * (0.15 + 0.85 * suits) + near * (0.3 + 0.7 * suits)
                whole = cover >= 0.75 and all(
                    match >= 0.95 or _told(name, same(line.text)) == 1 for name, (match, _) in told.items()
                )
                text_ = _full(found, passage, query)
                out.append(Candidate(text_, score, passage.id, passage.title, line.text, whole))
    if query.kind in ("person", "place", "org", "work", "thing") and about < 0.85:
        out += _title(query, passage, text, everywhere, about, own)
    return out


def _full(found: Found, passage: Seen, query: HopQuery) -> str:
    """A surname alone stands for the full name that the passage gives."""
    if query.kind != "person" or " " in found.text or found.sort != "name":
        return found.text
    names = [f.text for line in lines(passage) for f in line.found if f.sort == "name" and 1 < len(f.text.split()) < 5]
    return next((name for name in [bare(passage.title), *names] if name.split()[-1] == found.text), found.text)


def _title(
    query: HopQuery, passage: Seen, text: str, everywhere: set[str], about: float, own: dict[str, float]
) -> list[Candidate]:
    """The article's own subject as candidate: its text should hold all names of the clue, best with its words."""
    title = bare(passage.title)
    suits = fit(query.kind, query.head, Found(title, "title", 0, len(words(title)), 0), None, lead(passage), query)
    if suits <= 0:
        return []
    around = sum(_told(name, text) for name in query.names) / len(query.names) if query.names else 0.7
    best = 0.0
    for line in lines(passage):
        named = max(_all_in(query, line), 0.75 * around)
        cover = 0.75 * _cover(query, line, everywhere, passage)[0] + 0.25 * _cover_passage(query, everywhere)
        best = max(best, named * (0.45 + 0.55 * cover))
    side = 0.08 if not query.before and query.after else -0.08
    if max(own.values(), default=0.0) >= 0.95:
        side -= (0.08 if around < 1 else 0.0) + (0.18 if query.before else 0.0)
    return [Candidate(title, best * (0.15 + 0.85 * suits) * (1 - 0.5 * about) + side, passage.id, passage.title)]


def _name_places(query: HopQuery, line: Line, about: float) -> list[int]:
    """Where a sentence of another article names the clue's names."""
    if about > 0.6:
        return []
    ends = {words(name)[-1] for name in query.names if words(name)}
    return [i for i, word in enumerate(line.words) if word in ends]


@lru_cache(maxsize=65536)
def name_match(name: str, title: str) -> float:
    """Is the article of this title the one of this name? 1 for the same, less for a part."""
    one, full, short = same(name), same(title), same(bare(title))
    plain = same(bare(name))
    if one in {full, short}:
        return 1.0
    if plain == short:
        return 0.95
    mine, other = set(plain.split()), set(short.split())
    shared = len(mine & other)
    if not shared or not mine or not other:
        return 0.0
    score = shared / len(mine | other)
    if mine <= other or other <= mine:
        score = max(score, 0.6 if min(len(mine), len(other)) > 1 else 0.4)
    return score if score >= 0.4 else 0.0


def _told(name: str, text: str) -> float:
    """Does the text (as compared) hold the name, or at least its last word?"""
    full = same(bare(name))
    if f" {full} " in f" {text} ":
        return 1.0
    parts = full.split()
    if len(parts) > 1:
        held = sum(f" {part} " in f" {text} " for part in parts) / len(parts)
        return 0.7 * held if held >= 0.5 else 0.0
    return 0.0


def _names_told(query: HopQuery, passage: Seen, text: str, own: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Of each name: how far the article is its own (half, where another is), and how far the passage names it."""
    matches = {name: name_match(name, passage.title) for name in query.names}
    return {name: (m if m >= 0.95 or own[name] < 0.95 else m / 2, _told(name, text)) for name, m in matches.items()}


def _names_in(query: HopQuery, line: Line, told: dict[str, tuple[float, float]]) -> float:
    if not query.names:
        return 0.7
    text, title = same(line.text), same(line.passage.title)
    scores = [
        max(own, 0.75 * _told(name, text), 0.7 * _told(name, title), 0.35 * around)
        for name, (own, around) in told.items()
    ]
    return sum(scores) / len(scores)


def _all_in(query: HopQuery, line: Line) -> float:
    text = same(line.text)
    return sum(_told(name, text) for name in query.names) / len(query.names) if query.names else 1.0


def _cover(query: HopQuery, line: Line, everywhere: set[str], passage: Seen) -> tuple[float, list[int]]:
    """Share of the clue's words that the sentence says, less for the passage; and where in the sentence."""
    if not query.content:
        return 0.5, []
    hits: list[int] = []
    total = 0.0
    titled = frozenset(stems(passage.title))
    for wanted in query.content:
        accepted = meanings(wanted)
        places = [i for i, s in enumerate(line.stems) if s in accepted]
        if places:
            hits += places
            total += 1.0 if any(line.stems[i] == wanted for i in places) else 0.8
        elif wanted in ("birth", "death") and line.number == 0 and _LIFE.search(line.text):
            total += 1.0
        elif wanted == "locat" and line.number == 0:
            total += 0.8
        elif accepted & titled:
            total += 0.7
        elif accepted & everywhere:
            total += 0.35
    return total / len(query.content), hits


def _cover_passage(query: HopQuery, everywhere: set[str]) -> float:
    if not query.content:
        return 0.5
    return sum(bool(meanings(w) & everywhere) for w in query.content) / len(query.content)


def _near(found: Found, hits: list[int]) -> float:
    """How near the clue's words stand to the candidate: the mean over the nearest two."""
    if not hits:
        return 0.0
    if any(found.place <= hit < found.place + found.size for hit in hits):
        return 0.3
    gaps = sorted(min(abs(hit - found.place), abs(hit - found.place - found.size + 1)) for hit in set(hits))[:2]
    return sum(1 / (1 + gap / 4) for gap in gaps) / len(gaps)


def _neighbours(query: HopQuery, found: Found, line: Line) -> float:
    """Do the words around the candidate repeat those around the unknown?"""
    score = 0.0
    if query.before:
        left = [w for w in line.words[max(0, found.place - 6) : found.place] if w not in ("the", "a", "an")]
        wanted = [w for w in query.before if w not in ("the", "a", "an")]
        for weight, one in zip((0.08, 0.1, 0.06), reversed(wanted), strict=False):
            if left and _alike(left[-1], one):
                left.pop()
                score += weight
            elif weight == 0.08 and len(left) > 1:
                break
    if query.after:
        right = list(line.words[found.place + found.size : found.place + found.size + 4])
        wanted = list(query.after[:3])
        if right and wanted and _alike(right[0], wanted[0]):
            score += 0.06
            if len(right) > 1 and len(wanted) > 1 and _alike(right[1], wanted[1]):
                score += 0.1
    return score


def _alike(one: str, other: str) -> bool:
    return (
        one == other
        or (one not in STOP and stem(one) in meanings(stem(other)))
        or {one, other} <= {"is", "was", "are", "were"}
    )


_SEARCHED = {"birthplace": "born", "birthday": "born", "birthdate": "born", "birth": "born", "death": "died"}
_SILENT = frozenset("place date country nationality location citizenship cause".split())


def query_words(said: list[str], names: list[str]) -> str:
    """A search text: names whole, of all else the words that carry meaning, as an article would say them."""
    out: list[str] = []
    loose = [w for text in said if text not in names for w in text.split()]
    silent = any(w.lower() not in STOP | _SILENT for w in loose) or bool(names)
    for text in said:
        if text in names:
            out += re.sub(r"[?\"]", " ", text).split()
        else:
            out += [
                w if "rate" in text.split() else _SEARCHED.get(w.lower(), w)
                for w in text.split()
                if w.lower() not in STOP and not (silent and w.lower() in _SILENT)
            ]
    return " ".join(dict.fromkeys(out))
