"""`make chaos`: run every test of the promises at its full size, and write what came of it to docs/reliability.md.

`python -m tests.chaos.table [--only ID ...] [--to FILE]`; with `--only` the other rows of the page stay, with their
dates. As a plugin of pytest (`-p tests.chaos.table`) it leaves out the small cases of tests that have a full size, and
begins with the long ones.
"""

import argparse
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.chaos.promises import PROMISES, Promise

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reliability.md"
HEAD = """# Reliability

This page lists the failures that Digsite promises to survive. For each promise, it names the tests, what they tried and
their results. `make chaos` runs these tests and writes their figures into this page. If a test was not run, the table
says "not run". A call is "paid twice" if it was in flight when its process was killed, because the call must then be
sent again. If a worker dies, and its disk is lost or is not shared with the other machines, at most one batch of seeds
is lost.

"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    full = {_function(item.nodeid) for item in items if item.get_closest_marker("chaos")}
    selected = [item for item in items if item.get_closest_marker("chaos") or _function(item.nodeid) not in full]
    # Run long tests first, so that no worker starts one at the end.
    items[:] = sorted(selected, key=lambda item: not any(map(item.get_closest_marker, ("chaos", "slow"))))


def _function(nodeid: str) -> str:
    return nodeid.partition("[")[0]


class Results:
    """A plugin that stores the reports of a session by test function."""

    def __init__(self) -> None:
        self.reports: dict[str, list[pytest.TestReport]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test that passed has a report of its set-up and its tear-down too.
        if report.when == "call" or not report.passed:
            self.reports[_function(report.nodeid)].append(report)

    def of(self, test: str) -> list[pytest.TestReport]:
        """Return the reports of a file or function."""
        names = [name for name in self.reports if name == test or name.startswith(f"{test}::")]
        return [report for name in names for report in self.reports[name]]


def format_size(reports: Sequence[pytest.TestReport]) -> str:
    figures = _figures(reports, "size")
    return _words(figures) if figures else f"{len(reports)} case{'s' * (len(reports) != 1)}"


def format_result(reports: Sequence[pytest.TestReport]) -> str:
    """Say `passed` only if every case passed."""
    counts = {how: sum(report.outcome == how for report in reports) for how in ("failed", "skipped")}
    if not reports:
        return "**not run**"
    if counts["failed"]:
        return f"**failed**: {counts['failed']} of {len(reports)}"
    if counts["skipped"]:
        return f"**not run**: {counts['skipped']} of {len(reports)} skipped"
    figures = _words(_figures(reports, "result"))
    return f"passed: {figures}" if figures else "passed"


def _figures(reports: Iterable[pytest.TestReport], name: str) -> dict[str, float]:
    """Add up the whole numbers of all cases, and take the largest of the others."""
    total: dict[str, float] = {}
    for report in reports:
        noted = next((value for key, value in report.user_properties if key == name), {})
        assert isinstance(noted, dict)
        for what, value in noted.items():
            before = total.get(what)
            total[what] = value if before is None else before + value if isinstance(value, int) else max(before, value)
    return total


def _words(figures: dict[str, float]) -> str:
    return ", ".join(f"{value:,} {what}" for what, value in figures.items())


def build_rows(promises: Iterable[Promise], results: Results, date: str) -> Iterator[str]:
    yield "| id | promise | test | size | result | date |"
    yield "|---|---|---|---|---|---|"
    for promise in promises:
        for number, test in enumerate(promise.tests):
            reports = results.of(test)
            first = (promise.id, promise.text) if number == 0 else ("", "")
            when = date if reports else ""
            yield f"| {first[0]} | {first[1]} | `{test}` | {format_size(reports)} | {format_result(reports)} | {when} |"


def run(promises: Sequence[Promise], document: Path) -> int:
    tests = list(dict.fromkeys(test for promise in promises for test in promise.tests))
    results, began = Results(), time.monotonic()
    options = [
        "-m",
        "",
        "-n",
        "2",
        "--dist",
        "load",
        "--maxschedchunk",
        "1",
        "-p",
        "tests.chaos.table",
        "--durations",
        "20",
    ]
    code = pytest.main([*options, *tests], plugins=[results])
    minutes = (time.monotonic() - began) / 60
    now = datetime.now(UTC).date().isoformat()
    where = f"Python {platform.python_version()} on {platform.system()}, {os.cpu_count()} cores"
    if len(promises) == len(PROMISES):
        lines = [
            f"The last whole run took {minutes:.0f} minutes ({now}, {where}).",
            "",
            *build_rows(promises, results, now),
        ]
    else:
        lines = merge_rows(
            document.read_text().split("\n\n", 2)[2].splitlines(), list(build_rows(promises, results, now))
        )
    document.write_text(HEAD + "\n".join(lines) + "\n")
    return code


def merge_rows(page: Sequence[str], new: Sequence[str]) -> list[str]:
    """Replace the rows of the promises that were run again in the lines of a page."""
    again = group_by_promise(new)
    start = next(place for place, line in enumerate(page) if line.startswith("|---"))
    parts = [again.get(name, old) for name, old in group_by_promise(page[start - 1 :]).items()]
    return [*page[: start + 1], *(line for part in parts for line in part)]


def group_by_promise(table: Sequence[str]) -> dict[str, list[str]]:
    """Group the rows of a table by promise. Only the first row of each promise names it."""
    rows: dict[str, list[str]] = {}
    name = ""
    for line in table[2:]:
        name = line.split("|")[1].strip() or name
        rows.setdefault(name, []).append(line)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[promise.id for promise in PROMISES], metavar="ID")
    parser.add_argument("--to", type=Path, default=DOCUMENT, metavar="FILE")
    options = parser.parse_args()
    sys.exit(run([promise for promise in PROMISES if not options.only or promise.id in options.only], options.to))
