"""The cost of a run that command line, card and report show: by role, by round and per accepted pair.

It is the cost of all attempts, including rejected seeds and interrupted attempts. Seconds and money are not part of the
promise of equal bytes. Prompt tokens are *computed*, or *cached* in the prefix cache of the server; both are billed.
Calls that Digsite's own cache answered were not sent and are counted apart. Completion tokens include thinking.
"""

from typing import Any

from pipeline.analysis.figures import by_role
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Usage

HEADS = (
    "", "calls", "failed tries", "computed prompt", "cached prompt", "completion", "of it thinking", "money",
    "calls from Digsite cache",
)  # fmt: skip
ABOUT = "≈"
"""Mark before estimated prompt tokens."""
ESTIMATED = (
    f"{ABOUT}: a server reports no cached tokens. They are estimated from the prefix that a request shares with the "
    "previous one of its conversation, and cost as much as computed tokens."
)
Row = tuple[str, ...]
_MILLION = 1_000_000


def rows(spending: Spending, pairs: int) -> list[Row]:
    """Return a row per role and per stage, a row for all, and a row per accepted pair if `pairs` is not 0."""
    total = spending.total
    return [
        *(_row(role, spent) for role, spent in by_role(spending).items()),
        *(_row(stage, spent) for stage, spent in spending.stages.items()),
        _row("all", total),
        *([_row("per accepted pair", total, pairs)] if pairs else []),
    ]


def tree(spending: Spending, pairs: int) -> dict[str, Any]:
    """Return the costs as JSON, also by model.

    `per_pair` is null without an accepted pair; money is null if a price is unknown.
    """
    total = spending.total
    return {
        "roles": {role: _amounts(spent) for role, spent in by_role(spending).items()},
        "stages": {stage: _amounts(spent) for stage, spent in spending.stages.items()},
        "models": {model: _amounts(spent) for model, spent in spending.by_model.items()},
        "total": _amounts(total),
        "per_pair": _amounts(total, pairs) if pairs else None,
    }


def money(amount: float | None) -> str:
    """Format an amount with two decimals, or with four digits if it is below 1. None is `unknown`."""
    if amount is None:
        return "unknown"
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4g}"


def about(usage: Usage) -> str:
    """Return the mark of estimated prompt tokens, or an empty text if the usage has none."""
    return ABOUT if usage.estimated_cached_tokens else ""


def notes(spending: Spending) -> list[str]:
    return [ESTIMATED] if about(spending.total.paid) else []


def _amounts(spent: Spent, pairs: int = 1) -> dict[str, float | None]:
    """Return the amounts, divided by `pairs`. Only the last one includes calls that Digsite's cache answered."""
    paid = spent.paid
    amounts: dict[str, float | None] = {
        "calls": paid.calls,
        "failed_tries": spent.errors,
        "computed_prompt_tokens": paid.computed_tokens,
        "cached_prompt_tokens": paid.cached_tokens,
        "estimated_cached_prompt_tokens": paid.estimated_cached_tokens,
        "completion_tokens": paid.completion_tokens,
        "thinking_tokens": paid.reasoning_tokens,
        "seconds": spent.seconds,
        "money": spent.money,
        "calls_from_digsite_cache": spent.cached.calls,
    }
    if pairs == 1:
        return amounts
    return {name: None if amount is None else amount / pairs for name, amount in amounts.items()}


def _row(name: str, spent: Spent, pairs: int = 0) -> Row:
    amounts = _amounts(spent, pairs or 1)
    prompt = (
        about(spent.paid) + _format_tokens(amounts[name] or 0)
        for name in ("computed_prompt_tokens", "cached_prompt_tokens")
    )
    completion = (_format_tokens(amounts[name] or 0) for name in ("completion_tokens", "thinking_tokens"))
    calls, failed, cached = (
        _format_count(amounts[name] or 0) for name in ("calls", "failed_tries", "calls_from_digsite_cache")
    )
    return (name, calls, failed, *prompt, *completion, money(amounts["money"]), cached)


def _format_count(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:.1f}"


def _format_tokens(tokens: float) -> str:
    """Format tokens, with three digits from a million on, so that a row fits on a terminal."""
    if tokens < _MILLION:
        return f"{tokens:,.0f}"
    millions = tokens / _MILLION
    return f"{millions:,.{max(0, 3 - len(str(int(millions))))}f}M"
