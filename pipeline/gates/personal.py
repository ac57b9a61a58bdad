"""Pairs with personal data or secrets: e-mail addresses, phone, card and account numbers, API keys.

The gate checks the question, its answer and its quotes for all of these. Passages that agents read on the way do not
drop a pair: the generator alone reads about two hundred, and a corpus of manuals names somebody on every tenth page.
Unless the gate is off, all views replace each address or key in them by its kind. Addresses of mailing lists and of
roles (`postmaster@`) are not personal.

Phone numbers are recognised with a country code or in North American form; identity numbers in the form of the United
States. Scripts without blanks need none around an address or number.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.text import SINGLE
from pipeline.types import Draft, Record

# Word boundaries, which also match between the characters of a script without blanks.
_B, _E = rf"(?<![^\W{SINGLE}])", rf"(?![^\W{SINGLE}])"
_MARKS = {
    "an e-mail address": ("@",),
    "a key": "sk- AKIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ xox AIza eyJ".split(),
    "a private key": ("-----BEGIN",),
}
"""A text without these marks cannot match. Observations are long, and a substring search costs a hundredth of a
regular expression."""
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
    kinds = [*_find_kinds(short, _ANYWHERE), *_find_kinds(short, _IN_SHORT_TEXTS), *_find_cards(short)]
    return f"it holds {kinds[0]}" if kinds else ""


def mask_record(record: Record) -> Record:
    # Few records have one, and walking through all parts of a record takes as long as writing it.
    # A JSON escape (\n) ends in a letter, which would hide a key at the beginning of a line.
    if not any(_find_kinds(_ESCAPE.sub(" ", record.model_dump_json()), _ANYWHERE)):
        return record
    return Record.model_validate(_mask_value(record.model_dump(mode="json")))


def mask_text(text: str) -> str:
    """Return the text with every address and key replaced by its kind."""
    for kind in _find_kinds(text, _ANYWHERE):
        text = _ANYWHERE[kind].sub(partial(_mask_match, kind), text)
    return text


def _mask_match(kind: str, match: re.Match[str]) -> str:
    return match[0] if _NOBODY.search(match[0]) else f"[{kind}]"


def _mask_value(value: Any) -> Any:
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, dict):
        return {name: _mask_value(part) for name, part in value.items()}
    return [_mask_value(part) for part in value] if isinstance(value, list) else value


def _find_kinds(text: str, patterns: dict[str, re.Pattern[str]]) -> Iterator[str]:
    return (
        kind
        for kind, pattern in patterns.items()
        if any(mark in text for mark in _MARKS.get(kind, [""]))
        and any(not _NOBODY.search(match[0]) for match in pattern.finditer(text))
    )


def _find_cards(text: str) -> Iterator[str]:
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdigit()]
        doubled = [sum(divmod(2 * d, 10)) if n % 2 else d for n, d in enumerate(reversed(digits))]
        if sum(doubled) % 10 == 0 and len(set(digits)) > 1:
            yield "a card number"


GATE = Gate(check)
