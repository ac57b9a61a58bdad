"""Costs add up over roles and rounds, and are divided by accepted pairs."""

import pytest

from pipeline.analysis import money
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Usage


def make_spent(calls: int, cost: float | None) -> Spent:
    prompt = {"prompt_tokens": 100 * calls, "cached_tokens": 25 * calls}
    paid = Usage(calls=calls, completion_tokens=10 * calls, reasoning_tokens=4 * calls, **prompt)
    return Spent(paid=paid, cached=Usage(calls=1, prompt_tokens=1000), errors=3, seconds=2.0 * calls, money=cost)


SPENDING = Spending(
    by_stage={
        "confirmation": {"answer": make_spent(4, 0.5)},
        "round 1": {"revise": make_spent(2, 0.25)},
        "round 0": {"propose": make_spent(3, 0.25), "answer": make_spent(1, 1.0)},
    }
)


def test_roles_and_rounds_add_up_to_all() -> None:
    rows = {row[0]: row for row in money.rows(SPENDING, 2)}
    assert list(rows) == [
        "solver", "refiner", "generator", "round 0", "round 1", "confirmation", "all", "per accepted pair",
    ]  # fmt: skip
    assert rows["solver"][1:] == ("5", "6", "375", "125", "50", "20", "1.50", "2")
    assert rows["round 0"][-2] == "1.25"
    assert rows["all"][1:] == ("10", "12", "750", "250", "100", "40", "2.00", "4")
    assert rows["per accepted pair"][1:] == ("5", "6", "375", "125", "50", "20", "1.00", "2")


def test_the_teachers_answers_are_not_the_solvers() -> None:
    among = Spending(by_stage={"distractors": {"answer": make_spent(2, 0.5)}, "teach": {"answer": make_spent(3, 1.0)}})
    rows = {row[0]: row[1] for row in money.rows(among, 1)}
    assert [rows[name] for name in ("solver", "teacher", "distractors", "teach", "all")] == ["2", "3", "2", "3", "5"]


def test_an_unknown_price_makes_the_cost_unknown_and_without_pairs_there_is_no_cost_per_pair() -> None:
    round_0 = {**SPENDING.by_stage["round 0"], "verdict": make_spent(1, None)}
    unknown = Spending(by_stage={**SPENDING.by_stage, "round 0": round_0})
    rows = {row[0]: row for row in money.rows(unknown, 0)}
    assert (rows["judge"][-2], rows["all"][-2], rows["solver"][-2]) == ("unknown", "unknown", "1.50")
    assert "per accepted pair" not in rows
    tree = money.tree(unknown, 3)
    assert tree["per_pair"]["money"] is None
    assert tree["per_pair"]["calls"] == pytest.approx(11 / 3)
    assert money.tree(unknown, 0)["per_pair"] is None


@pytest.mark.parametrize(
    ("tokens", "text"), [(999_999, "999,999"), (1_234_567, "1.23M"), (98_765_432, "98.8M"), (1_234_567_890, "1,235M")]
)
def test_millions_have_three_digits(tokens: int, text: str) -> None:
    spending = Spending(by_stage={"round 0": {"answer": Spent(paid=Usage(calls=1, completion_tokens=tokens))}})
    assert money.rows(spending, 0)[0][5] == text


def test_the_rows_show_the_trees_amounts() -> None:
    tree = money.tree(SPENDING, 4)
    solver, pair = tree["roles"]["solver"], tree["per_pair"]
    assert solver.keys() == pair.keys() == tree["total"].keys() == tree["stages"]["round 0"].keys()
    assert solver["computed_prompt_tokens"] + solver["cached_prompt_tokens"] == 500
    assert (solver["calls"], solver["calls_from_digsite_cache"]) == (5, 2), "a call that nobody billed is not counted"
    assert pair["thinking_tokens"] <= pair["completion_tokens"] == 25


def test_estimates_are_marked_and_explained() -> None:
    unreported = Usage(calls=1, prompt_tokens=100, cached_tokens=40, estimated_cached_tokens=40)
    mixed = Spending(by_stage={"round 0": {"propose": Spent(paid=unreported), "answer": make_spent(1, 0.5)}})
    rows = {row[0]: row[3:5] for row in money.rows(mixed, 1)}
    assert (rows["generator"], rows["solver"]) == (("≈60", "≈40"), ("75", "25"))
    assert rows["all"] == ("≈135", "≈65")
    assert money.notes(mixed) == [money.ESTIMATED]
    assert money.notes(SPENDING) == []
    assert money.tree(mixed, 1)["total"]["estimated_cached_prompt_tokens"] == 40
