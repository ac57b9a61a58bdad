"""Turn labels follow from the curve of solvable states, and the rest of a row is the branch's."""

from pipeline.exports.branching import eef
from pipeline.exports.branching.base import State
from tests.fork_records import branched, fork
from tests.records import Style, accepted, world

W = world(1)


def make_curve(*solved, sample=1):
    """Make a record whose failed rollout was branched at each turn: `solved[i]` of 2 branches at the i-th."""
    record = accepted(1)
    styles: list[list[Style]] = [["wrong", "wrong"], ["right", "wrong"], ["right", "right"]]
    forks = [fork(record, W, (sample, 2 + 2 * i), styles[n], method="eef") for i, n in enumerate(solved)]
    return record.model_copy(update={"forks": tuple(forks)})


def list_labels(record):
    return [
        [(turn.label, turn.solved, turn.tried) for turn in spliced.turns] for spliced in eef.splice_rollouts(record)
    ]


def test_states_are_evenly_spaced_over_failed_rollouts_only():
    assert list(eef.states(accepted(1))) == [State(s, p) for s in (1, 102) for p in (2, 4, 6, 8)]


def test_turns_to_a_solvable_state_are_beneficial_and_the_branch_continues():
    branch_turn = ("own", 2, 2)
    assert list_labels(make_curve(1, 1, 2, 0)) == [
        [("beneficial", 1, 2), ("beneficial", 2, 2), branch_turn, branch_turn]
    ]


def test_a_turn_that_loses_the_answer_is_harmful_and_one_that_finds_it_again_recovers():
    assert list_labels(make_curve(1, 0, 2, 0)) == [
        [("harmful", 0, 2), ("recovery", 2, 2), ("own", 2, 2), ("own", 2, 2)]
    ]
    assert list_labels(make_curve(0, 0, 1, 0)) == [[("lost", 0, 2), ("recovery", 1, 2), ("own", 1, 2), ("own", 1, 2)]]


def test_only_beneficial_recovering_and_own_turns_are_trained():
    (spliced,) = eef.splice_rollouts(make_curve(1, 0, 2, 0))
    assert [turn.trained for turn in spliced.turns] == [False, True, True, True]


def test_the_spliced_rollout_is_the_failed_one_and_then_the_branch():
    (spliced,) = eef.splice_rollouts(branched())
    source = accepted(1).last.rollouts[1].trajectory.messages
    assert spliced.fork.prefix == 6
    assert spliced.trajectory.messages[:6] == source[:6]
    assert spliced.trajectory.messages[6] != source[6]
    assert spliced.trajectory.final == '{"answer":"1208"}'


def test_no_solvable_state_or_only_the_first_gives_nothing():
    assert list_labels(make_curve(0, 0, 0, 0)) == []
    assert list_labels(make_curve(2, 0, 0, 0)) == []


def test_a_missing_state_is_judged_by_the_next_and_without_the_first_there_is_no_row():
    record = make_curve(1, 1, 2, 0)
    branch_turn = ("own", 2, 2)
    for missing, expected in ((1, [[("beneficial", 2, 2), ("beneficial", 2, 2), branch_turn, branch_turn]]), (0, [])):
        forks = tuple(fork for index, fork in enumerate(record.forks) if index != missing)
        assert list_labels(record.model_copy(update={"forks": forks})) == expected
