"""Which of the right rollouts of a pair are trained on."""

import pytest

from pipeline.agents.environment_file import Environment, environment
from pipeline.config import RunConfig, build
from pipeline.exports.trajectories.selection import count_rollouts, dump_conversation, examples, has_guessed
from pipeline.exports.views import sft, sft_masked, sft_sharegpt
from pipeline.types import Call, Message, Record, Rollout
from tests.records import Style, World, accepted, draft, rollout, round_, verdict, world
from tests.teacher_rollouts import taught

W = world(1)


def selecting(**settings: object) -> Environment:
    return environment(build(values={"sft": settings}))


def having(*rollouts: Rollout) -> Record:
    """An accepted record with these rollouts, numbered in their order."""
    d = draft(W)
    numbered = tuple(made.model_copy(update={"sample": number}) for number, made in enumerate(rollouts))
    bare = round_(W, d, 0, [])
    return accepted(1).model_copy(
        update={
            "rounds": (bare,),
            "confirmation": numbered,
            "confirmation_verdicts": tuple(verdict(W, made, d) for made in numbered),
        }
    )


def styled(style: Style = "right", *, words: str = "", after: str = "") -> Rollout:
    """`words` stand in its last turn; `after` is one more search, before the answer."""
    made = rollout(W, draft(W), 0, style)
    messages, calls = list(made.trajectory.messages), list(made.trajectory.calls)
    if after:
        call = messages[-3].tool_calls[0].model_copy(update={"id": "more", "arguments": f'{{"query": "{after}"}}'})
        messages[-1:-1] = [
            messages[-3].model_copy(update={"tool_calls": (call,)}),
            messages[-2].model_copy(update={"tool_call_id": "more"}),
        ]
        calls.append(Call(id="more", tool="search", argument=after, passage_ids=(W.noise[0].id,)))
    messages[-1] = messages[-1].model_copy(update={"content": words})
    trajectory = made.trajectory.model_copy(update={"messages": tuple(messages), "calls": tuple(calls)})
    return made.model_copy(update={"trajectory": trajectory})


def samples(record: Record, **settings: object) -> list[int]:
    found = examples(record, selecting(**settings), dump_conversation)
    return [example.rollout.sample for example, _ in found if example.agent == "solver"]


FOUR = having(styled(after="a"), styled("lucky"), styled(words="So."), styled(after="b"), styled("wrong"))
"""Steps: 4, 1, 3 and 4, and a wrong one."""


def test_without_a_setting_it_is_the_shortest_alone() -> None:
    assert samples(FOUR) == [1]


@pytest.mark.parametrize(("most", "taken"), [(1, [1]), (2, [1, 2]), (9, [1, 2, 0, 3])])
def test_the_shortest_come_first(most: int, taken: list[int]) -> None:
    assert samples(FOUR, per_pair=most) == taken


def test_the_diverse_are_least_alike() -> None:
    twins = having(
        styled(words="a"), styled(words="b"), styled(words="c"), styled("lucky", words="d"), styled(after="x")
    )
    assert samples(twins, per_pair=3) == [3, 0, 1]
    assert samples(twins, per_pair=3, select="diverse") == [3, 0, 4]


def test_chance_is_a_hash_of_the_pair_and_no_more() -> None:
    orders = set()
    for number in range(20):
        record = FOUR.model_copy(update={"key": f"{number}"})
        order = samples(record, per_pair=9, select="random")
        assert sorted(order) == [0, 1, 2, 3]
        assert order == samples(record, per_pair=9, select="random")
        assert samples(record, per_pair=2, select="random") == order[:2]
        orders.add(tuple(order))
    assert len(orders) > 5


def test_those_that_are_the_same_word_for_word_are_one() -> None:
    assert samples(having(styled(), styled(), styled(words="Other.")), per_pair=9) == [0, 2]


def test_every_hop_may_be_asked_for() -> None:
    assert samples(FOUR, per_pair=9, every_hop=True) == [2, 0, 3]


