"""What a passage is about: the noun that its first sentence gives its title, and which sentences have it as subject."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.text import Span, Token, sentences, tagged

BE = ("is", "was", "are", "were")
_NAMING = lexicon.listed("naming")
_STARS = ("stars", "features", "serves", "comprises", "contains", "borders", "hosts", "houses", "flows")
"""Verbs that the tagger takes for nouns after a noun."""
_OWN = {"person": ("his", "her"), "group": ("its", "their")}


class Noun(NamedTuple):
    """What the subject is: "film"; "drama film"; "2001 Canadian drama film"; the class of the head."""

    head: str
    phrase: str
    full: str
    kind: str
    article: str
    """Of the sentence: "a", "an" or "the"."""


class Subject(NamedTuple):
    """The first `end` tokens of a sentence; `of` is what the title owns there ("score" of "Its score was ...")."""

    end: int
    of: str = ""


class Sentence(NamedTuple):
    """A sentence without what stands in brackets. Offsets are those of the whole text."""

    span: Span
    tokens: tuple[Token, ...]


def plain(title: str) -> str:
    """The title without what distinguishes it from others of its name: "Survivor (band)" → "Survivor"."""
    return re.sub(r"\s*\([^()]*\)$", "", title)


def split(text: str) -> Iterator[Sentence]:
    """The sentences of a passage, tagged as they are taken."""
    for span in sentences(text):
        yield Sentence(span, _unbracketed(text, span))


@lru_cache(maxsize=8192)
def _unbracketed(text: str, span: Span) -> tuple[Token, ...]:
    kept, depth, start = [], 0, span.start
    for token in tagged(text[span.start : span.end]):
        if token.text in "([":
            depth += 1
        elif token.text in ")]":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(Token(token.text, token.tag, token.start + start, token.end + start))
    return tuple(kept)


def phrase(tokens: tuple[Token, ...], text: str) -> str:
    """The words of some tokens, spaced as in the text, without the brackets between them."""
    said = ""
    for before, token in zip((None, *tokens), tokens, strict=False):
        gap = " " if before and text[before.end : token.start] else ""
        said += gap + token.text
    return said


def is_name(token: Token) -> bool:
    return token.text[0].isupper() and token.tag.startswith(("NN", "JJ", "FW", "CD", "VB", "MD"))


_ALONE = lexicon.listed("never_passive")
_NAMING_VERBS = ("called", "named", "titled", "entitled", "dubbed", "nicknamed", "based", "located")


def finite(tokens: tuple[Token, ...], end: int) -> tuple[Token, ...]:
    """The tokens with the verb of the subject, which ends there, tagged as one. The tagger goes by the word alone:
    "directed" is a participle to it, "borders" are several, and they "compete" as if one wanted to."""
    at = next((i for i in range(end, len(tokens)) if tokens[i].tag != "RB"), len(tokens))
    if at + 1 >= len(tokens) or not tokens[at].text.islower():
        return tokens
    verb, before, after = tokens[at], tokens[0].text.lower(), tokens[at + 1]
    pronoun = end == 1 and before in ("he", "she", "it", "they")
    governs = after.tag in ("DT", "PRP$", "NNP", "NNPS") and verb.text not in _NAMING_VERBS
    if verb.tag == "VBN" and verb.text.endswith("ed"):
        active = pronoun or governs or lexicon.base(verb.text) in _ALONE
        tag = "VBD" if active else "VBN"
    elif verb.tag == "NNS" and (verb.text in _STARS or (pronoun and governs)):
        tag = "VBZ"
    elif verb.tag == "VB" and before == "they":
        tag = "VBP"
    else:
        return tokens
    return (*tokens[:at], verb._replace(tag=tag), *tokens[at + 1 :])


def subject(sentence: Sentence, text: str, title: str, noun: Noun | None, *, opening: bool = False) -> Subject:
    """What of the sentence is its subject, if that is what the passage is about or something of its own; else end 0."""
    tokens = sentence.tokens
    if not tokens:
        return Subject(0)
    if noun and tokens[0].text.lower() in _OWN.get(noun.kind, ("its",)):
        return _owned(tokens, text, 1)
    end = _pronoun(tokens, noun) or _described(tokens, noun) or _named(tokens, text, title, noun, opening)
    if end and end < len(tokens) and tokens[end].tag == "POS" and not opening:
        return _owned(tokens, text, end + 1)
    owner = _possessive(tokens, noun)
    if owner:
        return _owned(tokens, text, owner)
    return Subject(_past_naming(tokens, end, opening)) if end else Subject(0)


def _owned(tokens: tuple[Token, ...], text: str, start: int) -> Subject:
    """ "Its county seat is ...": common nouns, then a verb."""
    end = start
    while (
        end < len(tokens)
        and tokens[end].tag.startswith(("NN", "JJ", "CC"))
        and tokens[end].text.islower()
        and end < start + 5
    ):
        end += 1
    verb = tokens[end] if end < len(tokens) else None
    plain_noun = end > start and tokens[end - 1].tag in ("NN", "NNS")
    if not plain_noun or verb is None or verb.text not in (*BE, "has", "had", "include", "includes", "included"):
        return Subject(0)
    return Subject(end, phrase(tokens[start:end], text))


def _possessive(tokens: tuple[Token, ...], noun: Noun | None) -> int:
    """ "The film's" as the tagger leaves it: one token with its apostrophe."""
    if noun and tokens[0].text == "The" and len(tokens) > 2 and tokens[1].text.endswith(("'s", "’s")):
        return 2 if lexicon.same_thing(tokens[1].text[:-2], noun.head) else 0
    return 0


def _pronoun(tokens: tuple[Token, ...], noun: Noun | None) -> int:
    kind = noun.kind if noun else ""
    wanted = {"he": "person", "she": "person", "they": "group"}.get(tokens[0].text.lower())
    if wanted:
        return int(kind == wanted)
    return int(tokens[0].text == "It" and kind not in ("", "person"))


def _described(tokens: tuple[Token, ...], noun: Noun | None) -> int:
    """ "The film", "The English band" """
    if not noun or tokens[0].text not in ("The", "This"):
        return 0
    end = 1
    while end < len(tokens) and tokens[end].tag.startswith(("JJ", "NN", "CD")) and end < 5:
        end += 1
        following = tokens[end] if end < len(tokens) else None
        head = tokens[end - 1].text
        verb = following is not None and (following.tag.startswith(("VB", "MD", "RB")) or following.text in _STARS)
        if verb and head.islower() and lexicon.same_thing(head, noun.head):
            return end if not any(t.tag == "NNP" for t in tokens[1:end]) else 0
    return 0


_GOES_ON = ("POS", "NNP", "NN", "NNS")


def _named(tokens: tuple[Token, ...], text: str, title: str, noun: Noun | None, opening: bool) -> int:
    name = plain(title).lower()
    start = int(tokens[0].text == "The" and not name.startswith("the "))
    if start and noun and noun.kind == lexicon.PERSON:
        return 0  # what is named after someone
    end = _literal(tokens, text, name, start) or _literal(tokens, text, name.split(", ")[0], start)
    if not end and (opening or (noun and noun.kind == "person")):
        end = _surname(tokens, name, opening)
    if not end and opening:
        end = _other_spelling(tokens, text, name)
    if not end:
        return 0
    while opening and end < len(tokens) and (is_name(tokens[end]) or tokens[end].text in ("of", "&")):
        end += 1
    after = tokens[end] if end < len(tokens) else None
    if after and after.text not in _STARS and (after.tag in _GOES_ON or after.text in ("'", "'s", "-")):
        return 0
    return end


def _literal(tokens: tuple[Token, ...], text: str, name: str, start: int) -> int:
    if start >= len(tokens) or not text[tokens[start].start :].lower().startswith(name):
        return 0
    stop = tokens[start].start + len(name)
    end = next((i for i, t in enumerate(tokens) if t.start >= stop), len(tokens))
    return end if end and tokens[end - 1].end == stop else 0


def _surname(tokens: tuple[Token, ...], name: str, opening: bool) -> int:
    """A person's full name in the first sentence, or the surname alone later on."""
    run = 0
    while run < len(tokens) and (is_name(tokens[run]) or tokens[run].text.lower() in ("de", "von", "van", ".")):
        run += 1
    last = name.split()[-1] if name.split() else ""
    said = [token.text.lower() for token in tokens[:run]]
    if not run or last not in said:
        return 0
    return run if opening or (run == 1 and " " in name) else 0


