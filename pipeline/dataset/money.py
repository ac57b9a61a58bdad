"""What a run was charged, as command line, card and page show it: by role, by round and for one accepted pair.

These are the attempts' own figures, of interrupted ones too: seconds and money are outside the promise of equal bytes.
"""

from dataclasses import asdict
from typing import Any

from pipeline.dataset.figures import by_role
from pipeline.llm.ledger import Spending, Spent

HEADS = ("", "calls", "from cache", "prompt tokens", "cached", "completion tokens", "reasoning", "seconds", "money")
Row = tuple[str, ...]


def rows(spending: Spending, pairs: int) -> list[Row]:
    """One row for each role, for each stage and for all, then what one of so many accepted pairs took.

    `from cache` are calls that cost nothing; `cached` is the share of the prompt tokens that the server had read.
    """
    total = spending.total
    return [
        *(_row(role, spent) for role, spent in by_role(spending).items()),
        *(_row(stage, spent) for stage, spent in spending.stages.items()),
        _row("all", total),
        *([_row("per accepted pair", total, pairs)] if pairs else []),
    ]


def tree(spending: Spending, pairs: int) -> dict[str, Any]:
    """The same as JSON; `per_pair` is null without an accepted pair, and its money where a price is not known."""
    total = spending.total
    known = None if total.money is None else total.money / max(1, pairs)
    usage = {name: count / max(1, pairs) for name, count in asdict(total.paid).items()}
    return {
        "roles": {role: spent.model_dump() for role, spent in by_role(spending).items()},
        "stages": {stage: spent.model_dump() for stage, spent in spending.stages.items()},
        "total": total.model_dump(),
        "per_pair": {**usage, "seconds": total.seconds / pairs, "money": known} if pairs else None,
    }


def money(amount: float | None) -> str:
    """Two places, or four digits where it is less than one; `unknown` where a price is."""
    if amount is None:
        return "unknown"
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4g}"


def share(spent: Spent) -> str:
    """Of the prompt tokens that were paid for, those that the server had cached."""
    prompt = spent.paid.prompt_tokens
    return f"{spent.paid.cached_tokens / prompt:.0%}" if prompt else "–"


def _row(name: str, spent: Spent, pairs: int = 0) -> Row:
    """Of all of it, or of one pair where so many share it."""

    def each(amount: float, digits: int = 0) -> str:
        return f"{amount / (pairs or 1):,.{digits}f}"

    paid, digits = spent.paid, 1 if pairs else 0
    calls, cached = each(paid.calls, digits), each(spent.cached.calls, digits)
    ends = (each(paid.completion_tokens), each(paid.reasoning_tokens), each(spent.seconds, 1))
    cost = None if spent.money is None else spent.money / (pairs or 1)
    return (name, calls, cached, each(paid.prompt_tokens), share(spent), *ends, money(cost))
