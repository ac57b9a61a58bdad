"""Who made a thing, said by one noun: "the director of Jaws", as people ask, not "the director who directed Jaws"."""

from pipeline.embedded import lexicon
from pipeline.embedded.fact import Fact
from pipeline.embedded.facts_subject import Noun

_PEOPLE: dict[str, str] = lexicon.WORDS["makers"]
_GROUPS = {"developed": "developer", "published": "publisher", "distributed": "distributor"}
_OF_A_SONG = {"with lyrics by": "lyricist", "with music by": "composer"}
_WRITTEN = frozenset("novel book play poem trilogy story novella memoir autobiography biography musical essay".split())


def agent_noun(fact: Fact, made: Noun, maker: str) -> str:
    """The noun of who did what the fact says of `made`; nothing where several did it, or English has no such word.

    `maker` is the head of the noun that is known of them.
    """
    kind = lexicon.kind(maker)
    if fact.shared:
        return ""
    if fact.of:
        return "screenwriter" if fact.of == "screenplay" and fact.middle == "by" and kind == lexicon.PERSON else ""
    if fact.form == "definition":
        by = fact.middle.endswith(f" {made.head} by") and made.head in _WRITTEN
        return "author" if by and kind == lexicon.PERSON else ""
    if fact.verb.rest == "written" and fact.middle in _OF_A_SONG and kind == lexicon.PERSON:
        return _OF_A_SONG[fact.middle]
    if fact.middle != "by" or not fact.verb.passive:
        return ""
    if kind == lexicon.GROUP:
        return _GROUPS.get(fact.verb.rest, "")
    if kind != lexicon.PERSON:
        return ""
    if fact.verb.rest == "written" and made.head in _WRITTEN:
        return "author"
    return "architect" if (fact.verb.rest, maker) == ("designed", "architect") else _PEOPLE.get(fact.verb.rest, "")
