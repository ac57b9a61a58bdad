"""Each number of steps is the least over its rollouts, and is reported with their number."""

from pipeline.types import GradedRollout
from pipeline.types.step_counts import StepCounts
from tests.loop.rollouts import DRAFT, FILM, HOLM, TOWN, grade_rollouts, make_rollout

NAMES = ["Lantern Bay director", "Ada Holm born", "Vessby founded"]


def grade(*rollouts):
    return [GradedRollout(*pair) for pair in grade_rollouts(DRAFT, *rollouts)]


HONEST = grade(make_rollout([FILM], [HOLM], [TOWN], queries=NAMES), make_rollout([FILM], [HOLM], [FILM], answer="1700"))
SHORT = grade(make_rollout([FILM], [TOWN], queries=["Lantern Bay", "founded birthplace"]))
RECALLED = grade(make_rollout([TOWN], queries=["Vessby founded"]))
UNSUPPORTED = grade(make_rollout([FILM], queries=["Lantern Bay"]))
FAILED = grade(make_rollout(*[[FILM]] * 5, answer=""), make_rollout([FILM], [HOLM], answer="1700"))


def test_a_seekers_shortcut_is_the_difficulty():
    counts = StepCounts.of(HONEST, [*SHORT, *RECALLED, *UNSUPPORTED, *FAILED])
    assert counts == StepCounts(
        honest_tries=2, honest_counted=1, adversarial_tries=5, adversarial_right=1, least_steps=3, adversarial_steps=2,
        reward_steps=1, least_rounds=2, recall_steps=1,
    )  # fmt: skip
    assert counts.difficulty == 2
    summary = "The shortest way takes 2 searches (1 of 5 seekers found a way); honest work takes 3"
    assert counts.described.startswith(summary)
    one = StepCounts(adversarial_tries=2, adversarial_right=2, adversarial_steps=1)
    assert one.described.startswith("The shortest way takes 1 search (2 of 2")


def test_if_no_seeker_is_right_the_number_exceeds_the_steps_of_the_first_to_give_up():
    counts = StepCounts.of(HONEST, [*FAILED, *RECALLED])
    assert (counts.adversarial_steps, counts.adversarial_more_than, counts.difficulty) == (None, 2, 3)
    assert counts.described == (
        "None of 3 seekers found a way: more than 2 searches; honest work takes 3 (1 of 2 tries count); recall takes 1."
    )


def test_without_seekers_there_is_only_the_honest_number():
    counts = StepCounts.of(HONEST)
    assert (counts.difficulty, counts.adversarial_tries) == (3, 0)


def test_searches_of_one_turn_are_one_round():
    one_by_one = HONEST[0].rollout.trajectory
    calls = tuple(call for message in one_by_one.messages for call in message.tool_calls)
    results = tuple(message for message in one_by_one.messages if message.tool_call_id)
    turn = one_by_one.messages[0].model_copy(update={"tool_calls": calls})
    at_once = one_by_one.model_copy(update={"messages": (turn, *results)})
    assert (one_by_one.rounds, at_once.rounds, at_once.steps) == (3, 1, 3)
