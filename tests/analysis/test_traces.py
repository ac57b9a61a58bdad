import pytest

from pipeline.analysis.traces import SNIPPET, build_item, lay_out_tree, snippet, steps
from pipeline.exports.report import page
from pipeline.types import Node, Tree
from tests.records import accepted, batch, draft, rejected, rollout, world


def test_steps_are_numbered_without_repeats_and_name_the_hops_they_reach():
    w = world(2)
    numbered = steps(rollout(w, draft(w), 0, "repeats").trajectory, draft(w))
    assert [(step.number, step.hops) for step in numbered] == [(1, (1,)), (0, (1,)), (2, (2,)), (3, (3,))]


def test_a_repaired_call_is_marked_on_the_page():
    record = accepted()
    trajectory = record.confirmation[0].trajectory
    index, message = next((n, m) for n, m in enumerate(trajectory.messages) if m.tool_calls)
    calls = tuple(call.model_copy(update={"repaired": True}) for call in message.tool_calls)
    messages = (
        *trajectory.messages[:index],
        message.model_copy(update={"tool_calls": calls}),
        *trajectory.messages[index + 1 :],
    )
    first = record.confirmation[0].model_copy(
        update={"trajectory": trajectory.model_copy(update={"messages": messages})}
    )
    mended = record.model_copy(update={"confirmation": (first, *record.confirmation[1:])})
    assert [step.repaired for step in build_item(mended).confirmation[0].steps][:2] == [True, False]
    pages = ["".join(page._fit_articles([(1, build_item(variant))], 10**6)) for variant in (record, mended)]
    assert [text.count("</span> repaired") for text in pages] == [0, 1]


def test_results_are_those_of_the_observation():
    w = world(2)
    (step,) = steps(rollout(w, draft(w), 0, "lucky").trajectory, draft(w))
    assert [result.title for result in step.results] == [w.town.title, w.bridge.title, w.noise[0].title]
    assert [result.hops for result in step.results] == [(3,), (1,), ()]


@pytest.mark.parametrize("record", batch(8))
def test_every_search_of_every_agent_is_shown(record):
    trace = build_item(record)
    for part in trace.parts:
        assert len(part.agent) == len(part.round.agent.calls)
        assert [len(a.steps) for a in part.attempts] == [len(r.trajectory.calls) for r in part.round.rollouts]
    assert [len(a.steps) for a in trace.confirmation] == [len(r.trajectory.calls) for r in record.confirmation]


def test_every_result_can_be_read_in_full():
    trace = build_item(accepted(3, rounds=2))
    ids = {passage.id for passage in trace.passages}
    linked = {r.id for part in trace.parts for a in part.attempts for s in a.steps for r in s.results}
    assert linked <= ids


def test_a_round_has_the_draft_that_it_revised():
    first, second = build_item(accepted(rounds=2)).parts
    assert first.before is None
    assert second.before == first.round.draft
    assert [part.before is None for part in build_item(rejected(reason="co_located")).parts] == [True]


def test_a_snippet_shows_the_answer():
    text = "word " * 200 + "the year 1666 came" + " tail" * 200
    cut = snippet(text, "1666")
    assert "1666" in cut
    assert len(cut) <= SNIPPET + 4
    assert snippet(text, "absent").startswith("word")
    assert snippet("short", "x") == "short"


def test_a_tree_is_laid_out_by_limbs_and_forks():
    def node(parent, argument):
        tool = "search" if argument else ""
        return Node(parent=parent, tool=tool, argument=argument, intent="", passage_ids=(), reached=())

    #   seed - a - b - c
    #           └ d
    nodes = (node(None, ""), node(0, "a"), node(1, "b"), node(2, "c"), node(1, "d"))
    record = accepted(1)
    first = record.rounds[0].model_copy(update={"tree": Tree(nodes=nodes, paths=(4, 3), composed=4)})
    layout = lay_out_tree(record.model_copy(update={"rounds": (first,)}))
    assert layout
    assert [(taken, node.argument) for taken, node in layout.limb.nodes] == [(True, ""), (True, "a")]
    first_limb, second_limb = layout.limb.limbs
    assert [(taken, node.argument) for taken, node in first_limb.nodes] == [(False, "b"), (False, "c")]
    assert [(taken, node.argument) for taken, node in second_limb.nodes] == [(True, "d")]
    assert first_limb.limbs == second_limb.limbs == ()
    assert lay_out_tree(record) is None
