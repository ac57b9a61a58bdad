"""Pairs with personal data or secrets: e-mail addresses, phone, card and account numbers, API keys.

The question, its answer and its quotes are looked at for all of these. What agents read on the way to them (by the
generator alone some two hundred passages, and a corpus of manuals names somebody on every tenth page) costs no pair:
unless the gate is off, the data set gives the kind of an address or key in its place, in whatever view. Addresses of
mailing lists and of roles (`postmaster@`) are nobody's.

Phone numbers are found with the code of their country, or as North America writes them; identity numbers as in the
United States. Blanks around what is found are not needed in scripts that write none.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from pipeline.config.gates import GateConfig
from pipeline.text import SINGLE
from pipeline.types import Draft, Record

# Where a word begins and ends, also between the characters of a script without blanks.
_B, _E = rf"(?<![^\W{SINGLE}])", rf"(?![^\W{SINGLE}])"
_MARKS = {
    "an e-mail address": ("@",),
    "a key": "sk- AKIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ xox AIza eyJ".split(),
    "a private key": ("-----BEGIN",),
}
"""What such a text must hold: observations are long, and to look for a word costs a hundredth of a pattern."""
_ANYWHERE = {
    "an e-mail address": re.compile(
        _B + rf"[^\W{SINGLE}](?:[.+-]|[^\W{SINGLE}])"
        r"{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63})*\.[a-z]{2,18}" + _E
    ),
    "a key": re.compile(
        _B + r"(?:sk-[\w-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|hf_[A-Za-z0-9]{30,}"
        r"|xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})"
    ),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?"),
}
_NOBODY = re.compile(
    r"\A(?:abuse|admin|contact|hostmaster|info|list|listmaster|noc|postmaster|root|sales|security|support|webmaster)@"
    r"|@(?:[\w-]+\.)*(?:lists?|bugs)\.",
    re.IGNORECASE,
)
"""Addresses of a role (RFC 2142), a mailing list or a bug tracker."""
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")
_IN_SHORT_TEXTS = {
    "a phone number": re.compile(
        _B + r"(?<![.,])"
        r"(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?(?:\d{2,4}[ .-]?){2,4}\d{2,4}"
        r"|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})" + _E
    ),
    "an account number": re.compile(_B + r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?" + _E),
    "a social security number": re.compile(_B + r"\d{3}-\d{2}-\d{4}" + _E),
}
_CARD = re.compile(r"(?<![\d.,-])(?:\d[ -]?){13,19}(?![\d-])")


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    quotes = [text for hop in draft.hops for text in (hop.sub_question, hop.answer, hop.quote)]
    short = "\n".join((draft.question, draft.answer, *draft.answer_aliases, *quotes))
    found = [*_found(short, _ANYWHERE), *_found(short, _IN_SHORT_TEXTS), *_cards(short)]
    return f"it holds {found[0]}" if found else ""


def public(record: Record) -> Record:
    """The record as it may be passed on: with the kind of each address and key in its place."""
    # Few records hold any, and to go through all parts of one takes as long as to write it.
    # An escape as JSON writes it (\n) ends in a letter, which would stand before the key that begins a line.
    if not any(_found(_ESCAPE.sub(" ", record.model_dump_json()), _ANYWHERE)):
        return record
    return Record.model_validate(_masked(record.model_dump(mode="json")))


def masked(text: str) -> str:
    """The text with the kind of each address and key in its place."""
    for kind in _found(text, _ANYWHERE):
        text = _ANYWHERE[kind].sub(partial(_instead, kind), text)
    return text


def _instead(kind: str, found: re.Match[str]) -> str:
    return found[0] if _NOBODY.search(found[0]) else f"[{kind}]"


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {name: _masked(part) for name, part in value.items()}
    return [_masked(part) for part in value] if isinstance(value, list) else value


def _found(text: str, patterns: dict[str, re.Pattern[str]]) -> Iterator[str]:
    return (
        kind
        for kind, pattern in patterns.items()
        if any(mark in text for mark in _MARKS.get(kind, [""]))
        and any(not _NOBODY.search(found[0]) for found in pattern.finditer(text))
    )


def _cards(text: str) -> Iterator[str]:
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdigit()]
        doubled = [sum(divmod(2 * d, 10)) if n % 2 else d for n, d in enumerate(reversed(digits))]
        if sum(doubled) % 10 == 0 and len(set(digits)) > 1:
            yield "a card number"
