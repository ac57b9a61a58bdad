import pytest

from pipeline.analysis.published_signatures import PUBLISHED, SOURCE
from pipeline.config import RunConfig
from pipeline.exports.card.card import Contents, card
from pipeline.types import Probe
from tests.records import accepted, below_target, rejected
from tests.seed_tables import figures, page


def test_means_are_over_the_correct_fresh_rollouts_of_each_side():
    train, evaluation = figures([accepted(1), accepted(2, side="eval")]).signatures
    assert (train.side, evaluation.side) == ("train", "eval")
    assert train.solves == 3
    assert train.solving_cost == pytest.approx(3.0)
    assert train.first_hit == pytest.approx(3.0)
    assert train.hit_time == pytest.approx(1.0)
    assert train.hit_rate == 1.0
    assert train.prior_knowledge is None


def test_prior_knowledge_is_a_share_of_the_probed_questions():
    def make_probed(n, right):
        record = accepted(n)
        probe = Probe(check="closed_book", model="m", answers=("a", "b", "c"), right=right)
        last = record.rounds[-1].model_copy(update={"probes": (probe,)})
        return record.model_copy(update={"rounds": (*record.rounds[:-1], last)})

    summary = figures([make_probed(1, 0), make_probed(2, 1), make_probed(3, 0), make_probed(4, 0), accepted(5)])
    assert summary.signatures[0].prior_knowledge == 0.25


def test_only_accepted_records_count_and_the_card_says_what_was_not_probed():
    summary = figures([accepted(1), rejected(2), below_target(3)])
    assert [row.solves for row in summary.signatures] == [3]
    text = card(summary, Contents(rows={}), RunConfig())
    assert "| train | 3 | 3.00 | 3.00 | 100% | 100% | not probed |" in text


def test_the_answer_hit_time_is_a_share_of_each_rollout_and_published_figures_name_their_source():
    record = accepted(1)
    verdicts = tuple(
        verdict.model_copy(update={"steps": steps, "hit_step": 3, "right": True, "supported": True})
        for verdict, steps in zip(record.confirmation_verdicts, (3, 4, 6, 12), strict=True)
    )
    record = record.model_copy(update={"confirmation_verdicts": verdicts})
    (signature,) = figures([record]).signatures
    assert signature.solving_cost == pytest.approx(25 / 4)
    assert signature.hit_time == pytest.approx((1 + 3 / 4 + 1 / 2 + 1 / 4) / 4)
    text = card(figures([record]), Contents(rows={}), RunConfig())
    html = page([record], RunConfig())
    assert "| FORT | | 141.0 | 46.9 | | | 11.0% |" in text
    for output in (text, html):
        assert SOURCE in output
        assert all(row.data_set in output for row in PUBLISHED)
