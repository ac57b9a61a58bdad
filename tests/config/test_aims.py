"""The targets that the seeds of a run get."""

from typing import Any

import pytest

from pipeline.config import build
from pipeline.errors import UsageError
from pipeline.run.plan import draw_weighted

MODEL = {"models": {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}}


@pytest.mark.parametrize(
    ("values", "aims"),
    [
        ({}, [2, 2, 3, 3, 3, 4, 4, 5]),
        ({"steps": "3-5"}, [4, 4, 4, 5, 5, 6]),
        ({"models": {}}, [2, 3, 4]),
        ({"steps": "3"}, [4]),
        ({"steps": "19-20"}, [20]),
        ({"preset": "sage"}, [2, 3, 4]),
        ({"difficulty": {"adversarial": False}}, [2, 3, 4]),
        ({"solve_rate": "0.2-0.8"}, [2, 3, 4]),
        ({"questions": {"file": "q.jsonl"}}, [2, 3, 4]),
        ({"difficulty": {"aims": {"3": 1, "7": 2}}}, [3, 7, 7]),
    ],
)
def test_seeds_aim_one_step_above_the_range_and_low_more_often(values: dict[str, Any], aims: list[int]) -> None:
    config = build(values=MODEL | values)
    assert [draw_weighted(config.aims, chance) for chance in range(len(aims))] == aims


def test_aims_are_digested_and_set_the_limits() -> None:
    usual, deep = build(), build(sets=["difficulty.aims={3=1,8=1}"])
    assert usual.digest() != deep.digest()
    assert (usual.solver.searches, deep.solver.searches) == (12, 20)


@pytest.mark.parametrize("aims", ["{3=0}", "{0=1}", "{21=1}", "{deep=1}"])
def test_an_impossible_aim_is_refused(aims: str) -> None:
    with pytest.raises(UsageError, match="difficulty.aims"):
        build(sets=[f"difficulty.aims={aims}"])