def _other_spelling(tokens: tuple[Token, ...], text: str, name: str) -> int:
    """The opening names it in another way ("Richard Samuel Attenborough, Baron Attenborough, was"): the place
    of the verb, if what stands before it is a name that shares a word with the title or is spelt much like it."""
    verb = next((i for i, t in enumerate(tokens[:26]) if t.text in BE), 0)
    run = next((i for i, t in enumerate(tokens[: verb + 1]) if t.text in (*BE, ",")), 0)
    if (
        not run
        or not (is_name(tokens[0]) or tokens[0].text == "The")
        or any(t.tag in ("VBZ", "MD") for t in tokens[:verb])
    ):
        return 0
    said = text[tokens[0].start : tokens[verb - 1].end].lower()
    shared = set(re.findall(r"\w{3,}", name)) & set(re.findall(r"\w{3,}", said)) - {"the", "and", "for"}
    alike = SequenceMatcher(None, text[tokens[0].start : tokens[run - 1].end].lower(), name).ratio() > 0.75
    return verb if shared or alike else 0


def _past_naming(tokens: tuple[Token, ...], end: int, opening: bool) -> int:
    """Skips ", also known as Al-Ahli Wad Medani,"; in the opening, whatever stands before its "is"."""
    if end >= len(tokens) or tokens[end].text in BE:
        return end
    insert = tokens[end].text in (",", ".") or tokens[end].text in _NAMING
    if not insert:
        return end
    for i in range(end, min(len(tokens), end + 20)):
        word, before = tokens[i].text, tokens[i - 1].text
        if word in BE and (opening or before == ","):
            return i
        if not opening and before == "," and i > end + 1 and tokens[i].tag in ("VBD", "VBZ"):
            return i
    return 0 if tokens[end].text == "," else end
