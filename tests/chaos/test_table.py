"""The page of promises says what was run and how it ended, and every test that it names is there."""

import ast
from typing import Any, Literal

import pytest

from tests.chaos.promises import PROMISES, Promise
from tests.chaos.table import ROOT, Results, merged, rows

PROMISE = Promise("F0", "it lasts", ("tests/a.py::test_one", "tests/b.py"))


def report(
    nodeid: str, outcome: Literal["passed", "failed", "skipped"] = "passed", **properties: Any
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=nodeid, location=("", 0, ""), keywords={}, outcome=outcome, longrepr=None, when="call",
        user_properties=list(properties.items()),
    )  # fmt: skip


def table(*reports: pytest.TestReport) -> list[str]:
    results = Results()
    for one in reports:
        results.pytest_runtest_logreport(one)
    return list(rows([PROMISE], results, "2026-01-01"))[2:]


def test_figures_are_added_up_and_measures_are_the_largest() -> None:
    cases = [
        report(f"tests/a.py::test_one[{n}]", size={"kills": 50}, result={"lost": 0, "slowest in s": 1.5 * n})
        for n in (1, 2)
    ]
    assert table(*cases, report("tests/b.py::test_x")) == [
        "| F0 | it lasts | `tests/a.py::test_one` | 100 kills | passed: 0 lost, 3.0 slowest in s | 2026-01-01 |",
        "|  |  | `tests/b.py` | 1 case | passed | 2026-01-01 |",
    ]


def test_what_was_not_run_or_failed_is_not_shown_as_passed() -> None:
    skipped = [report("tests/b.py::test_x"), report("tests/b.py::test_y", "skipped")]
    first, second = table(*skipped)
    assert "not run" in first
    assert "1 of 2 skipped" in second
    first, _ = table(report("tests/a.py::test_one[1]"), report("tests/a.py::test_one[2]", "failed"))
    assert "**failed**: 1 of 2" in first
    assert not any("passed" in line for line in (first, second))


def test_a_test_whose_name_only_begins_alike_does_not_count() -> None:
    assert "not run" in table(report("tests/a.py::test_one_more"))[0]


def test_a_promise_that_is_run_again_alone_leaves_the_others_as_they_were() -> None:
    head = ["| id | promise |", "|---|---|"]
    page = ["The last whole run.", "", *head, "| F1 | old |", "|  | old |", "| F2 | old |"]
    assert merged(page, [*head, "| F1 | new |"]) == ["The last whole run.", "", *head, "| F1 | new |", "| F2 | old |"]


def test_every_promise_names_tests_that_are_there() -> None:
    for promise in PROMISES:
        for test in promise.tests:
            path, _, function = test.partition("::")
            tree = ast.parse((ROOT / path).read_text())
            named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert not function or function in named, f"{promise.id}: {test}"
    assert len({promise.id for promise in PROMISES}) == len(PROMISES)
