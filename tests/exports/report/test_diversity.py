from pipeline.analysis.estimates import Count
from pipeline.exports.report import charts
from tests.graph_drafts import changed
from tests.records import accepted, accepted_with_one_hop, below_target, rejected
from tests.seed_tables import table


def count_diversity(*records):
    diversity = charts.diversity(table(records))
    return {name: {count.name: count.count for count in counts} for name, counts in diversity._asdict().items()}


def test_diversity_counts_accepted_pairs_only():
    diversity = count_diversity(accepted(0), accepted_with_one_hop(), rejected(), below_target())
    assert diversity["operations"] == {"lookup": 2}
    assert diversity["reasoning"] == {"bridge": 1, "lookup": 1}
    assert diversity["openings"]["in what year was"] == 1


def test_entropy_is_in_bits():
    assert charts.entropy([Count(name=name, count=1) for name in "abcd"]) == 2.0
    assert charts.entropy([Count(name="a", count=5)]) == charts.entropy([]) == 0.0


def test_an_answer_is_shown_as_it_was_first_spelled():
    records = []
    for answer in ("64.5", "The Gambia", "the gambia"):
        *_, last = (record := accepted(0)).rounds
        answered = last.model_copy(update={"draft": changed(last.draft, answer=answer)})
        records.append(record.model_copy(update={"rounds": (answered,)}))
    assert count_diversity(*records)["answers"] == {"The Gambia": 2, "64.5": 1}
