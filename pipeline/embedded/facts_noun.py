"""The noun of a passage's subject, from its opening sentence: "Survivor is an American rock band" → "rock band"."""

import re
from functools import lru_cache

from pipeline.embedded import lexicon
from pipeline.embedded.facts_subject import BE, Noun, phrase, plain, split, subject
from pipeline.text import Token

_ENDS_NOUN = frozenset("shot set based starring featuring produced directed aired held located".split())
_MISTAGGED = frozenset("console record match show film hit cover remake display".split())
_NEVER_HEADS = frozenset("acre mile km metre meter foot former th st nd rd seat then late retired double".split())
_SAYS_LITTLE_ALONE = frozenset("center centre area body place site location official coast".split())
""""The commercial center of the county": a city, as it happens."""
_TELLS_WHICH = frozenset("martial local".split())
"""Adjectives without which a noun means something else: a martial artist, a local government area."""
_LIKE_ADJECTIVES = frozenset(
    "retired computer-animated animated unincorporated listed planned abandoned fox-affiliated".split()
)


@lru_cache(maxsize=32768)
def definition(title: str, text: str) -> Noun | None:
    """The noun of "<title> is a <noun> ..."; none where the passage does not open so, or says nothing by it."""
    sentence = next(split(text), None)
    if not sentence:
        return None
    end = subject(sentence, text, title, None, opening=True).end
    tokens = sentence.tokens
    if not end:
        return None
    while end + 1 < len(tokens) and tokens[end + 1].tag == "RB" and tokens[end + 1].text != "one":
        end += 1
    determiner = tokens[end + 1].text.lower() if end + 2 < len(tokens) else ""
    if tokens[0].text and determiner in ("a", "an", "the") and any(t.text in BE for t in tokens[end - 1 : end + 1]):
        noun = _noun(tokens[end + 2 : noun_end(tokens, end + 2)], text, determiner)
        if noun:
            return noun
    return _named_so(title)


def _named_so(title: str) -> Noun | None:
    """The noun that a name ends in: "Holbrooke Hotel"."""
    head = plain(title).split(", ")[0].split()[-1:]
    last = head[0].lower() if head else ""
    if len(plain(title).split()) < 2 or last not in lexicon.KIND or lexicon.kind(last) in ("person", "work", "event"):
        return None
    return Noun(last, last, last, lexicon.kind(last), "a")


def noun_end(tokens: tuple[Token, ...], start: int) -> int:
    """Where the noun phrase that starts there ends; of coordinated people only the first counts."""
    head = 0
    for i in range(start, len(tokens)):
        token, after = tokens[i], tokens[i + 1] if i + 1 < len(tokens) else None
        after_tag = after.tag if after else ""
        county_seat = token.text == "seat" and i > start and tokens[i - 1].text == "county"
        if token.text.lower() in _NEVER_HEADS and not county_seat:
            continue
        if head and token.text in _ENDS_NOUN:
            break
        known = token.text.islower() and lexicon.kind(token.text) != lexicon.OTHER
        known = known and not (token.tag == after_tag == "JJ")  # "a major international airport"
        if token.tag.startswith("NN") or token.text in _MISTAGGED or (known and token.tag in ("VBG", "JJ", "VB")):
            head = i + 1
            if known and lexicon.kind(token.text) == lexicon.PERSON and after and not after.tag.startswith("NN"):
                break
        elif token.text == "," or token.tag == "CC":
            joins_adjectives = after is not None and (not head or _modifies(tokens, i + 1))
            if not joins_adjectives:
                break
        elif token.text == "of" and i > start and after and tokens[i - 1].text[0].isupper() and after.text[0].isupper():
            continue
        elif (
            not token.tag.startswith(("JJ", "CD", "VBG", "RB", "POS"))
            and token.text not in ("-", "/")
            and not _participle_before_noun(token, after)
        ):
            break
    return head or start


def _modifies(tokens: tuple[Token, ...], start: int) -> bool:
    """ "art and design school": is the word after the conjunction followed by one more noun?"""
    return (
        start + 1 < len(tokens)
        and tokens[start].text.islower()
        and tokens[start + 1].tag in ("NN", "NNS")
        and tokens[start].tag in ("NN", "JJ")
    )


def _participle_before_noun(token: Token, after: Token | None) -> bool:
    return (
        token.tag in ("VBN", "VBD")
        and after is not None
        and (after.tag in ("NN", "JJ") or token.text in _LIKE_ADJECTIVES or (after.tag == "NNS" and "-" in token.text))
    )


def _belongs(token: Token, head: str) -> bool:
    """Is it a part of the noun before that head? The language of a "Hindi language film" is not."""
    if token.text == "language" and lexicon.kind(head) == lexicon.WORK:
        return False
    if token.text == "metropolitan":
        return head == "area"
    common = token.tag == "NN" and token.text.islower() and token.text.isascii()
    return token.text in _TELLS_WHICH or (common and token.text not in _NEVER_HEADS)


def _noun(tokens: tuple[Token, ...], text: str, determiner: str) -> Noun | None:
    if not tokens or not re.fullmatch(r"[a-z][a-z\-]+", tokens[-1].text):
        return None
    head = tokens[-1].text
    if tokens[-1].tag == "NNS" and head not in lexicon.KIND:
        return None
    if (
        head in lexicon.VAGUE
        or (head.endswith("est") and lexicon.kind(head) == lexicon.OTHER)
        or head in ("'s", "km", "miles")
    ):
        return None
    first = len(tokens) - 1
    while first and len(tokens) - first < 4 and _belongs(tokens[first - 1], head):
        if text[: tokens[first - 1].start].rstrip()[-1:] in ("-", "'", "’", "&"):
            break  # "room" of "1,117-room", "roll" of "rock 'n' roll band"
        first -= 1
    if first == len(tokens) - 1:
        if head in _SAYS_LITTLE_ALONE:
            return None
        if head == "capital":
            return Noun("city", "capital city", "capital city", lexicon.PLACE, determiner)
    return Noun(head, phrase(tokens[first:], text), phrase(tokens, text), lexicon.kind(head), determiner)