def test_so_may_a_length() -> None:
    long = having(styled(words="word " * 3000), styled(after="x"))
    assert samples(long, max_tokens=3000) == [1]
    assert samples(long) == [0]


def searching(w: World, *queries: str) -> Rollout:
    made = styled()
    calls = tuple(
        call.model_copy(update={"argument": query}) for call, query in zip(made.trajectory.calls, queries, strict=True)
    )
    return made.model_copy(update={"trajectory": made.trajectory.model_copy(update={"calls": calls})})


@pytest.mark.parametrize(
    ("queries", "known"),
    [
        ((W.bridge.title, W.engineer.title, W.town.title), False),
        ((W.bridge.title, W.town.title, W.town.title), True),
        ((W.bridge.title, W.engineer.title, f"town founded in {W.year}"), True),
    ],
)
def test_who_searches_with_what_it_was_not_shown_has_guessed(queries: tuple[str, ...], known: bool) -> None:
    made = searching(W, *queries)
    assert has_guessed(draft(W), made) is known
    assert samples(having(made), unguessed=True) == ([] if known else [0])
    assert samples(having(made)) == [0]


def test_the_source_is_solver_teacher_or_both() -> None:
    record = taught()

    def agents(**settings: object) -> list[str]:
        return [example.agent for example, _ in examples(record, selecting(**settings), dump_conversation)]

    assert agents() == ["solver", "teacher", "teacher"]
    assert agents(source=["solver"]) == ["solver"]
    assert agents(source=["teacher"]) == ["teacher", "teacher"]
    assert agents(per_pair=1) == ["solver", "teacher"]


def test_it_counts_what_each_condition_left() -> None:
    (agent, found), *others = count_rollouts(FOUR, selecting(per_pair=2, every_hop=True)).items()
    assert (agent, others) == ("solver", [])
    assert found == {"made": 5, "correct": 4, "fit": 4, "passed": 3, "kept": 2}
    assert set(count_rollouts(taught(), selecting())) == {"solver", "teacher"}


def test_all_views_of_solved_rollouts_hold_the_same() -> None:
    context = selecting(per_pair=3)
    assert len(list(sft.rows(FOUR, context))) == len(list(sft_sharegpt.rows(FOUR, context))) == 3
    assert {row["source"] for row in sft_masked.rows(FOUR, context)} == {0, 1, 2}


def test_a_rollout_with_thoughts_that_were_not_sent_back_is_a_row_for_each_turn() -> None:
    def thought(message: Message) -> Message:
        return message.model_copy(update={"reasoning": "So."}) if message.role == "assistant" else message

    made = styled()
    thoughtful = made.trajectory.model_copy(update={"messages": tuple(map(thought, made.trajectory.messages))})
    record = having(made.model_copy(update={"trajectory": thoughtful}))

    def losses(**settings: object) -> list[int]:
        return [sum(row["loss"]) for row in sft.rows(record, selecting(**settings))]

    assert losses() == [1, 1, 1, 1]
    assert losses(thinking="last") == losses(thinking="none") == [4]
    keeping = environment(RunConfig()).model_copy(update={"reasoning": "keep"})
    assert [sum(row["loss"]) for row in sft.rows(record, keeping)] == [4]
    texts = [text for row in sft.rows(record, selecting(thinking="none")) for text in row["messages"]]
    assert not any("So." in text for text in texts)


def test_the_longest_come_first_where_they_are_asked_for() -> None:
    assert samples(FOUR, select="longest") == [0]
    assert samples(FOUR, select="longest", per_pair=9) == [0, 3, 2, 1]


@pytest.mark.parametrize(("least", "taken"), [(0, [1, 2, 0, 3]), (3, [2, 0, 3]), (4, [0, 3]), (5, [])])
def test_those_with_few_steps_may_be_left_out(least: int, taken: list[int]) -> None:
    assert samples(FOUR, per_pair=9, min_steps=least) == taken
    assert count_rollouts(FOUR, selecting(min_steps=least))["solver"]["passed"] == len(taken)
