"""A set that one passage lists, whose members have steps of their own and are not named in the question."""

import asyncio

import orjson
import pytest

from pipeline import config, prompts
from pipeline.agents.grading import build_verdict
from pipeline.agents.judge import Grade
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.graph_review import GraphReview, review_graph
from pipeline.loop.hidden_answers import HiddenAnswers
from pipeline.loop.question_writing import write_question
from pipeline.operations import idle_steps, settle
from pipeline.types import AnswerType, Draft, Message, Passage
from pipeline.types.graph import ComputedStep, FoundStep, Graph
from tests.loop.cast import LINEAGE
from tests.loop.rollouts import make_rollout
from tests.loop.test_graph_review import make_citation
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

LIST = passage("vessland", "Vessland", "Its neighbours are Tarnia, Holmia and Brandia.")
LAKES = {
    "Tarnia": passage("tarnia", "Tarnia", "Of the ground of Tarnia, 12% is forest."),
    "Holmia": passage("holmia", "Holmia", "Of the ground of Holmia, 48% is forest."),
    "Brandia": passage("brandia", "Brandia", "Of the ground of Brandia, 31% is forest."),
}
SHELF = Shelf(LIST, *LAKES.values())
QUESTION = "Which of the countries that border Vessland has the largest share of forest?"


def make_set(answer: str = "Tarnia; Holmia; Brandia", text: str = LIST.text) -> FoundStep:
    source = passage("vessland", "Vessland", text)
    return FoundStep(
        id="near", sub_question="Which countries border Vessland?", answer=answer, citation=make_citation(source)
    )


def make_member(name: str, about: str = "") -> FoundStep:
    source = LAKES[name]
    return FoundStep(
        id=name.lower(), sub_question="What share of {near} is forest?", answer=source.text.split()[-3],
        needs=("near",), about=about or name, citation=make_citation(source),
    )  # fmt: skip


def make_graph(first: FoundStep, *members: FoundStep) -> Graph:
    last = ComputedStep(
        id="z", sub_question="?", answer="", needs=tuple(m.id for m in members), operation="extreme", which="most"
    )
    return Graph(steps=(first, *members, last))


GRAPH = settle(make_graph(make_set(), *map(make_member, LAKES)))[0]
DRAFT = Draft(question=QUESTION, answer_type=AnswerType.COMPARISON, graph=GRAPH)


def test_the_winner_is_the_member_that_its_step_starts_from() -> None:
    assert GRAPH.answer == "Holmia"
    assert [GRAPH.fill_in(step) for step in GRAPH.found[1:]] == [f"What share of {name} is forest?" for name in LAKES]
    assert idle_steps(GRAPH) == ()


def review(graph: Graph, *lists: Passage) -> GraphReview:
    models = {"default": {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}}
    settings = config.build(values={"strategy": "compose", "models": models}, sets=["retrieval.k=1"])
    llm = ScriptedLLM(lambda _: Message(role="assistant", content='{"faults": []}'))
    shelf = Shelf(*(lists or [LIST]), *LAKES.values())
    context = RunContext(config=settings, llm=llm, retriever=shelf, lineage=LINEAGE)
    return asyncio.run(review_graph(graph, 4, shelf.passages, context))


def test_a_whole_set_passes_the_review() -> None:
    assert review(GRAPH).problems == ()


@pytest.mark.parametrize(
    ("graph", "problem_part"),
    [
        (make_graph(make_set(), *map(make_member, ["Tarnia", "Holmia"])), "no step starts from Brandia"),
        (
            make_graph(make_set(), make_member("Tarnia"), make_member("Holmia"), make_member("Brandia", "Brand")),
            "its `about` is no member of the set 'near'",
        ),
        (
            make_graph(
                make_set(text="It has neighbours such as Tarnia, Holmia and Brandia."), *map(make_member, LAKES)
            ),
            "as an example ('such as')",
        ),
    ],
)
def test_a_set_that_is_not_whole_is_sent_back(graph: Graph, problem_part: str) -> None:
    assert any(problem_part in problem for problem in review(graph).problems)


