"""From the words of a question to its puzzle, by recursive descent.

English nests descriptions to the right and in relative clauses; one rule says where a relative clause ends (before a
second verb group), and what cannot be parsed is taken as plain words.
"""

from pipeline.embedded.solver_lexis import kind, singular
from pipeline.embedded.solver_phrases import Phrases
from pipeline.embedded.solver_puzzle import BE, COMPOUND, Clue, Item, Puzzle, Unknown
from pipeline.embedded.solver_words import lex

_PREPOSITIONS = ("of", "in", "for", "by", "at", "on", "to", "with", "from", "near")


def read(question: str) -> Puzzle:
    """The puzzle of a question. `ask` is always a valid index."""
    puzzle = Puzzle(question)
    sentences = lex(question)
    for place, sentence in enumerate(sentences, 1):
        _Parser(sentence, puzzle, last=place == len(sentences)).sentence()
    if puzzle.ask < 0:
        puzzle.unknowns.append(Unknown("", "", "thing"))
        puzzle.ask = len(puzzle.unknowns) - 1
        if not puzzle.clues:
            puzzle.clues.append(Clue([question]))
        puzzle.clues[-1].items.append(puzzle.ask)
    puzzle.clues = [clue for clue in puzzle.clues if any(isinstance(i, int) or i.isalnum() for i in clue.items)]
    return puzzle


