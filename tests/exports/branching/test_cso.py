"""Which states are suspicious, and which pairs count as verified."""

from pipeline.exports.branching import cso
from pipeline.exports.branching.base import State, signature
from pipeline.types import Message, ToolCall
from tests.exports.rollouts import W, make_uniform_record
from tests.fork_records import branched, fork
from tests.records import accepted, draft, rollout


def make_fork_record(*styles, **fields):
    record = accepted(1)
    return record.model_copy(update={"forks": (fork(record, W, (1, 6), styles, **fields),)})


def test_states_where_the_evidence_ends_the_answer_and_idle_turns_are_suspicious():
    # `wrong` searches bridge, engineer, then the church tower, and answers: the third search returns no evidence.
    assert list(cso.states(make_uniform_record("wrong"))) == [State(s, prefix) for s in (0, 100) for prefix in (6, 8)]


def test_a_rollout_that_only_misread_its_evidence_is_suspicious_at_its_answer():
    record = make_uniform_record("right")
    wrong = record.confirmation_verdicts[0].model_copy(update={"right": False})
    record = record.model_copy(update={"confirmation_verdicts": (wrong,)})
    assert list(cso.states(record)) == [State(100, 8)]


def test_correct_rollouts_have_no_suspicious_states():
    assert list(cso.states(make_uniform_record("right", "lucky", "repeats"))) == []


def test_at_most_three_states_of_a_rollout():
    record = make_uniform_record("wrong")
    searches = rollout(W, draft(W), 0, "repeats").trajectory
    assert len(searches.messages) == 11
    failed = record.confirmation[0].model_copy(update={"trajectory": searches})
    record = record.model_copy(update={"confirmation": (failed,), "rounds": (record.rounds[0],)})
    prefixes = [state.prefix for state in cso.states(record) if state.source == 100]
    assert prefixes == [10, 4], "the answer, and the repeat"


def test_a_verified_pair_is_one_turn_against_one_after_one_prompt():
    (pair,) = cso.pairs(branched())
    source = accepted(1).last.rollouts[1].trajectory.messages
    assert pair.prompt == source[:6]
    assert pair.rejected == source[6]
    assert pair.chosen.tool_calls[0].arguments == '{"query":"Dunmere founded"}'
    assert (pair.chosen_solved, pair.chosen_tried) == (2, 2)
    assert (pair.rejected_solved, pair.rejected_tried) == (0, 4), "the turn itself, sampled again, is a control"


def test_a_failure_that_any_second_attempt_mends_has_no_critical_step():
    assert list(cso.pairs(make_fork_record("right", "right", "right", controls=["right", "right", "right"]))) == []


def test_a_turn_that_mends_nothing_is_not_chosen():
    assert list(cso.pairs(make_fork_record("wrong", "silent", controls=["wrong", "wrong"]))) == []


def test_without_a_control_nothing_is_verified():
    assert list(cso.pairs(make_fork_record("right", "right"))) == []


def test_a_turn_that_was_not_carried_out_is_not_chosen():
    record = branched()
    cso_fork = record.forks[0]
    branches = []
    for branch in cso_fork.branches:
        trajectory = branch.rollout.trajectory
        ids = {call.id for call in trajectory.messages[6].tool_calls}
        calls = tuple(call for call in trajectory.calls if call.id not in ids)
        shortened = trajectory.model_copy(update={"calls": calls})
        branches.append(
            branch.model_copy(update={"rollout": branch.rollout.model_copy(update={"trajectory": shortened})})
        )
    record = record.model_copy(update={"forks": (cso_fork.model_copy(update={"branches": tuple(branches)}),)})
    assert list(cso.pairs(record)) == []


def test_one_call_is_one_action_in_every_encoding():
    texts = ('{"query":"Ostrava caf\u00e9"}', '{"query": "Ostrava caf\\u00e9"}', "Ostrava")
    calls = [ToolCall(id="call-0", name="search", arguments=text) for text in texts]
    signatures = [signature(Message(role="assistant", tool_calls=(call,))) for call in calls]
    assert signatures[0] == signatures[1] != signatures[2]
