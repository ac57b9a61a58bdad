"""Pairs with personal data or secrets: e-mail addresses, phone, card and account numbers, API keys.

The question, its answer and its quotes are looked at for all of these; the passages of the rollouts that would be
trained on and the distractors, which are long and full of figures, for addresses and keys alone. Addresses of
mailing lists and of roles (`postmaster@`) are nobody's. What else was read
on the way (by the generator, some two hundred passages) costs no pair: the view `records`, which ships it, gives the
kind of such a text in its place. Forks come after the gates and are not looked at.

Phone numbers are found with the code of their country, or as North America writes them; identity numbers as in the
United States. Blanks around what is found are not needed in scripts that write none.
"""

import re
from collections.abc import Iterator

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
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
    "an e-mail address": _B + rf"[^\W{SINGLE}](?:[.+-]|[^\W{SINGLE}])"
    r"{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63})*\.[a-z]{2,18}" + _E,
    "a key": _B + r"(?:sk-[\w-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|hf_[A-Za-z0-9]{30,}"
    r"|xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})",
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?",
}
_NOBODY = re.compile(
    r"(?:abuse|admin|contact|hostmaster|info|list|listmaster|noc|postmaster|root|sales|security|support|webmaster)@"
    r"|@(?:[\w-]+\.)*(?:lists?|bugs)\.",
    re.IGNORECASE,
)
"""Addresses of a role (RFC 2142), a mailing list or a bug tracker."""
_IN_SHORT_TEXTS = {
    "a phone number": _B + r"(?<![.,])"
    r"(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?(?:\d{2,4}[ .-]?){2,4}\d{2,4}"
    r"|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})" + _E,
    "an account number": _B + r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?" + _E,
    "a social security number": _B + r"\d{3}-\d{2}-\d{4}" + _E,
}
_CARD = re.compile(r"(?<![\d.,-])(?:\d[ -]?){13,19}(?![\d-])")


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    quotes = [text for hop in draft.hops for text in (hop.sub_question, hop.answer, hop.quote)]
    short = "\n".join((draft.question, draft.answer, *draft.answer_aliases, *quotes))
    found = [*_found(short, _ANYWHERE), *_found(short, _IN_SHORT_TEXTS), *_cards(short)]
    if not found:
        found = [kind for text in _observed(record, settings.policy) for kind in _found(text, _ANYWHERE)]
    return [GateResult(drop=f"it holds {found[0]}")] if found else []


def private(text: str) -> bool:
    """Does a long text hold an address or a key?"""
    return any(True for _ in _found(text, _ANYWHERE))


def masked(text: str) -> str:
    """The text with the kind of each address and key in its place."""
    for kind in _found(text, _ANYWHERE):
        text = re.sub(_ANYWHERE[kind], f"[{kind}]", text)
    return text


def _found(text: str, patterns: dict[str, str]) -> Iterator[str]:
    return (
        kind
        for kind, pattern in patterns.items()
        if any(mark in text for mark in _MARKS.get(kind, [""]))
        and any(not _NOBODY.search(found[0]) for found in re.finditer(pattern, text))
    )


def _cards(text: str) -> Iterator[str]:
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdigit()]
        doubled = [sum(divmod(2 * d, 10)) if n % 2 else d for n, d in enumerate(reversed(digits))]
        if sum(doubled) % 10 == 0 and len(set(digits)) > 1:
            yield "a card number"


def _observed(record: Record, policy: str) -> Iterator[str]:
    last, opposition = record.last, record.opposition
    measured = record.measurement(policy) if policy else None
    tried = measured.rollouts if measured else ()
    taught = [lesson.rollout for lesson in record.lessons]
    opposed = opposition.opposed if opposition else ()
    for distractor in opposition.used if opposition else ():
        yield f"{distractor.title}\n{distractor.text}"
    for rollout in (*record.confirmation, *(last.rollouts if last else ()), *taught, *opposed, *tried):
        yield "\n".join(message.content for message in rollout.trajectory.messages if message.role == "tool")
