"""A question as a puzzle: the unknown things that it describes, the clues that tie them, and which of them it asks for.

"Who directed the film that was shot in Leland?" has the unknowns 0 (who) and 1 (film) and the clues "0 directed 1" and
"1 was shot in Leland". English nests descriptions to the right and in relative clauses; the parser follows that with one
rule for where a relative clause ends (before a second verb group) and takes what it cannot parse as plain words.
"""

from dataclasses import dataclass, field

from pipeline.embedded.solver_lexis import kind, singular
from pipeline.embedded.solver_nations import country
from pipeline.embedded.solver_words import Word, lex

Item = str | int
"""A plain word or name, or the index of an unknown."""
_EMPTY = ("name", "names", "kind", "type", "term", "title", "one", "part", "sort")
_VERB_LIKE = frozenset(
    "form start end play name use work die study attend host win release open join move live claim debut rule serve meet air premiere "
    "border borders shares share plays stars works rules hosts features covers flows lies means owns runs occur refuse make produce "
    "graduate write record perform direct marry compose design found own train found star run".split()
)
_PREPOSITIONS = ("of", "in", "for", "by", "at", "on", "to", "with", "from", "near")
_TRADES = ("holding", "manufacturing", "publishing", "broadcasting", "recording", "mining", "shipping", "racing", "training", "building", "engineering")
_COMPOUND = ("birth", "death", "origin", "water", "burial", "residence", "citizenship", "work", "office", "education", "formation", "arts", "art")


@dataclass
class Unknown:
    phrase: str
    """All words of its description's noun phrase."""
    head: str
    kind: str
    value: str = ""


@dataclass
class Clue:
    items: list[Item]
    names: list[str]
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
            puzzle.clues.append(Clue([question, puzzle.ask], []))
        else:
            puzzle.clues[-1].items.append(puzzle.ask)
    puzzle.clues = [clue for clue in puzzle.clues if any(isinstance(i, int) or i.isalnum() for i in clue.items)]
    return puzzle


def _loose(name: str) -> bool:
    """Nations and short initials before a noun ("Jamaican singer", "NFL team") anchor nothing; they are plain words."""
    return bool(country(name)) or (name.isupper() and len(name) <= 4)


