"""Which correct rollouts of a pair are trained on."""

import pytest

from pipeline.agents.environment_file import Environment, environment
from pipeline.config import RunConfig, build
from pipeline.exports.trajectories.selection import count_rollouts, dump_conversation, examples, has_guessed
from pipeline.exports.views import sft, sft_masked, sft_sharegpt
from pipeline.types import Call, Message, Record, Rollout
from tests.records import Style, World, accepted, draft, rollout, round_, verdict, world
from tests.teacher_rollouts import taught

W = world(1)


def make_environment(**settings: object) -> Environment:
    return environment(build(values={"sft": settings}))


def make_record(*rollouts: Rollout) -> Record:
    """Make an accepted record with these rollouts, numbered in their order."""
    d = draft(W)
    numbered = tuple(rollout.model_copy(update={"sample": number}) for number, rollout in enumerate(rollouts))
    verdicts = tuple(verdict(W, rollout, d) for rollout in numbered)
    update = {"rounds": (round_(W, d, 0, []),), "confirmation": numbered, "confirmation_verdicts": verdicts}
    return accepted(1).model_copy(update=update)


def make_rollout(style: Style = "right", *, words: str = "", after: str = "") -> Rollout:
    """Make a rollout with `words` in its last turn, and one more search for `after` before the answer."""
    base = rollout(W, draft(W), 0, style)
    messages, calls = list(base.trajectory.messages), list(base.trajectory.calls)
    if after:
        call = messages[-3].tool_calls[0].model_copy(update={"id": "more", "arguments": f'{{"query": "{after}"}}'})
        messages[-1:-1] = [
            messages[-3].model_copy(update={"tool_calls": (call,)}),
            messages[-2].model_copy(update={"tool_call_id": "more"}),
        ]
        calls.append(Call(id="more", tool="search", argument=after, passage_ids=(W.noise[0].id,)))
    messages[-1] = messages[-1].model_copy(update={"content": words})
    trajectory = base.trajectory.model_copy(update={"messages": tuple(messages), "calls": tuple(calls)})
    return base.model_copy(update={"trajectory": trajectory})


def list_samples(record: Record, **settings: object) -> list[int]:
    selected = examples(record, make_environment(**settings), dump_conversation)
    return [example.rollout.sample for example, _ in selected if example.agent == "solver"]


FOUR = make_record(
    make_rollout(after="a"),
    make_rollout("lucky"),
    make_rollout(words="So."),
    make_rollout(after="b"),
    make_rollout("wrong"),
)
"""Steps: 4, 1, 3 and 4, and a wrong one."""


def test_by_default_only_the_shortest_is_selected() -> None:
    assert list_samples(FOUR) == [1]


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (2, [1, 2]), (9, [1, 2, 0, 3])])
def test_the_shortest_come_first(count: int, expected: list[int]) -> None:
    assert list_samples(FOUR, per_pair=count) == expected


def test_diverse_rollouts_are_least_alike() -> None:
    twins = make_record(
        make_rollout(words="a"),
        make_rollout(words="b"),
        make_rollout(words="c"),
        make_rollout("lucky", words="d"),
        make_rollout(after="x"),
    )
    assert list_samples(twins, per_pair=3) == [3, 0, 1]
    assert list_samples(twins, per_pair=3, select="diverse") == [3, 0, 4]


def test_a_random_choice_depends_only_on_the_pair() -> None:
    orders = set()
    for number in range(20):
        record = FOUR.model_copy(update={"key": f"{number}"})
        order = list_samples(record, per_pair=9, select="random")
        assert sorted(order) == [0, 1, 2, 3]
        assert order == list_samples(record, per_pair=9, select="random")
        assert list_samples(record, per_pair=2, select="random") == order[:2]
        orders.add(tuple(order))
    assert len(orders) > 5


def test_identical_rollouts_are_selected_once() -> None:
    assert list_samples(make_record(make_rollout(), make_rollout(), make_rollout(words="Other.")), per_pair=9) == [0, 2]


def test_every_hop_may_be_required() -> None:
    assert list_samples(FOUR, per_pair=9, every_hop=True) == [2, 0, 3]


