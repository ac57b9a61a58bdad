"""What the tests of this folder share: an endpoint in a process of its own, and the figures that they report."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.chaos.endpoint import Endpoint, serving

Figures = Callable[[Mapping[str, float], Mapping[str, float]], None]


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """Reports the size of a test and its result, by name, for `make chaos` to print.

    Of several cases of one test whole numbers are added up, and of the others the largest is shown.
    """

    def report(size: Mapping[str, float], result: Mapping[str, float]) -> None:
        record_property("size", dict(size))
        record_property("result", dict(result))
        print(size, result)

    return report


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """One that never fails."""
    with serving(tmp_path / "notes") as found:
        yield found
