from collections import Counter

from pipeline.view.variety import Variety, entropy
from tests.records import accepted, below_target, one_hop, rejected


def test_diversity_is_of_accepted_pairs_alone():
    variety = Variety()
    for record in (accepted(0), one_hop(), rejected(), below_target()):
        variety.add(record)
    assert (variety.pairs, variety.families) == (2, {"chain": 1, "control": 1})
    assert variety.relations == {"founded in": 2, "born in": 1, "designed by": 1}
    assert variety.openings["in what year was"] == 1


def test_entropy():
    assert entropy(Counter(a=1, b=1, c=1, d=1)) == 2.0
    assert entropy(Counter(a=5)) == entropy(Counter()) == 0.0


def test_an_answer_is_shown_as_it_was_spelled():
    variety = Variety()
    for answer in ("64.5", "The Gambia", "the gambia"):
        *_, last = (record := accepted(0)).rounds
        played = last.model_copy(update={"draft": last.draft.model_copy(update={"answer": answer})})
        variety.add(record.model_copy(update={"rounds": (played,)}))
    assert variety.answers == {"The Gambia": 2, "64.5": 1}