def test_a_length_may_be_required() -> None:
    long = make_record(make_rollout(words="word " * 3000), make_rollout(after="x"))
    assert list_samples(long, max_tokens=3000) == [1]
    assert list_samples(long) == [0]


def make_searching_rollout(w: World, *queries: str) -> Rollout:
    base = make_rollout()
    calls = tuple(
        call.model_copy(update={"argument": query}) for call, query in zip(base.trajectory.calls, queries, strict=True)
    )
    return base.model_copy(update={"trajectory": base.trajectory.model_copy(update={"calls": calls})})


@pytest.mark.parametrize(
    ("queries", "is_guess"),
    [
        ((W.bridge.title, W.engineer.title, W.town.title), False),
        ((W.bridge.title, W.town.title, W.town.title), True),
        ((W.bridge.title, W.engineer.title, f"town founded in {W.year}"), True),
    ],
)
def test_searching_for_something_unseen_is_a_guess(queries: tuple[str, ...], is_guess: bool) -> None:
    rollout = make_searching_rollout(W, *queries)
    assert has_guessed(draft(W), rollout) is is_guess
    assert list_samples(make_record(rollout), unguessed=True) == ([] if is_guess else [0])
    assert list_samples(make_record(rollout)) == [0]


def test_the_source_is_solver_teacher_or_both() -> None:
    record = taught()

    def agents(**settings: object) -> list[str]:
        return [example.agent for example, _ in examples(record, make_environment(**settings), dump_conversation)]

    assert agents() == ["solver", "teacher", "teacher"]
    assert agents(source=["solver"]) == ["solver"]
    assert agents(source=["teacher"]) == ["teacher", "teacher"]
    assert agents(per_pair=1) == ["solver", "teacher"]


def test_counts_show_what_each_condition_kept() -> None:
    (agent, counts), *further = count_rollouts(FOUR, make_environment(per_pair=2, every_hop=True)).items()
    assert (agent, further) == ("solver", [])
    assert counts == {"made": 5, "correct": 4, "fit": 4, "passed": 3, "kept": 2}
    assert set(count_rollouts(taught(), make_environment())) == {"solver", "teacher"}


def test_all_views_of_solved_rollouts_have_the_same_rollouts() -> None:
    context = make_environment(per_pair=3)
    assert len(list(sft.rows(FOUR, context))) == len(list(sft_sharegpt.rows(FOUR, context))) == 3
    assert {row["source"] for row in sft_masked.rows(FOUR, context)} == {0, 1, 2}


def test_a_rollout_whose_reasoning_was_not_sent_back_is_a_row_per_turn() -> None:
    def add_reasoning(message: Message) -> Message:
        return message.model_copy(update={"reasoning": "So."}) if message.role == "assistant" else message

    base = make_rollout()
    thoughtful = base.trajectory.model_copy(update={"messages": tuple(map(add_reasoning, base.trajectory.messages))})
    record = make_record(base.model_copy(update={"trajectory": thoughtful}))

    def losses(**settings: object) -> list[int]:
        return [sum(row["loss"]) for row in sft.rows(record, make_environment(**settings))]

    assert losses() == [1, 1, 1, 1]
    assert losses(thinking="last") == losses(thinking="none") == [4]
    keeping = environment(RunConfig()).model_copy(update={"reasoning": "keep"})
    assert [sum(row["loss"]) for row in sft.rows(record, keeping)] == [4]
    texts = [text for row in sft.rows(record, make_environment(thinking="none")) for text in row["messages"]]
    assert not any("So." in text for text in texts)


def test_the_longest_come_first_if_requested() -> None:
    assert list_samples(FOUR, select="longest") == [0]
    assert list_samples(FOUR, select="longest", per_pair=9) == [0, 3, 2, 1]


@pytest.mark.parametrize(("min_steps", "expected"), [(0, [1, 2, 0, 3]), (3, [2, 0, 3]), (4, [0, 3]), (5, [])])
def test_rollouts_with_few_steps_may_be_left_out(min_steps: int, expected: list[int]) -> None:
    assert list_samples(FOUR, per_pair=9, min_steps=min_steps) == expected
    assert count_rollouts(FOUR, make_environment(min_steps=min_steps))["solver"]["passed"] == len(expected)
