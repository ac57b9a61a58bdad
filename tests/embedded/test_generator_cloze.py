"""Gaps in statements, for texts that no rule reads as facts."""

import random

from pipeline.embedded.generator_cloze import cloze
from pipeline.embedded.observed import Seen
from pipeline.text import contains

TABLE = "Coastline: 998 km\nPopulation > total: 47,735,685 (2025 est.)\nClimate: arid to semiarid"
TALE = "Numidia became independent in 1962 after a long war. The country has many ruins."
SEED = Seen("p1", "Numidia (Geography)", TABLE)
OTHER = Seen("p2", "Numidia (Introduction)", TALE)
FOREIGN = Seen("p3", "Gallia (Introduction)", "Gallia became a province in 121 BC and is divided into three parts.")


def test_a_table_is_asked_by_what_another_passage_tells_of_its_subject() -> None:
    made = cloze(SEED, [SEED, OTHER, FOREIGN], "number", random.Random(1))
    assert made is not None
    hops = made["hops"]
    assert isinstance(hops, list)
    assert [hop["passage_id"] for hop in hops] == ["p2", "p1"]
    assert hops[0]["answer"] == "Numidia"
    assert hops[0]["quote"] in TALE
    assert hops[1]["quote"] in TABLE
    assert hops[1]["answer"] in hops[1]["quote"]
    assert str(made["question"]).startswith("What number is stated under “")
    assert str(made["question"]).endswith("for the country that became independent in 1962 after a long war?")
    assert not contains(str(made["question"]), "Numidia")
    assert made["family"] == "cloze"


def test_alone_it_takes_one_step_and_names_the_subject() -> None:
    made = cloze(SEED, [SEED], "number", random.Random(1))
    assert made is not None
    hops = made["hops"]
    assert isinstance(hops, list)
    assert len(hops) == 1
    assert "____" in str(made["question"])
    assert "Numidia" in str(made["question"])
    assert not contains(str(made["question"]), str(made["answer"]))


def test_nothing_to_leave_out() -> None:
    plain = Seen("p4", "Rain", "it rains here on most days and the wind blows from the sea")
    assert cloze(plain, [plain], "entity", random.Random(1)) is None
