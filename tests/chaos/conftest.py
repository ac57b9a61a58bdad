"""What the tests of this folder share: an endpoint in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.endpoint import Endpoint, serving


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """One that never fails."""
    with serving(tmp_path / "notes") as found:
        yield found
