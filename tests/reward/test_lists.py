"""Names in a list, whose separators may be part of a name, and the cost of a long wrong list."""

import json
import time

import pytest

from pipeline.reward import reward
from pipeline.reward.answers import match_items


def make_gold(*names: str) -> list[str]:
    return [json.dumps([[name] for name in names], ensure_ascii=False)]


@pytest.mark.parametrize(
    ("answer", "names", "worth"),
    [
        # "Göttingen, Munich" may be a town with its region.
        ("Göttingen, Munich", ("Göttingen", "Munich"), 1.0),
        ("Dakar, Paris and London", ("Dakar", "Paris", "London"), 1.0),
        ("Tom and Jerry, Rome", ("Tom and Jerry", "Rome"), 1.0),
        ("Walton, Liverpool, Rome, Italy", ("Walton", "Rome"), 1.0),
        # Numbers within one line.
        ("1. Paris, 2. Rome, 3. Berlin", ("Paris", "Rome", "Berlin"), 1.0),
        ("1) Paris and 2) Rome", ("Paris", "Rome"), 1.0),
        ("1. FC Köln, 2. Mai 1990", ("1. FC Köln", "2. Mai 1990"), 1.0),
        ("1. Paris, 2. Rome, 3. Bonn", ("Paris", "Rome", "Berlin"), 2 / 3),
        ('["1. Paris", "2. Rome"]', ("Paris", "Rome"), 0.0),
    ],
)
def test_names_are_separated_by_commas(answer: str, names: tuple[str, ...], worth: float) -> None:
    assert reward.score(answer, make_gold(*names)) == pytest.approx(worth)


def test_a_wrong_item_is_reported_without_its_number() -> None:
    assert match_items("1. Paris, 2. Bonn", [["Paris"], ["Rome"]]) == ({0}, ["Bonn"])


@pytest.mark.parametrize(("lines", "names"), [(1, 64), (20, 60), (60, 4), (20, 12)])
def test_a_long_wrong_list_is_scored_quickly(lines: int, names: int) -> None:
    items = [[f"Person Name{n} of Someplace", f"Name{n}, Esq.", f"Ñame{n} Ötto"] for n in range(10)]
    answer = "; ".join(", ".join(f"Nø{line}{name}" for name in range(names)) for line in range(lines))

    def cost() -> float:
        began = time.process_time()
        assert reward.score(answer, [json.dumps(items)]) == 0.0
        return time.process_time() - began

    assert any(cost() < 1 for _ in range(3))


CHOICE = [json.dumps({"items": [["Bex"], ["Orda", "Orda am See"]], "others": [["Ulm"], ["Food and Drink"], ["Kiel"]]})]


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("Bex; Orda", 1.0),
        ("Orda am See and Bex", 1.0),
        ("Bex", 1 / 2),
        ("Bex, Orda and Ulm", 2 / 3),
        ("Bex; Ulm", 1 / 2 - 1 / 3),
        # Every name in the question, in every form.
        ("Bex, Orda, Ulm, Food and Drink and Kiel", 0.0),
        ("Bex; Orda; Ulm and Food and Drink and Kiel", 0.0),
        ("Bex\nOrda\nUlm, Kiel\nFood and Drink", 0.0),
        ('["Bex", "Orda", "Ulm", "Food and Drink", "Kiel"]', 0.0),
        # Names that are not in the question count as wrong too.
        ("Bex; Orda; Rome", 2 / 3),
        ("Ulm", 0.0),
        ("not found", 0.0),
        ("", 0.0),
    ],
)
def test_listing_every_name_of_the_question_scores_nothing(answer: str, worth: float) -> None:
    assert reward.score(answer, CHOICE) == pytest.approx(worth)


def test_malformed_gold_texts_score_nothing_and_do_not_raise() -> None:
    for text in ('{"items": 3}', '{"items": [["a"]], "others": 3}', '{"items"', '{"items": [[1]]}', "[[", "[[1]]"):
        assert reward.score("b", [text]) == 0.0
