"""Labels follow from the curve of solvable states; the rest is the branch's own."""

from pipeline.exports.branching import eef
from pipeline.exports.branching.base import State
from tests.forks import branched, fork
from tests.records import Style, accepted, world

W = world(1)


def curve(*solved, sample=1):
    """The failed rollout of `accepted(1)`, asked about at its turns: `solved[i]` of 2 at the i-th."""
    record = accepted(1)
    styles: list[list[Style]] = [["wrong", "wrong"], ["right", "wrong"], ["right", "right"]]
    forks = [fork(record, W, (sample, 2 + 2 * i), styles[n], method="eef") for i, n in enumerate(solved)]
    return record.model_copy(update={"forks": tuple(forks)})


def labels(record):
    return [
        [(judged.label, judged.solved, judged.tried) for judged in found.turns] for found in eef.splice_rollouts(record)
    ]


def test_states_lie_at_equal_distances_over_failed_rollouts_only():
    assert list(eef.states(accepted(1))) == [State(s, p) for s in (1, 102) for p in (2, 4, 6, 8)]


def test_what_leads_to_a_solvable_state_is_beneficial_and_the_branch_goes_on():
    own = ("own", 2, 2)
    assert labels(curve(1, 1, 2, 0)) == [[("beneficial", 1, 2), ("beneficial", 2, 2), own, own]]


def test_what_loses_the_answer_is_harmful_and_what_finds_it_again_recovers():
    assert labels(curve(1, 0, 2, 0)) == [[("harmful", 0, 2), ("recovery", 2, 2), ("own", 2, 2), ("own", 2, 2)]]
    assert labels(curve(0, 0, 1, 0)) == [[("lost", 0, 2), ("recovery", 1, 2), ("own", 1, 2), ("own", 1, 2)]]


def test_only_beneficial_recovering_and_own_turns_are_trained():
    (found,) = eef.splice_rollouts(curve(1, 0, 2, 0))
    assert [judged.trained for judged in found.turns] == [False, True, True, True]


def test_the_spliced_rollout_is_the_failed_one_and_then_the_branch():
    (found,) = eef.splice_rollouts(branched())
    source = accepted(1).last.rollouts[1].trajectory.messages
    assert found.fork.prefix == 6
    assert found.trajectory.messages[:6] == source[:6]
    assert found.trajectory.messages[6] != source[6]
    assert found.trajectory.final == '{"answer":"1208"}'


def test_no_solvable_state_or_only_the_first_gives_nothing():
    assert labels(curve(0, 0, 0, 0)) == []
    assert labels(curve(2, 0, 0, 0)) == []


def test_where_a_state_was_not_asked_about_the_next_says_how_it_went_and_without_the_first_nothing_does():
    whole = curve(1, 1, 2, 0)
    own = ("own", 2, 2)
    for gone, wanted in ((1, [[("beneficial", 2, 2), ("beneficial", 2, 2), own, own]]), (0, [])):
        left = tuple(fork for place, fork in enumerate(whole.forks) if place != gone)
        assert labels(whole.model_copy(update={"forks": left})) == wanted
