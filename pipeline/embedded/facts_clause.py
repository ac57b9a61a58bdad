"""Clauses whose subject is the passage's own: a verb group and what follows it, cut into elements.

An element is a noun phrase with the preposition before it. What a clause says is kept in the sentence's own words,
voice and tense, so that a question made of it stays English.
"""

from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.facts_name import one_place
from pipeline.embedded.facts_noun import noun_end
from pipeline.embedded.facts_subject import Sentence, is_name
from pipeline.text import Token

_BE = ("is", "was", "are", "were")
_HAVE = ("has", "have", "had")
_IDLE = lexicon.listed("idle_adverbs")
_REFUSED = frozenset("not never no n't hardly rarely being".split())
_ONGOING = lexicon.listed("ongoing")
_STARRING = {
    "starring": "stars",
    "featuring": "features",
    "serving": "serves",
    "comprising": "comprises",
    "containing": "contains",
}
_STARS = {*_STARRING, *_STARRING.values()}  # which the tagger takes for nouns
_STARTS_ANEW = lexicon.listed("starts_anew")
_NAME_GLUE = frozenset("of the de la le du di da del von van der den & ' ’ – - : el al y and ! on".split())


class Verb(NamedTuple):
    """ "was written" = auxiliary "was", rest "written"; a verb without auxiliary has only a rest."""

    auxiliary: str
    rest: str
    main: str
    tense: str
    """`past`, `present` or `plural` (a present that agrees with a plural)."""

    @property
    def text(self) -> str:
        return f"{self.auxiliary} {self.rest}".strip()

    @property
    def passive(self) -> bool:
        return self.auxiliary in ("is", "was", "has been", "had been") and self.rest != ""


class Element(NamedTuple):
    """Tokens [start, noun) are prepositions, [noun, end) the noun phrase; its proper name, if any, starts at `name`."""

    start: int
    noun: int
    end: int
    name: int
    """-1 where there is no name at the end of the phrase."""
    listed: bool = False
    """One of several in a list."""
    deep: bool = False
    """More than prepositions stands before it, so nothing between it and the verb can be left out."""


class Clause(NamedTuple):
    form: str
    """`clause` (a finite verb of its own), `reduced` ("a film directed by ...") or `definition` ("a song by ...")."""
    verb: Verb
    start: int
    """First token after the verb group (of a definition: its article)."""
    elements: tuple[Element, ...]


def clauses(sentence: Sentence, subject_end: int) -> list[Clause]:
    """The clauses of a sentence after its subject."""
    tokens = sentence.tokens
    found: list[Clause] = []
    at, form, shared = subject_end, "clause", ""
    while at < len(tokens):
        group = verb_group(tokens, at, form, shared)
        if group is None:
            break
        verb, start = group
        if verb.main == "be" and start < len(tokens) and tokens[start].text.lower() in ("a", "an", "the"):
            at, form = _definition(tokens, start, verb, found)
        else:
            elements = _elements(tokens, start)
            found.append(Clause(form, verb, start, elements))
            at, form = _next(
                tokens,
                elements[-1].end if elements else start,
                participles=form != "clause" and _only_by(tokens, elements),
            )
        shared = verb.auxiliary
        if not form:
            break
    return found


def _definition(tokens: tuple[Token, ...], start: int, verb: Verb, found: list[Clause]) -> tuple[int, str]:
    """Notes "is a song by ..." and returns where the next clause may start and its form."""
    head = noun_end(tokens, start + 1)
    if head == start + 1 or not tokens[head - 1].text.islower():
        return len(tokens), ""
    elements = _elements(tokens, head)
    found.append(Clause("definition", verb, start, elements))
    after = head
    if after < len(tokens) and tokens[after].text in ("who", "which", "that"):
        return after + 1, "clause"
    if after < len(tokens) and (tokens[after].tag in ("VBN", "VBD", "RB") or tokens[after].text in _STARRING):
        return after, "reduced"
    if after + 1 < len(tokens) and tokens[after].text == "," and tokens[after + 1].tag == "VBN":
        return after + 1, "reduced"
    return _next(tokens, elements[-1].end if elements else head, participles=_only_by(tokens, elements))


