"""`docs/CONSUMERS.md`: what each consumer's own code said when it was last asked."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from tests.consumers import environments

FILE = environments.ROOT / "docs/CONSUMERS.md"
RULES_ONLY = {
    "adp": ("Agent Data Protocol", "tests/exports/views/test_adp.py: not on a package index"),
    "steps": ("SRL, PivotRL", "tests/exports/views/test_steps.py: no public loader"),
    "critic": ("critics in the manner of DeepVerifier", "tests/exports/views/test_critic.py: no public loader"),
    "planner": ("APEX-Searcher", "tests/exports/views/test_planner.py: no public code"),
    "retriever": ("Tevatron 2", "tests/exports/views/test_retriever.py: its data set's rules; not on a package index"),
    "rl_search_r1": ("Search-R1", "tests/exports/views/test_rl_search_r1.py: its scorer; not on a package index"),
}
"""Views whose consumer cannot be installed: the rules as code, and where they stand."""
HEAD = """# What was loaded by whom

`make test-consumers` writes this page. It runs each consumer's own code, in a separate environment, on a small
synthetic data set. "Rules only" means that the package of the consumer could not be
installed. Then the named test checks the rules that the consumer documents.

| consumer | version | view | what was done | result |
|---|---|---|---|---|
"""


def record_checks(consumer: str, lines: Iterable[dict[str, Any]]) -> None:
    """Replace the rows of one consumer, and leave those of the others."""
    today = date.today().isoformat()  # noqa: DTZ011
    old_rows = FILE.read_text().splitlines()[HEAD.count("\n") :]
    rows = [row for row in old_rows if not row.startswith(f"| {consumer} |") and not row.endswith("| rules only |")]
    index = next((i for i, row in enumerate(old_rows) if row.startswith(f"| {consumer} |")), len(rows))
    rows[index:index] = [
        _row(consumer, line["version"], line["view"], line["check"], f"passed, {today}") for line in lines
    ]
    rule_rows = [_row(name, "–", view, where, "rules only") for view, (name, where) in RULES_ONLY.items()]
    FILE.write_text(HEAD + "".join(f"{row}\n" for row in [*rows, *rule_rows]))


def _row(consumer: str, version: str, view: str, done: str, result: str) -> str:
    return f"| {consumer} | {version} | `{view}` | {done} | {result} |"
