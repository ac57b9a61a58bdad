"""What a run was charged, as command line, card and page show it: by role, by round and for one accepted pair.

These are the attempts' own figures, of interrupted ones too: seconds and money are outside the promise of equal bytes.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pipeline.llm.ledger import Spending, Spent
from pipeline.report.tally import ROLES

HEADS = ("", "calls", "from cache", "prompt tokens", "cached", "completion tokens", "reasoning", "seconds", "money")
NAMES = {asked: role for role, names in ROLES.items() for asked in names}
"""The ledger goes by the tool or schema that is asked for."""
Row = tuple[str, ...]


def rows(spending: Spending, pairs: int) -> list[Row]:
    """One row for each role, for each stage and for all, then what one of so many accepted pairs took.

    `from cache` are calls that cost nothing; `cached` is the share of the prompt tokens that the server had read.
    """
    total = spending.total
    return [
        *(_row(role, spent) for role, spent in _roles(spending).items()),
        *(_row(stage, spent) for stage, spent in spending.stages.items()),
        _row("all", total),
        *_per_pair(total, pairs),
    ]


def tree(spending: Spending, pairs: int) -> dict[str, Any]:
    """The same as JSON; `per_pair` is null without an accepted pair, and its money where a price is not known."""
    total = spending.total
    known = None if total.money is None else total.money / max(1, pairs)
    usage = {name: count / max(1, pairs) for name, count in asdict(total.paid).items()}
    return {
        "roles": {role: spent.model_dump() for role, spent in _roles(spending).items()},
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


def _roles(spending: Spending) -> dict[str, Spent]:
    total: dict[str, Spent] = {}
    for asked, spent in spending.roles.items():
        role = NAMES.get(asked, asked)
        total[role] = total.get(role, Spent()) + spent
    return total


def _row(name: str, spent: Spent) -> Row:
    paid = spent.paid
    counts = (paid.prompt_tokens, paid.completion_tokens, paid.reasoning_tokens)
    prompt, completion, reasoning = (f"{count:,}" for count in counts)
    ends = (completion, reasoning, f"{spent.seconds:,.1f}", money(spent.money))
    return (name, f"{paid.calls:,}", f"{spent.cached.calls:,}", prompt, share(spent), *ends)


def _per_pair(total: Spent, pairs: int) -> Iterator[Row]:
    if not pairs:
        return
    paid = total.paid
    counts = (paid.completion_tokens, paid.reasoning_tokens)
    completion, reasoning = (f"{count / pairs:,.0f}" for count in counts)
    cost = money(None if total.money is None else total.money / pairs)
    first = ("per accepted pair", f"{paid.calls / pairs:,.1f}", f"{total.cached.calls / pairs:,.1f}")
    ends = (completion, reasoning, f"{total.seconds / pairs:,.1f}", cost)
    yield (*first, f"{paid.prompt_tokens / pairs:,.0f}", share(total), *ends)