def test_a_list_that_ends_a_graph_needs_no_steps_of_its_members() -> None:
    assert not any("no step starts" in problem for problem in review(Graph(steps=(make_set(),))).problems)


def test_a_step_may_start_from_a_member_of_two_sets() -> None:
    other_list = passage("isle", "Isle", "Its neighbours are Holmia and Brandia.")
    neighbours_of_isle = FoundStep(
        id="far", sub_question="Which countries border the Isle?", answer="Holmia; Brandia",
        citation=make_citation(other_list),
    )  # fmt: skip
    members = [make_member(name) for name in LAKES]
    shared = [
        member.model_copy(update={"needs": ("near", "far"), "sub_question": "What share of {far} is forest?"})
        for member in members[1:]
    ]
    steps = (make_set(), neighbours_of_isle, members[0], *shared, make_graph(make_set(), *members).last)
    graph = Graph(steps=steps)
    assert [graph.fill_in(step) for step in graph.found[3:]] == [
        "What share of Holmia is forest?",
        "What share of Brandia is forest?",
    ]
    assert review(settle(graph)[0], LIST, other_list).problems == ()


def test_no_member_may_be_named_by_a_wording() -> None:
    hidden = HiddenAnswers(GRAPH)
    assert hidden.describe_leaks(QUESTION) == ""
    assert "[near]" in hidden.describe_leaks("Which neighbour of Vessland, such as Brandia, has the most forest?")


def test_writer_is_told_of_the_set_as_a_whole() -> None:
    requests: list[dict] = []

    def answer(request: Request) -> Message:
        requests.append(prompts.unfence(request.messages[1].content) or {})
        fields: dict = {"wordings": [QUESTION]}
        if request.output and request.output.name == "choose":
            fields = {"grades": [5], "best": 1}
        return Message(role="assistant", content=orjson.dumps(fields).decode())

    settings = config.build(sets=["steps=1-4", "retrieval.k=1"])
    context = RunContext(config=settings, llm=ScriptedLLM(answer), retriever=SHELF, lineage=LINEAGE)
    written = asyncio.run(write_question(GRAPH, settle(GRAPH)[1], context))
    assert written.question == QUESTION
    steps = {step["id"]: step for step in requests[0]["steps"]}
    assert {steps[name.lower()]["about"] for name in LAKES} == {"one of [near]"}
    assert steps["z"]["computes"] == "the thing with the most among each of [near] (What share of [near] is forest?)"


@pytest.mark.parametrize(
    ("results", "queries", "counts"),
    [
        ([[LIST], list(LAKES.values())], ["countries that border Vessland", "forest Tarnia Holmia Brandia"], True),
        # It names a neighbour that nothing has shown.
        ([[LAKES["Holmia"]], [LIST], list(LAKES.values())],
         ["forest share of Holmia", "countries that border Vessland", "forest share of the neighbours"], False),
        # It has not seen the values of all.
        ([[LIST], [LAKES["Holmia"]]], ["countries that border Vessland", "forest share Holmia"], False),
    ],
)  # fmt: skip
def test_a_try_counts_if_it_saw_all_values_and_guessed_no_member(
    results: list[list], queries: list[str], *, counts: bool
) -> None:
    rollout = make_rollout(*results, queries=queries)
    verdict = build_verdict(DRAFT, rollout, Grade(right=True, method="exact"))
    assert verdict.counts is counts


def test_another_passage_shows_a_set_only_if_it_names_every_member() -> None:
    incomplete = passage("atlas", "Atlas", "Vessland borders on Tarnia and Holmia.")
    complete = passage("atlas", "Atlas", "Vessland borders on Brandia, Tarnia and Holmia.")
    for source, step in ((incomplete, None), (complete, 1)):
        verdict = build_verdict(DRAFT, make_rollout([source], queries=["Vessland"]), Grade(right=False, method="exact"))
        assert verdict.found_at[0] == step
