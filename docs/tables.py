"""Markdown tables, and how a page says what it is made from."""

from collections.abc import Iterable, Sequence


def made(title: str, text: str) -> str:
    """Return the head of a page that must not be edited."""
    return f"<!-- Written by `python -m docs.write`; edit the code that it describes. -->\n\n# {title}\n\n{text}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def code(text: str) -> str:
    """As code, whatever it holds; nothing for nothing."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
