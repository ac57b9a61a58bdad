"""Noun phrases of a question: what they name, what they describe, and the clauses and prepositions that follow."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from pipeline.embedded.solver_lexis import kind, nation
from pipeline.embedded.solver_puzzle import BE, Clue, Cursor, Item

_EMPTY = ("name", "names", "kind", "type", "term", "title", "one", "part", "sort")
_TIMES = ("year", "date", "time", "era", "day", "war", "century", "period", "decade")
_SUBJECT = ("that", "which", "who", "whom")


@dataclass
class NounPhrase:
    """A noun phrase without what follows it."""

    words: list[str]
    own: list[tuple[Item, bool]]
    """Its names or unknowns, each with whether it is the last word."""
    definite: str = ""

    @property
    def names(self) -> list[str]:
        return [text for text, _ in self.own if isinstance(text, str)]


def _loose(name: str) -> bool:
    """Nations and short initials before a noun ("Jamaican singer", "NFL team") anchor nothing; they are plain words."""
    return nation(re.sub(r"^\d{4}\s+", "", name)) or (name.isupper() and len(name) <= 4)


class Phrases(Cursor, ABC):
    @abstractmethod
    def clause(self, depth: int, clue: Clue) -> Clue:
        """Add the words of a clause up to its end to the clue."""

    @abstractmethod
    def question_word(self, clue: Clue) -> bool:
        """Make the question word of this clause the asked unknown."""

    def noun_phrase(self, clue: Clue, *, bare: bool = False, ask: bool = False) -> None:
        start, definite = self.at, self.low()
        owner = self.meant(definite) if definite in ("his", "her", "its") and self.kind(1) in "njg" else None
        while self.kind() in "do" and not (self.kind() == "o" and self.kind(1) not in "nj"):
            self.take()
        noun = self.premodifiers()
        noun.definite = definite
        if owner is not None and noun.words and not ask and kind(noun.words[-1]) != "thing":
            index = self.unknown([*noun.words, *self.compound()])
            self.puzzle.clues.append(Clue([index, "of", owner], [owner] if isinstance(owner, str) else []))
            clue.items.append(index)
            return
        if self.at == start:
            clue.items.append(self.take())
            return
        group = (
            self.inside and noun.words and noun.own and kind(noun.words[-1]) == "work"
        )  # "director of film X 's age"
        while self.kind() == "s" and (noun.words or noun.own) and self.kind(1) in "njgN" and not group:
            noun = self.possessed(noun)
        named = bool(noun.own) and noun.own[-1][1] and not ask
        if named and noun.words and definite in ("the", "a") and self.reduced():
            index = self.unknown(noun.words)
            inner = self.clause(1, Clue([*noun.names], noun.names))
            inner.items.append(index)
            self.puzzle.clues.append(inner)
            clue.items.append(index)
        elif named:  # the words before the name say what it is
            clue.names.extend(noun.names)
            clue.items += [*noun.words, *[text for text, _ in noun.own]]
        else:
            self.described(clue, noun, bare=bare, ask=ask)

    def reduced(self) -> bool:
        """After "the city Sarah Sorge": does a clause without pronoun follow ("was born, ...", "lives in?")?"""
        if self.kind() not in "av":
            return False
        place = self.at
        while place < len(self.words) and self.words[place].kind in "avgx":
            place += 1
        while place < len(self.words) and self.words[place].kind == "p":
            place += 1
            if place == len(self.words) or self.words[place].kind in ".,av":
                return True
        return place < len(self.words) and self.words[place].kind == ","

    def premodifiers(self) -> NounPhrase:
        noun = NounPhrase([], [])
        while True:
            here = self.kind()
            if noun.words + noun.own and self.acts():
                return noun
            if here in "nj" or (here == "g" and ((self.kind(1) in "nj" and not noun.words) or self.premodifies())):
                noun.words.append(self.take())
                noun.own = [(text, False) for text, _ in noun.own]
            elif here == "N":
                noun.own.append((self.take(), True))
            elif (here == "x" and self.text().isalpha() and self.kind(1) == "j" and not noun.own) or (
                here == "c" and self.kind(-1) == "j" and self.kind(1) == "j"
            ):
                self.take()
            else:
                return noun

    def possessed(self, owner: NounPhrase) -> NounPhrase:
        """ "X's father": a new unknown with the clue "father of X"; returned as an owner for more of the same."""
        self.take()
        inner = self.premodifiers()
        items: list[Item] = [text for text, _ in owner.own] or [*owner.words]
        if not owner.own and (back := self.earlier(owner.words)) is not None:
            items = [back]
        index = self.unknown([*inner.names, *inner.words, *self.compound()])
        self.puzzle.clues.append(Clue([index, "of", *items], owner.names))
        return NounPhrase([], [(index, False)], owner.definite)

    def described(self, clue: Clue, noun: NounPhrase, *, bare: bool, ask: bool) -> None:
        """A noun phrase that ends in a common noun: an unknown if something is said of it, else plain words."""
        if noun.own and isinstance(index := noun.own[-1][0], int) and not noun.words:
            if ask:
                self.puzzle.ask = index
            clue.items.append(index)
            self.modifiers(index, bare=True)
            return
        noun.words += self.compound()
        if not ask and noun.words and noun.words[-1] in _EMPTY and self.text() == "of" and self.kind(1) in "dnjN":
            self.take()
            self.noun_phrase(clue, bare=bare)
            return
        words = [*filter(_loose, noun.names), *noun.words]
        names = [name for name in noun.names if not _loose(name)]
        clue.names.extend(names)
        if noun.definite in ("this", "that", "these", "those", "the") and not ask:
            back: Item | None = self.earlier(words)
            if back is None and noun.definite in ("this", "that") and words:
                back = self.meant(words[-1])
            if back is not None and self.kind() != "r" and not (noun.definite == "the" and self.text() == "of"):
                clue.items.append(back)
                return
        self.new(clue, [*names, *words], bare=bare, ask=ask, fresh=noun.definite in ("a", "an"))

    def new(self, clue: Clue, phrase: list[str], *, bare: bool, ask: bool, fresh: bool) -> None:
        mark = len(self.puzzle.clues)
        index = self.unknown(phrase, ask=ask)
        self.modifiers(index, bare=bare)
        said = [c for c in self.puzzle.clues[mark:] if index in c.unknowns]
        weak = self.puzzle.unknowns[index].kind == "thing" and all(c.phrase for c in said)
        solid = not weak and any(c.names or c.unknowns - {index} or (len(c.items) > 3 and not c.phrase) for c in said)
        spoken_of = fresh and not self.last and self.kind() == "."  # "... after a man. When was this man born?"
        if ask or solid or spoken_of:
            while self.kind() == "s" and self.kind(1) in "njgN":
                owner = self.possessed(NounPhrase([], [(index, True)])).own[0][0]
                index = owner if isinstance(owner, int) else index
            clue.items.append(index)
            return
        clue.items += phrase
        for small in said:
            self.puzzle.clues.remove(small)
            clue.names.extend(small.names)
            clue.items += [item for item in small.items if item != index]

    # --- what follows a noun and describes it --------------------------------------------------------------------

    def modifiers(self, index: int, *, bare: bool) -> None:
        while self.modifier(index, 1 if self.kind() == "," else 0, bare=bare):
            pass

    def modifier(self, index: int, comma: int, *, bare: bool) -> bool:
        here, word = self.kind(comma), self.low(comma)
        after, next_word = self.kind(comma + 1), self.low(comma + 1)
        if here == "r" and self.relates(word, index) and not self.asks(comma):
            self.at += comma + 1
            self.relative(index, word)
        elif here == "p" and after == "r" and next_word in ("which", "whom", "where") and not self.asks(comma + 1):
            self.at += comma + 2
            self.relative(index, word)
        elif here == "c" and after == "r" and next_word in ("which", "who", "whose", "that"):
            self.at += comma + 2
            self.relative(index, next_word)
        elif (
            self.participle(comma)
            and not bare
            and self.at + comma != self.final
            and not (comma and index == self.puzzle.ask and after != "p")
        ):
            self.at += comma
            self.puzzle.clues.append(self.clause(1, Clue([index])))
        elif here == "p" and not comma and self.takes(word, bare=bare):
            self.prepositional(index)
        else:
            return False
        return True

    def participle(self, comma: int) -> bool:
        """A participle, "once called" too, or what the tagger took for a past tense with the main verb to come."""
        adverb = self.low(comma) in ("formerly", "once", "originally", "previously")
        return self.kind(comma + adverb) == "g" or (
            self.kind(comma) == "v" and self.low(comma).endswith("ed") and self.final > self.at
        )

    def takes(self, preposition: str, *, bare: bool) -> bool:
        """Does the preposition here begin a phrase that belongs to the noun before it?"""
        asked = self.kind(1) == "r" and self.low(1) in ("what", "which") and self.puzzle.ask < 0
        return ((preposition == "of" or not bare) and self.kind(1) in "dnjNgo") or (not bare and asked)

    def relates(self, word: str, index: int) -> bool:
        timely = self.puzzle.unknowns[index].head in _TIMES
        return word in (*_SUBJECT, "whose", "where") or (word == "when" and timely)

    def asks(self, ahead: int) -> bool:
        """Is this the question word of the sentence, not a relative pronoun ("..., which city ...")?"""
        if self.puzzle.ask >= 0 or self.low(ahead) not in ("which", "what"):
            return False
        after = self.kind(ahead + 1)
        return after in "nj" or after + self.kind(ahead + 2) == "Nn" or (after == "a" and self.low(ahead) == "what")

    def prepositional(self, index: int) -> None:
        clue = Clue([index, self.take()], phrase=True)
        self.inside += 1
        if self.kind() == "r":
            self.question_word(clue)
        else:
            self.noun_phrase(clue)
        self.inside -= 1
        self.puzzle.clues.append(clue)

    def relative(self, index: int, word: str) -> None:
        """`word`: the relative pronoun, or the preposition before it."""
        if word in _SUBJECT and self.kind() in "avgx":
            self.puzzle.clues.append(self.clause(1, Clue([index])))
        elif word == "whose":
            self.whose(index)
        else:
            clue = self.clause(1, Clue())
            clue.items += ["in" if word in ("where", "when") else "" if word in _SUBJECT else word, index]
            self.puzzle.clues.append(clue)

    def whose(self, index: int) -> None:
        """ "whose director was born in X": one more unknown; "whose capital is X": a clue as it stands."""
        noun = self.premodifiers()
        clue = Clue([index, *noun.words, *[text for text, _ in noun.own]], noun.names)
        said = self.clause(1, Clue())
        rest = [item for item in said.items if item not in BE]
        if noun.words and not noun.own and kind(noun.words[-1]) in ("person", "place", "org") and len(rest) > 1:
            other = self.unknown(noun.words)
            self.puzzle.clues += [Clue([other, "of", index]), Clue([other, *said.items], said.names)]
            return
        self.puzzle.clues.append(Clue([*clue.items, *said.items], [*clue.names, *said.names]))