def _only_by(tokens: tuple[Token, ...], elements: tuple[Element, ...]) -> bool:
    """Is no thing named that a participle after it could belong to instead of the subject?"""
    return all(e.name < 0 or tokens[e.start].text == "by" for e in elements)


def _next(tokens: tuple[Token, ...], at: int, *, participles: bool) -> tuple[int, str]:
    """A further verb with the same subject: after "and", or a participle after a comma."""
    comma = at < len(tokens) and tokens[at].text == ","
    joined = at + comma < len(tokens) and tokens[at + comma].text in ("and", "but")
    at += comma + joined
    first = at
    while at < len(tokens) and tokens[at].tag == "RB":
        at += 1
    if not (comma or joined) or at >= len(tokens):
        return len(tokens), ""
    if tokens[at].tag == "VBN" or tokens[at].text in _STARRING:
        return (first, "shared") if participles or (joined and tokens[at].tag == "VBN") else (len(tokens), "")
    if joined and (tokens[at].tag in ("VBD", "VBZ") or tokens[at].text in (*_BE, *_STARS)):
        return at, "clause"
    return len(tokens), ""


def verb_group(tokens: tuple[Token, ...], at: int, form: str, shared: str) -> tuple[Verb, int] | None:
    """The verb group that starts there; none for modals, negations and progressives."""
    said: list[str] = []
    auxiliary, tense = "", ""
    for i in range(at, min(at + 6, len(tokens))):
        token, word = tokens[i], tokens[i].text.lower()
        if word in _REFUSED or token.tag == "MD":
            return None
        if word in _BE or (word in _HAVE and _perfect(tokens, i)) or (word == "been" and auxiliary):
            auxiliary = f"{auxiliary} {lexicon.singular_be(word)}".strip()
            if word == "have":
                auxiliary = "has"
            tense = tense or ("past" if word in ("was", "were", "had") else "present")
        elif token.tag == "RB" and word not in ("home", "n't"):
            said += [] if word in _IDLE else [word]
        elif word == "born" or (token.tag in ("VBN", "VBD") and (auxiliary or form in ("reduced", "shared"))):
            twin = _twin(tokens, i)
            said += [t.text.lower() for t in tokens[i:twin]]
            word = tokens[twin].text.lower()
            return _participle(said, word, auxiliary, tense, form, shared), twin + 1
        elif word in _STARRING and form in ("reduced", "shared"):
            return Verb("", _STARRING[word], lexicon.base(_STARRING[word]), "present"), i + 1
        elif (token.tag in ("VBD", "VBZ", "VBP") or word in _STARRING.values()) and not auxiliary:
            tense = {"VBD": "past", "VBP": "plural"}.get(token.tag, "present")
            return Verb("", " ".join([*said, word]), lexicon.base(word), tense), i + 1
        elif auxiliary and token.tag not in ("VBG", "VBZ") and form in ("clause", "definition"):
            return Verb(auxiliary, " ".join(said), "be", tense), i
        else:
            return None
    return None


def _twin(tokens: tuple[Token, ...], at: int) -> int:
    """ "written and directed by": the place of the second participle, else of the first."""
    joined = [t.tag for t in tokens[at + 1 : at + 4]]
    follows = joined[:2] in (["CC", "VBN"], ["CC", "VBD"]) and joined[2:] in (["IN"], ["TO"])
    return at + 2 if follows else at


def _perfect(tokens: tuple[Token, ...], at: int) -> bool:
    after = [t for t in tokens[at + 1 : at + 4] if t.tag != "RB"]
    return bool(after) and (after[0].text == "been" or after[0].tag in ("VBN", "VBD"))


_ACTIVE = lexicon.listed("active")


def _participle(said: list[str], word: str, auxiliary: str, tense: str, form: str, shared: str) -> Verb:
    if form == "shared" and not auxiliary and lexicon.base(word) in _ACTIVE:
        return Verb("", " ".join([*said, word]), lexicon.base(word), "past")
    if not auxiliary:
        auxiliary = shared if form == "shared" and shared else "is" if word in _ONGOING else "was"
        tense = "past" if auxiliary == "was" else "present"
    return Verb(auxiliary, " ".join([*said, word]), lexicon.base(word), tense)


