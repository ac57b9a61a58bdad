"""What was paid adds up, over roles, over rounds and down to one pair."""

import pytest

from pipeline.analysis import money
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Usage


def spent(calls: int, cost: float | None) -> Spent:
    prompt = {"prompt_tokens": 100 * calls, "cached_tokens": 25 * calls}
    paid = Usage(calls=calls, completion_tokens=10 * calls, reasoning_tokens=4 * calls, **prompt)
    return Spent(paid=paid, cached=Usage(calls=1, prompt_tokens=1000), errors=3, seconds=2.0 * calls, money=cost)


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
    assert rows["solver"][1:] == ("5", "6", "375", "125", "50", "20", "1.50", "2")
    assert rows["round 0"][-2] == "1.25"
    assert rows["all"][1:] == ("10", "12", "750", "250", "100", "40", "2.00", "4")
    assert rows["per accepted pair"][1:] == ("5", "6", "375", "125", "50", "20", "1.00", "2")


def test_what_the_teacher_answers_is_not_the_solver_s() -> None:
    among = Spending(by_stage={"distractors": {"answer": spent(2, 0.5)}, "teach": {"answer": spent(3, 1.0)}})
    rows = {row[0]: row[1] for row in money.rows(among, 1)}
    assert [rows[name] for name in ("solver", "teacher", "distractors", "teach", "all")] == ["2", "3", "2", "3", "5"]


def test_an_unknown_price_makes_an_unknown_cost_and_no_pair_none() -> None:
    begun = {**SPENDING.by_stage["round 0"], "verdict": spent(1, None)}
    unknown = Spending(by_stage={**SPENDING.by_stage, "round 0": begun})
    rows = {row[0]: row for row in money.rows(unknown, 0)}
    assert (rows["judge"][-2], rows["all"][-2], rows["solver"][-2]) == ("unknown", "unknown", "1.50")
    assert "per accepted pair" not in rows
    tree = money.tree(unknown, 3)
    assert tree["per_pair"]["money"] is None
    assert tree["per_pair"]["calls"] == pytest.approx(11 / 3)
    assert money.tree(unknown, 0)["per_pair"] is None


@pytest.mark.parametrize(
    ("tokens", "said"), [(999_999, "999,999"), (1_234_567, "1.23M"), (98_765_432, "98.8M"), (1_234_567_890, "1,235M")]
)
def test_millions_are_three_digits(tokens: int, said: str) -> None:
    whole = Spending(by_stage={"round 0": {"answer": Spent(paid=Usage(calls=1, completion_tokens=tokens))}})
    assert money.rows(whole, 0)[0][5] == said


def test_the_rows_hold_the_tree_s_amounts() -> None:
    tree = money.tree(SPENDING, 4)
    solver, pair = tree["roles"]["solver"], tree["per_pair"]
    assert solver.keys() == pair.keys() == tree["total"].keys() == tree["stages"]["round 0"].keys()
    assert solver["computed_prompt_tokens"] + solver["cached_prompt_tokens"] == 500
    assert (solver["calls"], solver["calls_from_digsite_cache"]) == (5, 2), "what nobody billed is no call"
    assert pair["thinking_tokens"] <= pair["completion_tokens"] == 25


def test_what_is_estimated_is_marked_and_explained() -> None:
    unreported = Usage(calls=1, prompt_tokens=100, cached_tokens=40, estimated_cached_tokens=40)
    mixed = Spending(by_stage={"round 0": {"propose": Spent(paid=unreported), "answer": spent(1, 0.5)}})
    rows = {row[0]: row[3:5] for row in money.rows(mixed, 1)}
    assert (rows["generator"], rows["solver"]) == (("≈60", "≈40"), ("75", "25"))
    assert rows["all"] == ("≈135", "≈65")
    assert money.notes(mixed) == [money.ESTIMATED]
    assert money.notes(SPENDING) == []
    assert money.tree(mixed, 1)["total"]["estimated_cached_prompt_tokens"] == 40
