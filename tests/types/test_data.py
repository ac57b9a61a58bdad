"""Values are frozen, validated and closed."""

from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.types import Data, Slotted
from pipeline.types.data import slotted


def test_data_is_frozen_and_knows_its_fields() -> None:
    class Pair(Data):
        x: float

    with pytest.raises(ValidationError):
        Pair(x=1.0).x = 2.0  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Pair(x=1.0, y=2)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Pair(x=float("nan"))


def test_slotted_values_and_their_copies_are_frozen_and_validated() -> None:
    @slotted
    class Pair(Slotted):
        x: float

    with pytest.raises(AttributeError):
        Pair(x=1.0).x = 2.0  # type: ignore[misc]
    wrongs: tuple[dict[str, Any], ...] = ({"y": 2}, {"x": float("nan")}, {"x": "one"})
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            Pair(**{"x": 1.0, **wrong})
        with pytest.raises(ValidationError):
            Pair(x=1.0).model_copy(update=wrong)
    assert Pair(x=1.0).model_copy(update={"x": 2.0}) == Pair(x=2.0)
    assert not hasattr(Pair(x=1.0), "__dict__")
