"""Facts into English: statements, descriptions and questions that keep each sentence's own voice, tense and article.

A chain becomes one right-branching sentence ("X was born in a town that is located in a county that was named after a
man") and a question about the last thing named ("In what year was that man born?"), so that any depth stays readable.
"""

import re
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts_clause import Verb
from pipeline.embedded.facts_subject import Noun, plain

_PLACING = ("in", "at", "near", "on", "within", "from")


class Thing(NamedTuple):
    """Something that a question speaks of: its name, its noun, and whether "the" goes before the name."""

    title: str
    noun: Noun
    the: bool = False

    @property
    def who(self) -> str:
        return "who" if self.noun.kind == lexicon.PERSON else "that"


def name(thing: Thing, *, typed: bool = False) -> str:
    """The name within a sentence, with its noun where the name alone may mislead."""
    bare = plain(thing.title)
    told = {word.lower() for word in re.findall(r"\w+", bare)}
    if (typed or bare != thing.title) and thing.noun.head not in told and not thing.the:
        return f"the {thing.noun.phrase} {bare}"
    return f"the {bare}" if thing.the and not bare.startswith("The ") else bare


def start(text: str) -> str:
    return text[:1].upper() + text[1:]


def article(phrase: str) -> str:
    return f"{lexicon.article(phrase)} {phrase}"


def said(fact: Fact) -> str:
    """Verb and middle in the singular, as they follow their subject."""
    verb = fact.verb.text
    if fact.verb.tense == "plural" and not fact.of:
        verb = lexicon.third_person(verb)
    if _plural(fact.of) and fact.verb.auxiliary in ("is", "was"):
        verb = verb.replace("is", "are", 1).replace("was", "were", 1)
    return f"{verb} {fact.middle}".strip()


def _plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith(("us", "ss", "is")) or " and " in noun


def statement(subject: str, fact: Fact) -> str:
    """ "<subject> was directed by", to be followed by a description of the object."""
    owner = owned(subject, fact.of)
    return f"{owner} {said(fact)}"


def restatement(subject: str, fact: Fact) -> str:
    """The same of something whose noun was stated: "that school is located in", not "that school is a school in"."""
    determiner, *_, preposition = fact.middle.split() if len(fact.middle.split()) > 1 else ("", "")
    if plays_in(fact):
        return f"{subject} plays in"
    if fact.form == "definition" and determiner in ("a", "an") and (preposition == "by" or sited(fact)):
        return f"{subject} {fact.verb.auxiliary} {'' if preposition == 'by' else 'located '}{preposition}"
    return statement(subject, fact)


def owned(owner: str, what: str) -> str:
    """ "that studio's headquarters"; "the headquarters of the studio that ..."."""
    if not what:
        return owner
    if len(owner.split()) > 4 and owner.startswith("the "):
        return f"the {what} of {owner}"
    return f"{owner}' {what}" if owner.endswith("s") and not owner.endswith("ess") else f"{owner}'s {what}"


def described(thing: Thing, fact: Fact, clue: str = "") -> str:
    """A description of the thing by its fact, to be followed by one of the object; `clue` singles it out."""
    if fact.form == "definition" and not fact.of and not clue:
        return fact.middle
    noun = article(thing.noun.phrase)
    if clue:
        place = fact.middle.split()[-1] if fact.form == "definition" and fact.middle.split()[-1] in _PLACING else ""
        return f"{clue} {place or _relative(thing, fact)}"
    if fact.form == "reduced" and fact.verb.passive:
        return f"{noun} {fact.verb.rest} {fact.middle}"
    return f"{noun} {_relative(thing, fact)}"


def _relative(thing: Thing, fact: Fact) -> str:
    return f"whose {fact.of} {said(fact)}" if fact.of else f"{thing.who} {said(fact)}"


def ask_date(subject: str, fact: Fact, pick: int) -> str:
    opening = {
        "day": ("On what date", "On which date", "On what day"),
        "month": ("In what month and year", "In which month of which year", "In which month and year"),
        "year": ("In what year", "In which year", "In what year"),
    }[fact.precision][pick % 3]
    return f"{opening} {inverted(subject, fact)}?"


