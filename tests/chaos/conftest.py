"""Fixtures for the chaos tests: an endpoint in its own process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.endpoint import Endpoint, serving


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """Run an endpoint that never fails."""
    with serving(tmp_path / "notes") as server:
        yield server
