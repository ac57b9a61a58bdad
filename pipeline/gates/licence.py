"""Pairs from texts whose licence forbids adaptations, or whose licences cannot be combined.

A licence is an SPDX expression. Questions are adaptations of their evidence, so `ND` forbids them; two share-alike
families cannot both be complied with, nor share-alike beside a licence that restricts more. An expression that cannot
be read counts as forbidding. An unknown licence passes, because a user's own texts have none; the card says so.
"""

import re

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.types import Draft, Record

_TERM = re.compile(r"[A-Za-z0-9.+-]+")
_OR, _AND = re.compile(r"(?<!\s)\s+OR\s+"), re.compile(r"(?<!\s)\s+AND\s+")
_COPYLEFT = re.compile(r"^(CC-BY-NC-SA|CC-BY-SA|GFDL|[AL]?GPL|ODbL)(?![A-Z0-9])", re.IGNORECASE)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    return conflict(record.lineage.licence)


def conflict(expression: str) -> str:
    """Return why questions about texts under this licence may not be published, or an empty string if they may."""
    if "(" in expression:
        return f"the licence '{expression}' cannot be read"
    if expression.strip().lower() in ("", "unknown"):
        return ""
    problems = [_problem(choice) for choice in _OR.split(expression.strip())]
    return "" if "" in problems else problems[0]


def share_alike(expression: str) -> bool:
    """Return whether every choice in the expression demands that adaptations have the same licence."""
    return all(any(map(_COPYLEFT.match, _AND.split(choice))) for choice in _OR.split(expression.strip()))


def _problem(choice: str) -> str:
    terms = _AND.split(choice)
    if not all(_TERM.fullmatch(term) for term in terms):
        return f"the licence '{choice}' cannot be read"
    for term in terms:
        if "ND" in term.upper().split("-"):
            return f"the licence {term} forbids adaptations"
    alike = {match[1].upper() for term in terms if (match := _COPYLEFT.match(term))}
    restricted = any("NC" in term.upper().split("-") for term in terms)
    if len(alike) > 1 or (restricted and alike - {"CC-BY-NC-SA"}):
        return f"the licences {' and '.join(terms)} contradict each other"
    return ""


GATE = Gate(check)
