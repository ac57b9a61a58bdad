"""Plug-ins by name, and what is said where there is none of that name."""

import pytest

from pipeline import registry
from pipeline.errors import UsageError

KINDS = {
    "branching": "branching method",
    "distractors": "kind of distractor",
    "gates": "gate",
    "strategies": "strategy",
    "views": "view",
}


@pytest.mark.parametrize("package", KINDS)
def test_an_unknown_one_is_answered_with_its_kind_and_the_known_ones(package: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.load(package, "nope")
    assert str(caught.value) == f"no {KINDS[package]} 'nope'; known: {', '.join(registry.names(package))}"