def agreeing(fact: Fact, thing: Thing) -> Fact:
    """Of a team by its plural name: "the Dallas Cowboys are based"; a description of it stays singular."""
    title, verb = plain(thing.title), fact.verb
    if thing.noun.head not in _MANY or not _plural(title) or fact.of:
        return fact
    first, _, more = verb.auxiliary.partition(" ")
    auxiliary = f"{ {'is': 'are', 'was': 'were', 'has': 'have'}.get(first, first) } {more}".strip()
    *before, main = verb.rest.split() or [""]
    if not auxiliary and verb.tense == "present":
        main = lexicon.base(main)
    tense = "present" if verb.tense == "plural" else verb.tense  # "they play" stays as it is
    verb = verb._replace(auxiliary=auxiliary, rest=" ".join([*before, main]).strip(), tense=tense)
    return fact._replace(verb=verb, middle=re.sub(r"\bits\b", "their", fact.middle))


_MANY = frozenset("team club franchise band group duo trio side".split())


def inverted(subject: str, fact: Fact, middle: str | None = None) -> str:
    """ "was that film released"; "did that station open"."""
    owner = owned(subject, fact.of)
    middle = fact.middle if middle is None else middle
    verb = fact.verb
    if verb.auxiliary:
        first, _, more = verb.auxiliary.partition(" ")
        if _plural(fact.of):
            first = {"is": "are", "was": "were"}.get(first, first)
        words = [first, owner, more, verb.rest, middle]
    else:
        helper = "did" if verb.tense == "past" else "does"
        *before, main = verb.rest.split()
        words = [helper, owner, *before, lexicon.base(main), middle]
    return " ".join(word for word in words if word)


def ask_entity(subject: str, fact: Fact, sort: str, kind: str) -> str:
    """A question for the fact's object; `sort` is the noun of the object, or nothing where only its kind is known."""
    words = fact.middle.split()
    preposition = words[-1] if words else ""
    which = f"which {sort}" if sort else "whom" if kind == lexicon.PERSON else "what"
    if fact.form == "definition":
        return _ask_definition(subject, fact, which, preposition)
    long = len(words) > (2 if preposition in ("of", "by") else 5)
    if (fact.of and not fact.verb.passive) or long or fact.verb.main == "be":
        return f"{start(statement(subject, fact))} {which}?"
    if not words:
        lead = start(which) if sort else "Who" if kind == lexicon.PERSON else "What"
        return f"{lead} {inverted(subject, fact)}?"
    if not sort and kind == lexicon.PLACE and preposition in ("in", "at"):
        return f"Where {inverted(subject, fact, ' '.join(words[:-1]))}?"
    if words == ["by"] and fact.verb.passive and fact.verb.tense == "past" and (sort or kind == lexicon.PERSON):
        return f"{start(which) if sort else 'Who'} {_active(fact.verb)} {owned(subject, fact.of)}?"
    led = 2 if words[-2:] == ["out", "of"] else 1
    return f"{start(' '.join(words[-led:]))} {which} {inverted(subject, fact, ' '.join(words[:-led]))}?"


def _active(verb: Verb) -> str:
    """ "written and directed" → "wrote and directed"."""
    return " ".join(lexicon.preterite(word) for word in verb.rest.split())


def _ask_definition(subject: str, fact: Fact, which: str, preposition: str) -> str:
    indefinite = fact.middle.split()[0] in ("a", "an")
    if which == "what" and indefinite and sited(fact):
        return f"Where {fact.verb.auxiliary} {subject} located?"
    made = _MADE.get(fact.middle.split()[-2]) if indefinite and preposition == "by" else None
    if made and which != "what":
        return f"{'Who' if which == 'whom' else start(which)} {made} {subject}?"
    if plays_in(fact):
        return f"In {which} does {subject} play?"
    if indefinite and sited(fact):
        return f"{start(preposition)} {which} {fact.verb.auxiliary} {subject} located?"
    return f"{start(subject)} {fact.verb.auxiliary} {fact.middle} {which}?"


def ask_number(subject: str, fact: Fact) -> str:
    after = f" {fact.after}" if fact.after else ""
    if fact.hint == "measure":
        be = "was" if fact.verb.tense == "past" else "is"
        asked = f"what {be} the {fact.tail} of {owned(subject, fact.of)}?"
        return f"{start(fact.after)}, {asked}" if fact.after else start(asked)
    part = after.startswith(" of ")
    if fact.verb.passive and fact.middle.split()[-1:] == ["by"]:
        doing = inverted(subject, fact, fact.middle.removesuffix("by").strip())
        return f"By how many {fact.tail}{after * part} {doing}{after * (not part)}?"
    return f"How many {fact.tail}{after * part} {inverted(subject, fact)}{after * (not part)}?"


