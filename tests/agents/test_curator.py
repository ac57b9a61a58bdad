"""The rules shape the tree whatever the curator answers: branches, depth, no action twice, always something new."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import config, prompts
from pipeline.agents.curator import TRIES, grow, new_titles
from pipeline.context import RunContext
from pipeline.corpus.train_eval_split import side
from pipeline.llm.base import Request
from pipeline.types import Call, Message, Passage, Seed, Tree
from tests.loop.cast import LINEAGE, call
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

PLACES = 400


def make_place(number: int) -> Passage:
    """Make place n, which borders the places 2n and 2n + 1; all places are on the train side."""
    document = next(name for salt in count() if side(name := f"d{number}-{salt}") == "train")
    return passage(document, f"Place{number}", f"Place{number} borders Place{2 * number} and Place{2 * number + 1}.")


LAND = Shelf(*map(make_place, range(1, PLACES)))
Curator = Callable[[dict[str, Any]], dict[str, Any]]


def read_inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[1].content) or {}


def go_on(inputs: dict[str, Any]) -> dict[str, Any]:
    """Search for the first name in the newest text of the path that was not searched for."""
    texts = [inputs["passage"]["text"], *(p["text"] for step in inputs["path"] for p in step["passages"])]
    tried_names = {action["argument"] for action in inputs["tried"]}
    names = [word.strip(".,") for text in reversed(texts) for word in text.split() if word.startswith("Place")]
    name = next((name for name in names if name not in tried_names and int(name[5:]) < PLACES), "")
    return {"tool": "search", "argument": name, "intent": f"see {name}"} if name else {"tool": "leave"}


def grow_tree(curator: Curator, *sets: str, draw: int = 0, start: int = 1) -> tuple[Tree, ScriptedLLM]:
    llm = ScriptedLLM(lambda request: call("explore", **curator(read_inputs(request))))
    context = RunContext(config.build(sets=["retrieval.k=1", *sets]), llm, LAND, LINEAGE)
    seed = Seed(key="ab" * 32, passage=make_place(start), draw=draw, side="train", target_steps=3)
    return asyncio.run(grow(seed, context)), llm


def list_depths(tree: Tree) -> list[int]:
    return [len(tree.path(leaf)) - 1 for leaf in tree.leaves]


def test_two_levels_that_always_branch_make_four_paths() -> None:
    tree, _ = grow_tree(go_on, "tree.branching=1", "tree.branching_depth=2", "tree.depth=5")
    assert list_depths(tree) == [5, 5, 5, 5]
    assert len(tree.nodes) == 1 + 2 + 4 * 4


def test_without_branching_the_tree_is_one_chain() -> None:
    tree, _ = grow_tree(go_on, "tree.branching=0", "tree.depth=6")
    assert list_depths(tree) == [6]
    assert [node.argument for node in tree.nodes[1:]] == [f"Place{2**n}" for n in range(1, 7)]


def test_no_level_is_below_the_depth_even_if_more_may_branch() -> None:
    tree, _ = grow_tree(go_on, "tree.branching=1", "tree.branching_depth=3", "tree.depth=1")
    assert list_depths(tree) == [1, 1]


def test_about_half_of_the_first_levels_branch() -> None:
    trees = [grow_tree(go_on, "tree.depth=2", draw=n)[0] for n in range(120)]
    branched = [sum(node.parent == 0 for node in tree.nodes) == 2 for tree in trees]
    assert 0.38 < sum(branched) / len(branched) < 0.62
    assert {len(tree.leaves) for tree in trees} == {1, 2, 3, 4}


@given(
    depth=st.integers(1, 7),
    branching=st.floats(0, 1),
    levels=st.integers(0, 3),
    draw=st.integers(0, 99),
    seed=st.data(),
)
@settings(max_examples=40)
def test_the_tree_keeps_its_rules_whatever_the_curator_does(
    depth: int, branching: float, levels: int, draw: int, seed: st.DataObject
) -> None:
    def whim(inputs: dict[str, Any]) -> dict[str, Any]:
        name = f"Place{seed.draw(st.integers(0, 40))}"
        return seed.draw(st.sampled_from([go_on(inputs), {"tool": "search", "argument": name}, {"tool": "leave"}]))

    rules = f"tree.depth={depth}", f"tree.branching={branching}", f"tree.branching_depth={levels}"
    tree, _ = grow_tree(whim, *rules, draw=draw)
    actions = [(node.tool, node.argument) for node in tree.nodes[1:]]
    assert len(set(actions)) == len(actions)
    assert max(list_depths(tree)) <= depth
    assert all(node.reached for node in tree.nodes)
    for index, node in enumerate(tree.nodes[1:], 1):
        assert node.parent is not None
        assert node.parent < index
        level = len(tree.path(index)) - 1
        siblings = [sibling for sibling in tree.nodes if sibling.parent == node.parent]
        assert len(siblings) <= (2 if level <= levels else 1)
        # Depth first: a parent other than the previous node is on that node's path.
        assert tree.nodes[node.parent] in tree.path(index - 1)
        assert not set(node.reached) & {title for above in tree.path(node.parent) for title in above.reached}


def test_an_action_is_never_repeated_anywhere_in_the_tree() -> None:
    stubborn = iter([{"tool": "search", "argument": "Place2"}, {"tool": "search", "argument": "place2?"}] * 9)
    tree, llm = grow_tree(lambda inputs: next(stubborn), "tree.depth=2", "tree.branching=0")
    assert [node.argument for node in tree.nodes] == ["", "Place2"]
    assert "tried before" in llm.requests[-1].messages[-1].content


def test_an_action_that_reaches_nothing_new_makes_no_node_and_is_reported() -> None:
    names = iter(["Place300", "Place301", "Place2", "Place1"])
    tree, llm = grow_tree(
        lambda inputs: {"tool": "search", "argument": next(names)} if len(inputs["tried"]) < 4 else {"tool": "leave"},
        "tree.branching=0",
    )
    assert [node.argument for node in tree.nodes] == ["", "Place2"]
    assert tree.refused == 3
    assert [(a["argument"], a["found"], a["new"]) for a in read_inputs(llm.requests[-1])["tried"]] == [
        ("Place300", ["Place300"], []), ("Place301", ["Place301"], []), ("Place2", ["Place2"], ["Place2"]),
        ("Place1", ["Place1"], []),
    ]  # fmt: skip


def test_a_path_ends_after_too_many_fruitless_actions() -> None:
    number = count(100)
    tree, llm = grow_tree(lambda inputs: {"tool": "search", "argument": f"Place{next(number)}"})
    assert (len(tree.nodes), tree.refused, len(llm.requests)) == (1, TRIES, TRIES)


def test_the_curator_sees_only_its_path_and_each_passage_once() -> None:
    _, llm = grow_tree(go_on, "tree.branching=1", "tree.branching_depth=1", "tree.depth=3")
    last = read_inputs(llm.requests[-1])
    assert [step["argument"] for step in last["path"]] == ["Place3", "Place6"]
    ids = [p["id"] for step in last["path"] for p in step["passages"]]
    assert len(set(ids)) == len(ids) == 2
    assert last["left"] == 1
    assert {"Place2", "Place4"} < {action["argument"] for action in last["tried"]}


def test_open_reads_the_document_of_a_passage_on_the_path() -> None:
    second = passage(make_place(1).document_id, "Place1", "Place1 was founded by Ada Holm.", n=1)
    shelf = Shelf(make_place(1), second, make_place(2))
    actions = iter(
        [{"tool": "open", "argument": "p000000000000"}, {"tool": "open", "argument": make_place(2).shown_id}]
    )

    def curator(request: Request) -> Message:
        inputs = read_inputs(request)
        action = next(actions, {"tool": "leave"}) if inputs["path"] else {"tool": "search", "argument": "Place2"}
        return call("explore", **action)

    llm = ScriptedLLM(curator)
    context = RunContext(config.build(sets=["retrieval.k=1", "tree.branching=0"]), llm, shelf, LINEAGE)
    seed = Seed(key="a", passage=make_place(1), draw=0, side="train", target_steps=2)
    tree = asyncio.run(grow(seed, context))
    assert [node.argument for node in tree.nodes] == ["", "Place2"]
    assert tree.refused == 1
    assert any("holds no passage" in message.content for message in llm.requests[2].messages)


def test_the_paths_with_most_documents_are_chosen() -> None:
    tree, _ = grow_tree(go_on, "tree.branching=1", "tree.branching_depth=2", "tree.depth=5", "tree.paths=2")
    scores = {leaf: tree.score(leaf) for leaf in tree.leaves}
    assert len(tree.paths) == 2
    assert min(scores[leaf] for leaf in tree.paths) >= max(
        scores[leaf] for leaf in tree.leaves if leaf not in tree.paths
    )


FILM = passage("f", "Lantern Bay (film)", "A silent drama by Ada Holm.")


@pytest.mark.parametrize(
    ("title", "text", "query", "reached"),
    [
        ("Ada Holm", "A painter.", "who made it", True),  # the path names it
        ("Reviews", "Lantern Bay was a success.", "reviews", True),  # it names the path's title
        ("Salt Road", "A 1921 film by Ada Holm.", "Ada Holm", True),  # both name what was searched for
        ("Salt Road", "A 1921 film by Ada Holm.", "films", False),
        ("Tax law", "Dues on salt.", "Ada Holm", False),
        ("Lantern Bay (novel)", "Ada Holm read it.", "Ada Holm", False),  # no new name
    ],
)
def test_a_title_is_new_if_the_path_lacks_it_and_is_linked_to_it(
    title: str, text: str, query: str, reached: bool
) -> None:
    result = passage("x", title, text)
    search = Call(id="", tool="search", argument=query, passage_ids=(result.id,))
    assert bool(new_titles(search, [result], [FILM])) is reached