class _Parser:
    """Recursive descent over one sentence; `at` is the place of the next word."""

    def __init__(self, sentence: list[Word], puzzle: Puzzle, *, last: bool) -> None:
        self.words, self.puzzle, self.last, self.at, self.do, self.inside = sentence, puzzle, last, 0, False, 0

    def kind(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place].kind if place < len(self.words) else "."

    def text(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place].text if place < len(self.words) else ""

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1].text

    def unknown(self, phrase: list[str], *, ask: bool = False) -> int:
        head = phrase[-1] if phrase else ""
        if len(phrase) >= 3 and phrase[-2] == "of":
            head = phrase[-3]
            of = phrase[-1]
            name = "date" if head in ("date", "year", "day") else "place" if head in ("place", "country") else kind(head)
            self.puzzle.unknowns.append(Unknown(" ".join(phrase), head if of != "water" else "body", name if of != "water" else "place"))
        else:
            self.puzzle.unknowns.append(Unknown(" ".join(phrase), singular(head.lower()), kind(head)))
        if ask:
            self.puzzle.ask = len(self.puzzle.unknowns) - 1
        return len(self.puzzle.unknowns) - 1

    def add(self, items: list[Item], names: list[str]) -> None:
        self.puzzle.clues.append(Clue(items, names))

    # --- clauses -------------------------------------------------------------------------------------------------

    def sentence(self) -> None:
        while self.at < len(self.words):
            names: list[str] = []
            items = self.clause(0, names)
            if items:
                self.close(items, names)
            if self.at < len(self.words):
                self.at += 1

    def close(self, items: list[Item], names: list[str]) -> None:
        """Add a main clause; "Who is X" and "A is X" are no clues but say that both are the same."""
        items = self.fronted(items, names)
        content = [i for i in items if not (isinstance(i, str) and i.lower() in ("is", "was", "are", "were", "the", "of", ","))]
        if len(content) == 2 and all(isinstance(i, int) for i in content):
            first, second = content
            ask = self.puzzle.ask
            if ask in (first, second) and self.same_kind(ask, second if ask == first else first):
                other = second if ask == first else first
                asked = self.puzzle.unknowns[ask]
                mine = self.puzzle.unknowns[other]
                if mine.kind == "thing" and asked.kind != "thing":
                    mine.kind = asked.kind
                for clue in self.puzzle.clues:
                    clue.items = [other if i == ask else i for i in clue.items]
                self.puzzle.ask = other
                return
        if len(content) == 2 and isinstance(content[0], str) and isinstance(content[1], int) and content[0] in names:
            self.puzzle.unknowns[content[1]].value = self.puzzle.unknowns[content[1]].value or content[0]
            return
        self.add(self.definition(items), names)

    def fronted(self, items: list[Item], names: list[str]) -> list[Item]:
        """ "At the 2011 census, what was X": the opening is a clue of X."""
        ask = self.puzzle.ask
        if ask in items and 0 < items.index(ask) == len(items) - 3 and isinstance(items[-1], int) and items[-2] in ("is", "was", "are", "were"):
            self.add([*items[: items.index(ask)], items[-1]], list(names))
            return items[items.index(ask) :]
        return items

    def same_kind(self, ask: int, other: int) -> bool:
        """Does "Who is X", "When is X's birthday" ask for X itself?"""
        word, found = self.puzzle.unknowns[ask].phrase, self.puzzle.unknowns[other].kind
        return word in ("who", "what", "which", "whom") or (word, found) in (("when", "date"), ("where", "place"), ("when", "year"))

    def definition(self, items: list[Item]) -> list[Item]:
        """ "What is the cause of death of X" asks for the "cause of death"."""
        if len(items) < 4 or items[0] != self.puzzle.ask or items[1] not in ("is", "was", "are", "were"):
            return items
        asked = self.puzzle.unknowns[self.puzzle.ask]
        if asked.phrase not in ("what", "which"):
            return items
        end = 2
        while end < len(items) and isinstance(items[end], str) and (items[end] not in _PREPOSITIONS or items[end + 1 : end + 2] and items[end + 1] in _COMPOUND):
            end += 1
        if 2 < end < len(items):
            phrase = [str(item) for item in items[2:end]]
            asked.phrase = " ".join(phrase)
            asked.head = singular((phrase[0] if "of" in phrase else phrase[-1]).lower())
            asked.kind = kind(asked.head)
            return [items[0], *items[end:]]
        return items

    def clause(self, depth: int, names: list[str], *, verbs: int = 0) -> list[Item]:
        """The items of a clause up to its end: a full stop, a comma (inner clauses), or a second verb group (inner clauses)."""
        items: list[Item] = []
        bare = False
        while self.at < len(self.words):
            here = self.kind()
            if here == ".":
                break
            if here == ",":
                if depth:
                    break
                self.at += 1
                continue
            if here == "r":
                bare = self.question_word(items, names) or bare
            elif here in "av" or (here == "g" and not self.premodifies()) or (items and self.text().lower() in _VERB_LIKE and self.acts()):
                if depth and verbs and not self.linked(items):
                    break
                verbs += 1
                if not depth:
                    self.do = self.text().lower() in ("do", "does", "did")
                self.verbs(items)
            elif here in "dnjNg" or (here == "o" and self.kind(1) in "nj"):
                self.noun_phrase(items, names, bare=bare and verbs == 1 and not self.do)
            else:
                items.append(self.take())
        return items

    def premodifies(self) -> bool:
        """Is this participle in front of its noun ("a restaurant holding company")?"""
        before = self.words[self.at - 1].kind if self.at else ""
        return before != "" and self.kind(1) in "nj" and (before in "dj" or self.text().lower() in _TRADES)

    def linked(self, items: list[Item]) -> bool:
        return bool(items) and isinstance(items[-1], str) and items[-1].lower() in ("and", "to", "or", "but", "not")

    def verbs(self, items: list[Item]) -> None:
        """One verb group: auxiliaries, adverbs, one full verb."""
        while self.kind() == "a":
            items.append(self.take())
            while self.kind() == "x" and self.text().isalpha():
                items.append(self.take())
        if self.kind() in "vg" or self.text().lower() in _VERB_LIKE:
            items.append(self.take())

    def question_word(self, items: list[Item], names: list[str]) -> bool:
        """A question word of this clause becomes the asked unknown. True for where, when, how and "in what year"."""
        word = self.take().lower()
        if self.puzzle.ask >= 0 or word == "that":
            items.append(word)
            return False
        if word == "which" and self.text() == "of" and self.kind(1) in "dn":
            self.take()
            self.noun_phrase(items, names, ask=True)
            return False
        if word == "how":
            phrase = [word]
            if self.kind() in "jxn":
                phrase.append(self.take())
            while self.kind() in "nj":
                phrase.append(self.take())
            index = self.unknown(phrase, ask=True)
            self.puzzle.unknowns[index].kind = "number"
            items += [*phrase[2:], index]
            return True
        if word in ("which", "what", "whose") and self.kind() in "njgNd" and self.text().lower() not in ("the", "a"):
            mark = len(items)
            self.noun_phrase(items, names, ask=True)
            return self.kind() == "a" and mark > 0
        index = self.unknown([word], ask=True)
        items.append(index)
        if word in ("what", "which", "why"):
            self.puzzle.unknowns[index].kind = "thing"
        if word == "why" and any(w.text.lower() in ("die", "died", "death") for w in self.words):
            self.puzzle.unknowns[index].head = "cause"
        return word in ("where", "when", "why") and self.kind() == "a"

    # --- noun phrases --------------------------------------------------------------------------------------------

    def noun_phrase(self, items: list[Item], names: list[str], *, bare: bool = False, ask: bool = False) -> None:
        start = self.at
        definite = self.text().lower()
        while self.kind() in "do" and not (self.kind() == "o" and self.kind(1) not in "nj"):
            self.take()
        phrase, own = self.premodifiers()
        if self.at == start:
            items.append(self.take())
            return
        group = self.inside and phrase and own and kind(phrase[-1]) == "work"  # "the director of film X 's birthday"
        while self.kind() == "s" and (phrase or own) and self.kind(1) in "njgN" and not group:
            phrase, own = self.possessed(phrase, own)
        if own and own[-1][1] and phrase and not ask and definite in ("the", "a") and self.reduced():
            index = self.unknown(phrase)
            inner_names = [text for text, _ in own if isinstance(text, str)]
            self.add([*inner_names, *self.clause(1, inner_names), index], inner_names)
            items.append(index)
            return
        if own and own[-1][1] and not ask:  # ends in a name: the words before it say what it is
            names.extend(text for text, _ in own if isinstance(text, str))
            items += [*phrase, *[text for text, _ in own]]
            return
        self.described(items, names, phrase, own, definite=definite, bare=bare, ask=ask)

    def reduced(self) -> bool:
        """After "the city Sarah Sorge": does a relative clause without its pronoun follow ("was born, ...", "is located in?")?"""
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

    def premodifiers(self) -> tuple[list[str], list[tuple[Item, bool]]]:
        """Words of the noun phrase, and its names with whether a name is its last word."""
        phrase: list[str] = []
        own: list[tuple[Item, bool]] = []
        while True:
            here = self.kind()
            if phrase + own and self.text().lower() in _VERB_LIKE and self.acts():
                return phrase, own
            if here in "nj" or (here == "g" and self.kind(1) in "nj" and not phrase) or (here == "g" and self.premodifies()):
                phrase.append(self.take())
                own = [(text, False) for text, _ in own]
            elif here == "N":
                own.append((self.take(), True))
            elif here == "x" and self.text().isalpha() and self.kind(1) in "j" and not own:
                self.take()
            elif here == "c" and self.kind(-1) == "j" and self.kind(1) == "j":
                self.take()
            else:
                return phrase, own

    def acts(self) -> bool:
        """Is this word that may be noun or verb the verb here ("did the band form that ...", "what county shares a border")?"""
        ahead = self.words[self.at + 1].kind if self.at + 1 < len(self.words) else "."
        before = next((w.kind for w in reversed(self.words[: self.at]) if w.kind in "ra"), "")
        return self.do and self.kind(1) in "rpd.,jnN" or (before == "r" and ahead in "dN")

    def possessed(self, phrase: list[str], own: list[tuple[Item, bool]]) -> tuple[list[str], list[tuple[Item, bool]]]:
        """ "X's father": a new unknown "father" with the clue "father of X"; returned as an owner for more of the same."""
        self.take()
        inner, more = self.premodifiers()
        owner: list[Item] = [text for text, _ in own] or [*phrase]
        names = [text for text in owner if isinstance(text, str) and own]
        if not own:
            back = self.earlier(phrase)
            owner = [back] if back is not None else [*phrase]
        while self.text() == "of" and self.kind(1) == "n" and self.text(1).lower() in _COMPOUND:
            inner += [self.take(), self.take()]
        index = self.unknown([*[str(t) for t, _ in more], *inner])
        self.add([index, "of", *owner], names)
        return [], [(index, False)]

    def earlier(self, phrase: list[str]) -> int | None:
        """The unknown that a later "this man" means."""
        head = singular(phrase[-1].lower()) if phrase else ""
        matches = [i for i, u in enumerate(self.puzzle.unknowns) if u.head == head and i != self.puzzle.ask]
        return matches[-1] if matches else None

    def described(self, items: list[Item], names: list[str], phrase: list[str], own: list[tuple[Item, bool]], *, definite: str, bare: bool, ask: bool) -> None:
        """A noun phrase that ends in a common noun: an unknown if something is said of it, else plain words."""
        if own and isinstance(own[-1][0], int) and not phrase:
            index = own[-1][0]
            if ask:
                self.puzzle.ask = index
            items.append(index)
            self.modifiers(index, bare=True)
            return
        while self.text() == "of" and self.kind(1) == "n" and self.text(1).lower() in _COMPOUND:
            phrase += [self.take(), self.take()]
        if not ask and phrase and phrase[-1] in _EMPTY and self.text() == "of" and self.kind(1) in "dnjN":
            self.take()
            self.noun_phrase(items, names, bare=bare)
            return
        own_names = [text for text, _ in own if isinstance(text, str)]
        phrase = [*[text for text in own_names if _loose(text)], *phrase]
        own_names = [text for text in own_names if not _loose(text)]
        names.extend(own_names)
        if definite in ("this", "that", "these", "those", "the") and not ask:
            back = self.earlier(phrase)
            if back is not None and self.kind() not in "r" and not (definite == "the" and self.text() in ("of",)):
                items.append(back)
                return
        mark, known = len(self.puzzle.clues), len(self.puzzle.unknowns)
        index = self.unknown([*own_names, *phrase], ask=ask)
        self.modifiers(index, bare=bare)
        said = self.puzzle.clues[mark:]
        weak = self.puzzle.unknowns[index].kind == "thing" and all(clue.phrase for clue in said if index in clue.unknowns)
        solid = not weak and any(
            clue.names or clue.unknowns - {index} or (len(clue.items) > 3 and not clue.phrase)
            for clue in said
            if index in clue.unknowns
        )
        if ask or solid or definite in ("a", "an") and self.is_person_or_place(index):
            while self.kind() == "s" and self.kind(1) in "njgN":
                index = self.possessed([], [(index, True)])[1][0][0]
            items.append(index)
            return
        items += [*own_names, *phrase]
        for clue in [clue for clue in said if index in clue.unknowns]:
            self.puzzle.clues.remove(clue)
            names.extend(clue.names)
            items += [item for item in clue.items if item != index]

    def is_person_or_place(self, index: int) -> bool:
        """Indefinite things that a later sentence may speak of ("a man. When was this man born?")."""
        return not self.last and self.kind() == "."

    def modifiers(self, index: int, *, bare: bool) -> None:
        """All that follows the noun and describes it."""
        while True:
            comma = 1 if self.kind() == "," else 0
            here, word = self.kind(comma), self.text(comma).lower()
            if here == "r" and self.relates(word, index) and not self.asks(comma):
                self.at += comma + 1
                self.relative(index, word)
            elif here == "p" and self.kind(comma + 1) == "r" and self.text(comma + 1).lower() in ("which", "whom", "where") and not self.asks(comma + 1):
                self.at += comma + 2
                self.relative(index, word)
            elif here == "c" and self.kind(comma + 1) == "r" and self.text(comma + 1).lower() in ("which", "who", "whose", "that"):
                self.at += comma + 2
                self.relative(index, self.text(-1).lower())
            elif here == "g" and not bare and not (comma and index == self.puzzle.ask and self.kind(comma + 1) not in "p"):
                self.at += comma
                self.inner([index], depth=1)
            elif not comma and here == "p" and (word == "of" or not bare) and self.kind(1) in "dnjNgo" or (not comma and here == "p" and not bare and self.kind(1) == "r" and self.text(1).lower() in ("what", "which") and self.puzzle.ask < 0):
                self.prepositional(index)
            else:
                return

    def relates(self, word: str, index: int) -> bool:
        timely = self.puzzle.unknowns[index].head in ("year", "date", "time", "era", "day", "war", "century", "period", "decade")
        return word in ("that", "which", "who", "whom", "whose", "where") or (word == "when" and timely)

    def asks(self, ahead: int) -> bool:
        """Is this the question word of the sentence, not a relative pronoun ("..., which city ...")?"""
        return self.puzzle.ask < 0 and self.text(ahead).lower() in ("which", "what", "when", "where", "who") and (
            self.kind(ahead + 1) == "a" and self.text(ahead).lower() in ("what",) or (self.text(ahead).lower() in ("which", "what") and (self.kind(ahead + 1) in "nj" or self.kind(ahead + 1) + self.kind(ahead + 2) == "Nn"))
        )

    def prepositional(self, index: int) -> None:
        names: list[str] = []
        items: list[Item] = [index, self.take()]
        self.inside += 1
        if self.kind() == "r":
            self.question_word(items, names)
        else:
            self.noun_phrase(items, names)
        self.inside -= 1
        self.puzzle.clues.append(Clue(items, names, phrase=True))

    def relative(self, index: int, word: str) -> None:
        names: list[str] = []
        if word in ("that", "which", "who", "whom") and self.kind() in "avgx":
            self.inner([index], depth=1)
        elif word == "whose":
            phrase, own = self.premodifiers()
            items = [index, *phrase, *[text for text, _ in own]]
            names += [text for text, _ in own if isinstance(text, str)]
            self.add([*items, *self.clause(1, names)], names)
        else:
            items = self.clause(1, names)
            self.add([*items, "in" if word in ("where", "when") else word if word not in ("that", "which", "who", "whom") else "", index], names)

    def inner(self, items: list[Item], *, depth: int) -> None:
        names: list[str] = []
        self.add([*items, *self.clause(depth, names)], names)
