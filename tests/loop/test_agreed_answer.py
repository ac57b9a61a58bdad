"""What a record keeps of wrong answers on which its rollouts agree."""

from pipeline.types import Record, Status
from tests.loop.test_episode import Cast, run


def test_a_wrong_answer_on_which_rollouts_agree_is_kept() -> None:
    def agreeing(count: int) -> Record:
        return run(Cast(lambda question, sample: 3 if sample < 8 - count else 0))

    several, alone = agreeing(2), agreeing(1)
    assert (several.status, several.agreed_answer) == (Status.ACCEPTED, "in 1999")
    assert (alone.status, alone.agreed_answer) == (Status.ACCEPTED, "")
    assert '"agreed_answer":"in 1999"' in several.model_dump_json()
