"""The passage of one hop already gives the answer of the next."""

import re

from pipeline.agents.cited import start
from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.text import numbers
from pipeline.types import Cause

SMALL = 100
"""A number below it stands in many passages."""


async def co_located(case: Case) -> Found | None:
    """Two hops never cite one passage: `one_document` is fatal."""
    draft, hops, said = case.draft, [], []
    for i in range(1, len(draft.hops)):
        before = case.evidence[i - 1]
        if before is None or start(draft, i) == i or draft.hops[i].answer == draft.hops[i - 1].answer:
            continue  # each clue of a conjunction gives the same
        told = f"{before.title} {before.text}"
        wanted = [[form for name in names for form in _counted(name, draft.hops[i].quote)] for names in draft.wanted(i)]
        if all(any(mentions(told, form) for form in forms) for forms in wanted):
            hops.append(i)
            said.append(f"'{before.title}', the passage before, already names '{draft.hops[i].answer}'")
    return Found("; ".join(said), (*hops,)) if hops else None


def _counted(name: str, quote: str) -> list[str]:
    """The name; of a small bare number, which may stand anywhere for something else, with what it counts in the quote:
    "six companies"."""
    value = numbers(name)[:1]
    if not value or value[0].span != (0, len(name)) or value[0].value >= SMALL:
        return [name]
    return re.findall(rf"(?<![\w.,]){re.escape(name)}[ \xa0-][^\W\d_]+", quote, re.IGNORECASE)


CHECK = DraftCheck(Stage.SHORT, 3, Cause.CO_LOCATED, look=co_located)
