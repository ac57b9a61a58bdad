"""Gaps in statements, for texts that no rule reads as facts."""

import random

from pipeline.embedded.generator_cloze import cloze
from pipeline.embedded.observed import Seen
from pipeline.text import contains

TABLE = "Coastline: 998 km\nPopulation > total: 47,735,685 (2025 est.)\nClimate: arid to semiarid"
SEED = Seen("p1", "Numidia (Geography)", TABLE)


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
