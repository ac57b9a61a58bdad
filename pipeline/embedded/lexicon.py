"""The generator's words: what sort of thing a noun names, the forms of verbs, and what is too common to ask about.

The nouns are the heads of first sentences in English Wikipedia, by frequency; verb forms beyond the irregular ones come
from the lexicon in TextBlob's wheel.
"""

import tomllib
from functools import cache, lru_cache
from importlib import resources
from typing import Any

PERSON, PLACE, GROUP, WORK, EVENT, OTHER = "person", "place", "group", "work", "event", "other"

WORDS: dict[str, Any] = tomllib.loads(resources.files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8"))


def listed(name: str) -> frozenset[str]:
    """One of the lists of words in `lexicon.toml`."""
    return frozenset(WORDS[name].split())


KIND: dict[str, str] = {noun: kind for kind, nouns in reversed(WORDS["nouns"].items()) for noun in nouns.split()}
_NOT_PEOPLE = listed("not_people")
SAME = tuple(frozenset(group.split()) for group in WORDS["same"])
"""Heads that "the ..." may use for one and the same thing within a passage."""
VAGUE = listed("vague")
"""Heads that do not say what the subject is."""
HUBS: frozenset[str] = frozenset(WORDS["hubs"])
"""Names that half of any encyclopaedia leads to: no link and no answer."""
_FORMS: list[tuple[str, ...]] = [tuple(forms.split()) for forms in WORDS["irregular"]]
_BASE = {form: forms[0] for forms in reversed(_FORMS) for form in forms} | {"found": "find", "founded": "found"}
_PRETERITE = {forms[2]: forms[1] for forms in _FORMS}
_BE = {"is": "is", "are": "is", "was": "was", "were": "was"}


@cache
def _lexicon() -> dict[str, str]:
    from textblob.en import lexicon

    return dict(lexicon)


_NO_E = tuple(f"{end}ed" for end in "nt nd st rt ct pt lt rd ld ss ch sh wn ck ll rm rk lk mp sk rn".split())
"""Before these no "e" was dropped: "presented" is no form of "presente", though the lexicon has that as well."""


@lru_cache(maxsize=4096)
def base(verb: str) -> str:
    """Infinitive of a preterite, participle or third person."""
    verb = verb.lower()
    if verb in _BASE:
        return _BASE[verb]
    if verb.startswith("co-"):
        return f"co-{base(verb.removeprefix('co-'))}"
    if verb in ("has", "does", "goes", "is", "are", "were"):
        return {"has": "have", "does": "do", "goes": "go"}.get(verb, "be")
    if verb.endswith(_NO_E) and verb[:-2] in _lexicon():
        return verb[:-2]
    for ending, other in (("ied", "y"), ("ies", "y"), ("ed", "e"), ("ed", ""), ("es", "e"), ("es", ""), ("s", "")):
        stem = verb.removesuffix(ending) + other
        if verb.endswith(ending) and stem in _lexicon():
            return stem
    if verb.endswith("ed") and len(verb) > 5 and verb[-3] == verb[-4]:
        return verb[:-3]
    return verb.removesuffix("ed") if verb.endswith("ed") else verb.removesuffix("s")


def preterite(participle: str) -> str:
    """ "written" → "wrote", "co-written" → "co-wrote"; regular participles are their own preterites."""
    verb = participle.lower().removeprefix("co-")
    return participle.lower()[: -len(verb)] + _PRETERITE.get(verb, verb)


def singular_be(word: str) -> str:
    return _BE.get(word.lower(), word.lower())


@lru_cache(maxsize=4096)
def kind(noun: str) -> str:
    """The coarse class of what a (lower-case) head noun names."""
    last = noun.lower().split("-")[-1] if noun.lower() not in KIND else noun.lower()
    if last in KIND:
        return KIND[last]
    if last in _NOT_PEOPLE:
        return OTHER
    return PERSON if last.endswith(("er", "or", "ist", "ian", "man", "woman", "ess")) and len(last) > 4 else OTHER


def same_thing(one: str, other: str) -> bool:
    """May the two head nouns stand for each other within one passage?"""
    return one == other or any(one in group and other in group for group in SAME)


def third_person(verb: str) -> str:
    """ "have" → "has", "carry" → "carries"."""
    first, _, rest = verb.partition(" ")
    if first == "have":
        first = "has"
    elif first.endswith("y") and first[-2:-1] not in "aeiou":
        first = f"{first[:-1]}ies"
    else:
        first = f"{first}{'es' if first.endswith(('s', 'sh', 'ch', 'x', 'o')) else 's'}"
    return f"{first} {rest}".strip()


def article(phrase: str) -> str:
    """`a` or `an`, by the first letter and the few words that sound otherwise."""
    word = phrase.lower().lstrip("\"'“‘")
    if word.startswith(("uni", "eu", "use", "usu", "one", "ut", "uk", "us ", "u.")) and not word.startswith(
        ("unin", "unim")
    ):
        return "a"
    if word.startswith(
        ("hour", "honor", "honour", "heir", "8", "11", "18", "mp", "nba", "nfl", "nhl", "fm", "ncaa", "mtv", "lp", "ep")
    ):
        return "an"
    return "an" if word[:1] in "aeiouáéíóäöü" else "a"
