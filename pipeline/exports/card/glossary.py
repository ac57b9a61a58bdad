"""The meaning of every status, label, cause, reject reason, check and stop, in one sentence each.

The sentences are in `glossary.toml`; that of a gate or a check is the first line of its docstring. Report, card and
`digsite inspect` show them, and `python -m docs.write` makes docs/glossary.md from them.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path

from pipeline.gates import describe_gates
from pipeline.loop.checks.base import load_meanings
from pipeline.types import Reason, ReasonCode

_ALL: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
STATUSES, LABELS, CAUSES, REASONS, STOPS = (_ALL[kind] for kind in ("statuses", "labels", "causes", "reasons", "stops"))
TWINS = _ALL["twins"]
_HEAD = """# Glossary

`python -m docs.write` writes this page. The report, the card and `digsite inspect` use the same sentences.
"""


def checks() -> dict[str, str]:
    return {name: meaning.gloss for name, meaning in load_meanings().items()}


def gloss(reason: str) -> str:
    """Return the sentence for a status, reason or cause, or an empty text if it is unknown.

    Details after the code are ignored, as in `gate:leak: the question …` or `surplus: below_target`.
    """
    code = reason.partition(": ")[0]
    if (parsed := Reason.parse(code)).code == ReasonCode.GATE:
        return describe_gates().get(parsed.detail, "")
    # The order matters: some checks have the name of the cause that they report.
    tables = (REASONS, STATUSES, LABELS, CAUSES, checks(), STOPS)
    return next((sentences[code] for sentences in tables if code in sentences), "")


def page() -> str:
    """Return the text of docs/glossary.md."""
    tables = {
        "How a seed ends": STATUSES,
        "What the feedback says of a draft": LABELS,
        "Why a draft is sent back": CAUSES,
        "Other reasons of rejected and failed seeds": REASONS,
        "What the checks look for": checks(),
        "Why a try at a question without an answer is refused": TWINS,
        "What the gates drop": describe_gates(),
        "How an agent stops": STOPS,
    }
    parts = [_HEAD, _table("word", _ALL["words"].items())]
    for title, entries in tables.items():
        rows = ((f"`{code}`", meaning) for code, meaning in sorted(entries.items()))
        parts += [f"## {title}\n", _table("code", rows)]
    return "\n".join(parts)


def _table(head: str, rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join([f"| {head} | meaning |", "|---|---|", *(f"| {word} | {meaning} |" for word, meaning in rows), ""])