def _elements(tokens: tuple[Token, ...], start: int) -> tuple[Element, ...]:
    """Noun phrases with what stands before them, up to a mark or a word that starts something else."""
    found: list[Element] = []
    at = start
    while at < len(tokens) and len(found) < 7:
        noun, deep = _glue(tokens, at)
        if noun == at and found:
            break
        end, name = _noun_phrase(tokens, noun)
        if end == noun:
            break
        found.append(Element(at, noun, end, name, deep=deep))
        at = _list(tokens, found) if name >= 0 else end
    return tuple(found)


def _glue(tokens: tuple[Token, ...], at: int) -> tuple[int, bool]:
    """Where the noun phrase after prepositions, verbs and relative pronouns starts; more than prepositions is deep."""
    deep = False
    while at < len(tokens):
        token = tokens[at]
        if token.text.lower() in _STARTS_ANEW or (token.tag == "CC" and _verb_follows(tokens, at)):
            return len(tokens), True
        if token.tag in ("IN", "TO", "RP") and token.text != "that":
            pass
        elif token.tag.startswith(("VB", "RB", "WDT", "WP", "CC")) or token.text == "that":
            deep = True
        else:
            break
        at += 1
    return at, deep


def _verb_follows(tokens: tuple[Token, ...], at: int) -> bool:
    """After "and": a further clause, which is read by itself."""
    after = next((t for t in tokens[at + 1 : at + 4] if t.tag != "RB"), None)
    return after is not None and (after.tag in ("VBD", "VBZ", "VBN") or after.text in _STARS)


def _list(tokens: tuple[Token, ...], found: list[Element]) -> int:
    """Adds the names that the last one is listed with ("A, B and C"), with its preposition; returns the end."""
    first, at = found[-1], found[-1].end
    items: list[Element] = []
    while at < len(tokens) and (tokens[at].text in (",", "and", "or", "&")) and len(items) < 12:
        after = at + 1 + (tokens[at].text == "," and at + 1 < len(tokens) and tokens[at + 1].text in ("and", "or"))
        end, name = _noun_phrase(tokens, after)
        if (
            end == after
            or name < 0
            or tokens[after].text in _STARS
            or tokens[after].tag.startswith("VB")
            and tokens[after].text.islower()
            or (end < len(tokens) and tokens[end].tag.startswith("VB") and tokens[end].tag != "VBN")
        ):
            break
        items.append(Element(first.start, after, end, name, listed=True))
        at = end
    before, names = tokens[first.start : first.noun], [tokens[i.noun : i.end] for i in items]
    if any(tokens[i.noun - 1].text in ("and", "or", "&") for i in items) or not one_place(before, names):
        found[-1:] = [first._replace(listed=True), *(i._replace(deep=first.deep) for i in items)]
        return at
    return items[-1].end if items else first.end


def _noun_phrase(tokens: tuple[Token, ...], start: int) -> tuple[int, int]:
    """Where it ends, and where the proper name at its end starts."""
    at, name = start, -1
    while at < len(tokens):
        token = tokens[at]
        glued = name >= 0 and token.text in _NAME_GLUE and _name_goes_on(tokens, at)
        if (is_name(token) and not token.text.isdigit()) or (token.text == "The" and at > start):
            name = _with_year(tokens, start, at) if name < 0 else name
        elif glued or (name >= 0 and token.tag == "CD" and at > name):
            pass
        elif token.text in _STARRING or (token.tag == "DT" and at > start):
            break
        elif token.tag.startswith(("NN", "JJ", "CD", "DT", "PRP$", "VBG", "POS")):
            name = -1
        else:
            break
        at += 1
    return at, name


def _with_year(tokens: tuple[Token, ...], start: int, at: int) -> int:
    """A year right before a name is part of it: "2001 Sundance Film Festival"."""
    year = at > start and tokens[at - 1].tag == "CD" and len(tokens[at - 1].text) == 4
    return at - 1 if year else at


def _name_goes_on(tokens: tuple[Token, ...], at: int) -> bool:
    """Is "of" (or the like) followed by more of the name? "and" only joins within titles, so it never does here."""
    if tokens[at].text in ("and", "on"):
        return False
    after = tokens[at + 1 : at + 3]
    return bool(after) and (is_name(after[0]) or (after[0].text == "the" and len(after) > 1 and is_name(after[1])))
