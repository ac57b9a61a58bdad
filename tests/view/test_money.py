"""What was paid adds up, over roles, over rounds and down to one pair."""

import pytest

from pipeline.dataset import money
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Usage


def spent(calls: int, cost: float | None) -> Spent:
    paid = Usage(calls=calls, prompt_tokens=100 * calls, completion_tokens=10 * calls, cached_tokens=25 * calls)
    return Spent(paid=paid, cached=Usage(calls=1), seconds=2.0 * calls, money=cost)


SPENDING = Spending(
    by_stage={
        "confirmation": {"answer": spent(4, 0.5)},
        "round 1": {"revise": spent(2, 0.25)},
        "round 0": {"propose": spent(3, 0.25), "answer": spent(1, 1.0)},
    }
)


def test_roles_and_rounds_add_up_to_all() -> None:
    rows = {row[0]: row for row in money.rows(SPENDING, 2)}
    assert list(rows) == [
        "solver", "refiner", "generator", "round 0", "round 1", "confirmation", "all", "per accepted pair",
    ]  # fmt: skip
    assert rows["solver"][1:] == ("5", "2", "500", "25%", "50", "0", "10.0", "1.50")
    assert rows["round 0"][-1] == "1.25"
    assert rows["all"][1:] == ("10", "4", "1,000", "25%", "100", "0", "20.0", "2.00")
    assert rows["per accepted pair"][1:] == ("5.0", "2.0", "500", "25%", "50", "0", "10.0", "1.00")


def test_what_the_teacher_answers_is_not_the_solver_s() -> None:
    among = Spending(by_stage={"distractors": {"answer": spent(2, 0.5)}, "teach": {"answer": spent(3, 1.0)}})
    rows = {row[0]: row[1] for row in money.rows(among, 1)}
    assert [rows[name] for name in ("solver", "teacher", "distractors", "teach", "all")] == ["2", "3", "2", "3", "5"]


def test_an_unknown_price_makes_an_unknown_cost_and_no_pair_none() -> None:
    begun = {**SPENDING.by_stage["round 0"], "verdict": spent(1, None)}
    unknown = Spending(by_stage={**SPENDING.by_stage, "round 0": begun})
    rows = {row[0]: row for row in money.rows(unknown, 0)}
    assert (rows["judge"][-1], rows["all"][-1], rows["solver"][-1]) == ("unknown", "unknown", "1.50")
    assert "per accepted pair" not in rows
    tree = money.tree(unknown, 3)
    assert tree["per_pair"]["money"] is None
    assert tree["per_pair"]["calls"] == pytest.approx(11 / 3)
    assert money.tree(unknown, 0)["per_pair"] is None
