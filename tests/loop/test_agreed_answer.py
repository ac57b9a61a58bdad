"""A record keeps the wrong answer on which several of its rollouts agree."""

from pipeline.types import Status
from tests.loop.cast import Cast, run


def test_a_wrong_answer_on_which_rollouts_agree_is_kept() -> None:
    two, one = (run(Cast(lambda question, sample, n=n: 3 if sample < 8 - n else 0)) for n in (2, 1))
    assert (two.status, two.agreed_answer) == (Status.ACCEPTED, "in 1999")
    assert (one.status, one.agreed_answer) == (Status.ACCEPTED, "")
    assert '"agreed_answer":"in 1999"' in two.model_dump_json()