_MADE = {
    **dict.fromkeys(("album", "song", "single", "ep", "soundtrack", "mixtape", "compilation", "track"), "released"),
    **dict.fromkeys(("novel", "book", "play", "poem", "musical", "story", "trilogy", "opera"), "wrote"),
    **dict.fromkeys(("film", "documentary", "movie"), "made"),
}


class Inversion(NamedTuple):
    """How the object of a fact is described by its subject: `before` and `after` go round one of the subject."""

    before: str
    after: str = ""


def inverse(fact: Fact, noun: Noun, kind: str, *, also: bool) -> Inversion | None:
    """ "was written and directed by" → "who also wrote and directed ..."; "is based in" → "in which ... is based"."""
    who = "who" if kind == lexicon.PERSON else "that"
    too = "also " if also else ""
    if fact.of or fact.named:
        return None
    if fact.verb.main in ("star", "feature") and _MADE.get(noun.head, "made") != "made":
        return None  # nobody stars in a song
    if fact.verb.main == "be" and fact.form != "definition":
        return None
    maker = kind in (lexicon.PERSON, lexicon.GROUP)
    if fact.form == "definition":
        if fact.middle.endswith(" by") and noun.head in _MADE and maker:
            return Inversion(f"{who} {too}{_MADE[noun.head]}")
        return _placed(fact, kind) if noun.kind != lexicon.PERSON else None
    if fact.verb.main in ("star", "feature") and not fact.verb.auxiliary and not fact.middle and kind == lexicon.PERSON:
        return Inversion(f"{who} {too}starred in")
    if fact.middle == "by" and fact.verb.passive:
        return Inversion(f"{who} {too}{_active(fact.verb)}") if maker and fact.verb.tense == "past" else None
    return _piped(fact, kind)


def plays_in(fact: Fact) -> bool:
    """Is it "a team in the ... league", which is not located there?"""
    words = fact.middle.split()
    return fact.form == "definition" and words[-1:] == ["in"] and words[-2] in ("team", "club", "side", "franchise")


def sited(fact: Fact) -> bool:
    """Is it "a museum in ...", which is located there, as no character is in a film?"""
    _, *nouns, preposition = fact.middle.split() if len(fact.middle.split()) > 2 else ("", "", "")
    where = (lexicon.PLACE, lexicon.GROUP, lexicon.EVENT)
    return preposition in ("in", "at", "near") and lexicon.kind(nouns[-1]) in where


def _placed(fact: Fact, kind: str) -> Inversion | None:
    """ "is a football club in" → "in which ... is located"; "is the birthplace of" a singer → "whose birthplace is"."""
    determiner, *words = fact.middle.split()
    if plays_in(fact):
        return Inversion("in which", "play" if fact.verb.auxiliary == "are" else "plays")
    if words[-1] in ("in", "at", "near") and determiner in ("a", "an"):
        return Inversion(f"{words[-1]} which", f"{fact.verb.auxiliary} located") if sited(fact) else None
    if words[-1] != "of" or len(words) > 4 or determiner != "the":
        return None
    what = " ".join(words[:-1])
    if kind == lexicon.PERSON:
        return Inversion(f"whose {what} {fact.verb.auxiliary}")
    return Inversion("of which", f"{fact.verb.auxiliary} the {what}")


def _piped(fact: Fact, kind: str) -> Inversion | None:
    words = fact.middle.split()
    if not words or len(words) > 4 or words[-1] not in _PIPED:
        return None
    if words[-1] in ("by", "of") and len(words) > 1:
        return None  # "of which he serves as the president"
    if fact.verb.main in ("star", "feature") or (fact.verb.main == "base" and kind == lexicon.PERSON):
        return None  # "an ensemble cast of" him; based on what he made
    which = "whom" if kind == lexicon.PERSON else "which"
    rest = " ".join([fact.verb.text, *words[:-1]])
    return Inversion(f"{words[-1]} {which}", rest) if fact.verb.tense != "plural" else None


_PIPED = frozenset("in at on for with by to from after near against into of".split())


def nested(inner: str, fact: Fact, subject: Noun, thing: str, kind: str) -> str:
    """ "the <thing> in which <inner> is located"; nothing where English is unsure."""
    turn = inverse(fact, subject, kind, also=False)
    return " ".join(part for part in ("the", thing, turn.before, inner, turn.after) if part) if turn else ""