class _Parser(Phrases):
    def sentence(self) -> None:
        while self.at < len(self.words):
            clue = self.clause(0, Clue())
            if clue.items:
                self.close(clue)
            if self.at < len(self.words):
                self.at += 1

    # --- clauses -------------------------------------------------------------------------------------------------

    def clause(self, depth: int, clue: Clue) -> Clue:
        """Ends at a full stop; an inner clause also at a comma or before its second verb group."""
        bare, verbs, start = False, 0, len(clue.items)
        while self.kind() != "." and not (depth and self.at == self.final):
            here = self.kind()
            if here == ",":
                if depth:
                    break
                self.at += 1
            elif here == "r":
                bare = self.question_word(clue) or bare
            elif self.begins_verb(here, started=len(clue.items) > start):
                if depth and verbs and not _linked(clue.items[start:]):
                    break
                verbs += 1
                if not depth:
                    self.do = self.low() in ("do", "does", "did")
                self.verbs(clue)
            elif here in "dnjNg" or (here == "o" and self.kind(1) in "nj"):
                self.noun_phrase(clue, bare=bare and verbs == 1 and not self.do and self.final < 0)
            else:
                self.word(clue)
        return clue

    def word(self, clue: Clue) -> None:
        """Any other word; a pronoun of a later sentence is what it means."""
        found = self.meant(self.low()) if self.kind() in "od" else None
        text = self.take()
        clue.items.append(text if found is None else found)
        if isinstance(found, str):
            clue.names.append(found)

    def begins_verb(self, here: str, *, started: bool) -> bool:
        return here in "av" or (here == "g" and not self.premodifies()) or (started and self.acts())

    def verbs(self, clue: Clue) -> None:
        """One verb group: auxiliaries, adverbs, one full verb."""
        while self.kind() == "a":
            clue.items.append(self.take())
            while self.kind() == "x" and self.text().isalpha():
                clue.items.append(self.take())
        if self.kind() in "vg" or self.verb_like():
            clue.items.append(self.take())

    # --- question words ------------------------------------------------------------------------------------------

    def question_word(self, clue: Clue) -> bool:
        """True for where, when, how and "in what year": what follows the verb is then no part of the subject."""
        word = self.take().lower()
        if self.puzzle.ask >= 0 or word == "that":
            clue.items.append(word)
            return False
        if word == "which" and self.text() == "of" and self.kind(1) in "dn":
            self.take()
            self.noun_phrase(clue, ask=True)
            return False
        if word == "how":
            self.how(clue)
            return True
        if word in ("which", "what", "whose") and self.kind() in "njgNd" and self.low() not in ("the", "a"):
            fronted = bool(clue.items)
            self.noun_phrase(clue, ask=True)
            return self.kind() == "a" and fronted
        index = self.unknown([word], ask=True)
        clue.items.append(index)
        if word in ("what", "which", "why"):
            self.puzzle.unknowns[index].kind = "thing"
        return word in ("where", "when", "why") and self.kind() == "a"

    def how(self, clue: Clue) -> None:
        phrase = ["how"]
        if self.kind() in "jxn":
            phrase.append(self.take())
        while self.kind() in "nj":
            phrase.append(self.take())
        index = self.unknown(phrase, ask=True)
        self.puzzle.unknowns[index].kind = "number"
        clue.items += [*phrase[2:], index]

    # --- main clauses --------------------------------------------------------------------------------------------

    def close(self, clue: Clue) -> None:
        """Add a main clause; "Who is X" and "A is X" are no clues but say that both are the same."""
        clue = self.fronted(clue)
        content = [i for i in clue.items if not (isinstance(i, str) and i.lower() in (*BE, "the", "of", ","))]
        if len(content) == 2 and isinstance(content[1], int):
            first, second = content[0], content[1]
            if isinstance(first, int) and self.merged(first, second):
                return
            if isinstance(first, str) and first in clue.names:
                self.puzzle.unknowns[second].value = self.puzzle.unknowns[second].value or first
                return
        clue.items = self.definition(clue.items, clue.names)
        self.puzzle.clues.append(clue)

    def merged(self, first: int, second: int) -> bool:
        """ "Who is X", "When is X's birthday": X itself is asked for."""
        ask = self.puzzle.ask
        if ask not in (first, second):
            return False
        other = second if ask == first else first
        asked, found = self.puzzle.unknowns[ask], self.puzzle.unknowns[other]
        pair = (asked.phrase, found.kind)
        if asked.phrase not in ("who", "what", "which", "whom") and pair not in (("when", "date"), ("where", "place")):
            return False
        if found.kind == "thing" and asked.kind != "thing":
            found.kind = asked.kind
        for clue in self.puzzle.clues:
            clue.items = [other if i == ask else i for i in clue.items]
        self.puzzle.ask = other
        return True

    def fronted(self, clue: Clue) -> Clue:
        """ "At the 2011 census, what was X": the opening is a clue of X."""
        items, ask = clue.items, self.puzzle.ask
        if ask in items and 0 < items.index(ask) == len(items) - 3 and isinstance(items[-1], int) and items[-2] in BE:
            self.puzzle.clues.append(Clue([*items[: items.index(ask)], items[-1]], list(clue.names)))
            return Clue(items[items.index(ask) :], clue.names)
        return clue

    def definition(self, items: list[Item], names: list[str]) -> list[Item]:
        """ "What is the cause of death of X" asks for the "cause of death"."""
        if len(items) < 4 or items[0] != self.puzzle.ask or items[1] not in BE:
            return items
        asked = self.puzzle.unknowns[self.puzzle.ask]
        if asked.phrase not in ("what", "which"):
            return items
        phrase: list[str] = []
        for item, after in zip(items[2:], [*items[3:], ""], strict=True):
            if not isinstance(item, str) or item in names or (item in _PREPOSITIONS and after not in COMPOUND):
                break
            phrase.append(item)
        if phrase and len(phrase) + 2 < len(items) and items[2 + len(phrase)] not in names:
            asked.phrase = " ".join(phrase)
            asked.head = singular((phrase[0] if "of" in phrase else phrase[-1]).lower())
            asked.kind = kind(asked.head)
            return [items[0], *items[2 + len(phrase) :]]
        return items


def _linked(items: list[Item]) -> bool:
    return bool(items) and isinstance(items[-1], str) and items[-1].lower() in ("and", "to", "or", "but", "not")
