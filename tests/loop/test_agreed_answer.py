"""A record keeps the wrong answer on which several of its rollouts agree."""

from pipeline.types import Status
from tests.loop.cast import Cast, run


def test_a_wrong_answer_on_which_rollouts_agree_is_kept() -> None:
    two_agree = run(Cast(lambda question, sample: 3 if sample < 2 else 0))
    one_alone = run(Cast(lambda question, sample: 3 if sample < 3 else 0))
    assert (two_agree.status, two_agree.agreed_answer) == (Status.ACCEPTED, "in 1999")
    assert (one_alone.status, one_alone.agreed_answer) == (Status.ACCEPTED, "")
    assert '"agreed_answer":"in 1999"' in two_agree.model_dump_json()
