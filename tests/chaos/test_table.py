"""The page of promises shows what was run and how it ended, and every test that it names exists."""

import ast
from typing import Any, Literal

import pytest

from tests.chaos.promises import PROMISES, Promise
from tests.chaos.table import ROOT, Results, build_rows, merge_rows

PROMISE = Promise("F0", "it lasts", ("tests/a.py::test_one", "tests/b.py"))


def make_report(
    nodeid: str, outcome: Literal["passed", "failed", "skipped"] = "passed", **properties: Any
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=nodeid, location=("", 0, ""), keywords={}, outcome=outcome, longrepr=None, when="call",
        user_properties=list(properties.items()),
    )  # fmt: skip


def build_table(*reports: pytest.TestReport) -> list[str]:
    results = Results()
    for test_report in reports:
        results.pytest_runtest_logreport(test_report)
    return list(build_rows([PROMISE], results, "2026-01-01"))[2:]


def test_figures_are_added_up_and_measures_are_the_largest() -> None:
    cases = [
        make_report(f"tests/a.py::test_one[{n}]", size={"kills": 50}, result={"lost": 0, "slowest in s": 1.5 * n})
        for n in (1, 2)
    ]
    assert build_table(*cases, make_report("tests/b.py::test_x")) == [
        "| F0 | it lasts | `tests/a.py::test_one` | 100 kills | passed: 0 lost, 3.0 slowest in s | 2026-01-01 |",
        "|  |  | `tests/b.py` | 1 case | passed | 2026-01-01 |",
    ]


def test_missing_and_failed_tests_are_not_shown_as_passed() -> None:
    skipped = [make_report("tests/b.py::test_x"), make_report("tests/b.py::test_y", "skipped")]
    first, second = build_table(*skipped)
    assert "not run" in first
    assert "1 of 2 skipped" in second
    first, _ = build_table(make_report("tests/a.py::test_one[1]"), make_report("tests/a.py::test_one[2]", "failed"))
    assert "**failed**: 1 of 2" in first
    assert not any("passed" in line for line in (first, second))


def test_a_test_with_the_same_prefix_does_not_count() -> None:
    assert "not run" in build_table(make_report("tests/a.py::test_one_more"))[0]


def test_running_one_promise_again_keeps_the_other_rows() -> None:
    head = ["| id | promise |", "|---|---|"]
    page = ["The last whole run.", "", *head, "| F1 | old |", "|  | old |", "| F2 | old |"]
    assert merge_rows(page, [*head, "| F1 | new |"]) == [
        "The last whole run.",
        "",
        *head,
        "| F1 | new |",
        "| F2 | old |",
    ]


def test_every_promise_names_existing_tests() -> None:
    for promise in PROMISES:
        for test in promise.tests:
            path, _, function = test.partition("::")
            tree = ast.parse((ROOT / path).read_text())
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert not function or function in functions, f"{promise.id}: {test}"
    assert len({promise.id for promise in PROMISES}) == len(PROMISES)
