"""A question as a puzzle: the unknown things that it describes, the clues that tie them, and which of them it asks for.

"Who directed the film that was shot in Leland?" has the unknowns 0 (who) and 1 (film) and the clues "0 directed 1" and
"1 was shot in Leland". `Cursor` is the place in the words of a sentence from which the parser makes it.
"""

import re
from dataclasses import dataclass, field

from pipeline.embedded.solver_lexis import kind, listed, singular
from pipeline.embedded.solver_words import Word

Item = str | int
"""A plain word or name, or the index of an unknown."""
BE = ("is", "was", "are", "were")
COMPOUND = listed("compound")
"""After "of": the noun is one with the noun before it ("date of birth")."""
_VERB_LIKE = listed("verb_like")
_TRADES = listed("trades")
_PRONOUNS = {
    **dict.fromkeys(("he", "she", "him", "her", "his"), "person"),
    **dict.fromkeys(("it", "its"), "thing"),
}


@dataclass
class Unknown:
    phrase: str
    """All words of its description's noun phrase."""
    head: str
    kind: str
    value: str = ""


@dataclass
class Clue:
    items: list[Item] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    phrase: bool = False
    """A prepositional phrase, which says less than a clause."""

    @property
    def unknowns(self) -> set[int]:
        return {item for item in self.items if isinstance(item, int)}


@dataclass
class Puzzle:
    question: str
    unknowns: list[Unknown] = field(default_factory=list)
    clues: list[Clue] = field(default_factory=list)
    ask: int = -1


class Cursor:
    """`at` is the place of the next word of the sentence."""

    def __init__(self, sentence: list[Word], puzzle: Puzzle, *, last: bool) -> None:
        self.words, self.puzzle, self.last, self.at = sentence, puzzle, last, 0
        self.do = False
        """The main clause is asked with "did": a participle after its subject describes the subject."""
        self.inside = 0
        """Depth of prepositional phrases."""
        self.later = bool(puzzle.clues)
        """Sentences came before: pronouns may mean what they spoke of."""
        self.final = self.stranded()
        """Place of the main verb of "Where was the film that ... shot?", or -1."""

    def stranded(self) -> int:
        """An inverted question ends in its main verb, whatever stands between."""
        kinds = "".join(word.kind for word in self.words)
        aux = kinds.find("a")
        asked = next((w.text.lower() for w in self.words[: max(aux, 0)] if w.kind == "r"), "")
        did = aux >= 0 and self.words[aux].text.lower() in ("do", "does", "did")
        fronted = asked in ("where", "when", "why", "how") or kinds[:1] == "p"
        end = len(kinds.rstrip(".")) - 1
        while end > aux and kinds[end] in "px":
            end -= 1
        verb = end > aux + 1 and (kinds[end] in "vg" or self.words[end].text.lower() in _VERB_LIKE)
        if not (asked and aux >= 0 and verb and (did or fronted)) or kinds[aux + 1] in "vg":
            return -1
        # Each relative pronoun needs a verb of its own; what is left over is the main verb or a bare participle.
        middle = kinds[aux + 1 : end]
        runs, relatives = len(re.findall("[avg]+", middle)) + 1, middle.count("r")
        opens_with_verb = bool(re.match("[^r]*[vg]", middle))
        return end if runs > relatives + 1 or (runs == relatives + 1 and not opens_with_verb) else -1

    def kind(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place].kind if place < len(self.words) else "."

    def text(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place].text if place < len(self.words) else ""

    def low(self, ahead: int = 0) -> str:
        return self.text(ahead).lower()

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1].text

    def unknown(self, phrase: list[str], *, ask: bool = False) -> int:
        """A new unknown; of "date of birth" the head is "date"."""
        head = phrase[-1] if phrase else ""
        found = Unknown(" ".join(phrase), singular(head.lower()), kind(head))
        if len(phrase) >= 3 and phrase[-2] == "of":
            head = phrase[-3]
            sort = (
                "date" if head in ("date", "year", "day") else "place" if head in ("place", "country") else kind(head)
            )
            found.head, found.kind = ("body", "place") if phrase[-1] == "water" else (head, sort)
        self.puzzle.unknowns.append(found)
        if ask:
            self.puzzle.ask = len(self.puzzle.unknowns) - 1
        return len(self.puzzle.unknowns) - 1

    def earlier(self, phrase: list[str]) -> int | None:
        """The unknown that a later "this man" means."""
        head = singular(phrase[-1].lower()) if phrase else ""
        matches = [i for i, u in enumerate(self.puzzle.unknowns) if u.head == head and i != self.puzzle.ask]
        return matches[-1] if matches else None

    def meant(self, word: str) -> int | str | None:
        """What a pronoun, or "this person", means of what the sentences before spoke of."""
        if not self.later:
            return None
        wanted = _PRONOUNS.get(word) or kind(word)
        tied = {i for clue in self.puzzle.clues for i in clue.unknowns} - {self.puzzle.ask}
        found = [i for i in sorted(tied) if (self.puzzle.unknowns[i].kind == "person") == (wanted == "person")]
        named = next((clue.names[0] for clue in self.puzzle.clues if clue.names), None)
        return found[-1] if found else named if word in _PRONOUNS else None

    def compound(self) -> list[str]:
        """ "of birth", where it follows."""
        found: list[str] = []
        while self.text() == "of" and self.kind(1) == "n" and self.low(1) in COMPOUND:
            found += [self.take(), self.take()]
        return found

    def premodifies(self) -> bool:
        """Is this participle in front of its noun ("a restaurant holding company")?"""
        before = self.words[self.at - 1].kind if self.at else ""
        return before != "" and self.kind(1) in "nj" and (before in "dj" or self.low() in _TRADES)

    def acts(self) -> bool:
        """Is this noun or verb the verb here ("did the band form that ...", "what county shares a border")?"""
        if self.low() not in _VERB_LIKE:
            return False
        ahead = self.words[self.at + 1].kind if self.at + 1 < len(self.words) else "."
        before = next((w.kind for w in reversed(self.words[: self.at]) if w.kind in "ra"), "")
        return (self.do and self.kind(1) in "rpd.,jnN") or (before == "r" and ahead in "dN")

    def verb_like(self) -> bool:
        return self.low() in _VERB_LIKE
