"""The writer's inputs: the graph, and why earlier wordings were dropped."""

import asyncio
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.hidden_answers import HiddenAnswers
from pipeline.loop.question_writing import (
    describe_answer_form,
    draw_order,
    find_late_entry,
    find_shortcut,
    split_clauses,
    write_question,
)
from pipeline.operations import evaluate
from pipeline.types import Message
from pipeline.types.graph import ComputedStep, FoundStep, Graph
from tests.loop.cast import LINEAGE
from tests.loop.graphs import make_citation, make_graph
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM


def make_branches() -> Graph:
    """Make a graph of two towns that piers lead to, and of how far apart they were founded."""
    towns = [
        FoundStep(id=f"town{n}", sub_question=f"Which town has pier {n}?", answer=f"Vess {n}",
                  citation=make_citation(f"pier{n}", f"Pier {n}", f"Pier {n} lies in Vess {n}."))
        for n in range(2)
    ]  # fmt: skip
    years = [
        FoundStep(id=f"year{n}", sub_question=f"When was {{town{n}}} founded?", answer=f"18{n}1", needs=(f"town{n}",),
                  citation=make_citation(f"town{n}", f"Vess {n}", f"Vess {n} was founded in 18{n}1."))
        for n in range(2)
    ]  # fmt: skip
    needs = tuple(year.id for year in years)
    last = ComputedStep(id="z", sub_question="?", answer="", needs=needs, operation="difference", unit="years")
    graph = Graph(steps=(*towns, *years, last))
    return graph.with_answers({"z": evaluate(graph)["z"].answer})


class Writer:
    """Writes these wordings, and grades them as natural unless `grading` overrides it."""

    def __init__(self, *wordings: list[str], **grading: object) -> None:
        self.wordings, self.grading = list(wordings), grading
        self.inputs: list[dict[str, Any]] = []

    def __call__(self, request: Request) -> Message:
        inputs = prompts.unfence(request.messages[1].content) or {}
        fields: dict[str, Any] = {"grades": [4] * len(inputs.get("wordings", ())), "best": 1} | self.grading
        if request.output and request.output.name == "wordings":
            self.inputs.append(inputs)
            fields = {"wordings": self.wordings.pop(0)}
        return Message(role="assistant", content=orjson.dumps(fields).decode())


def write(graph: Graph, writer: Writer, *passage_ids: str, steps: str = "2", sets: tuple[str, ...] = ()) -> str:
    """Return the question, or nothing if it is rejected; every search returns the passages with these ids."""
    models = {"default": {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}}
    settings = config.build(values={"strategy": "compose", "models": models}, sets=[f"steps=[{steps},{steps}]", *sets])
    shelf = Shelf(*(passage(passage_id, "Which", "Which towns?") for passage_id in passage_ids))
    context = RunContext(config=settings, llm=ScriptedLLM(writer), retriever=shelf, lineage=LINEAGE)
    outcome = evaluate(graph).get(graph.last.id)
    wording = asyncio.run(write_question(graph, outcome, context))
    return "" if wording.findings else wording.question


@pytest.mark.parametrize(
    ("returned", "steps", "fault"),
    [
        (("pier0", "pier1"), "4", ""),
        (("town0",), "3", ""),
        (("town0", "pier0"), "4", "[year0]"),
        (("town0", "town1"), "2", "[year0], [year1]"),
        (("town0", "pier0", "pier1"), "3", ""),
    ],
)
def test_wording_is_dropped_for_the_facts_that_it_gives_away(returned: tuple[str, ...], steps: str, fault: str) -> None:
    writer = Writer(["Which towns are how far apart?"], ["Which towns?"])
    question = write(make_branches(), writer, *returned, steps=steps)
    assert bool(question) is not bool(fault)
    if fault:
        assert f"returns the passages that state {fault}: say less" in writer.inputs[1]["earlier"][0]["fault"]


@pytest.mark.parametrize(
    ("wording", "clause"),
    [
        (
            "Lantern Bay belongs to a country. Which of its lakes is ringed by seven windmills?",
            "Which of its lakes is ringed by seven windmills?",
        ),
        (
            "What is the largest lake of the country, which is ringed by seven windmills, around Lantern Bay?",
            "which is ringed by seven windmills",
        ),
        ("What is the largest lake of the country that Lantern Bay belongs to?", ""),
    ],
)
def test_a_clause_that_finds_a_later_step_at_once_is_a_shortcut(wording: str, clause: str) -> None:
    graph = make_graph("Orlen", quote="Orlen has the lake Vess, ringed by seven windmills.")
    bay = "Lantern Bay is a bay that belongs to the country of Orlen, largest of its lake."
    retriever = Shelf(
        passage("root", "Lantern Bay", bay),
        passage("page", "Orlen", "Orlen has the lake Vess, ringed by seven windmills."),
        *(passage(f"other{n}", "Windward", "A country with the largest lake around.") for n in range(5)),
    )
    settings = config.build(sets=["steps=[2,2]", "retrieval.k=1"])
    context = RunContext(config=settings, llm=ScriptedLLM([]), retriever=retriever, lineage=LINEAGE)
    message = asyncio.run(find_late_entry(wording, graph, context))
    assert message.startswith(f"a search for '{clause}' returns the passage of [last], so") if clause else not message


@pytest.mark.parametrize(("model", "is_fault"), [("m", True), ("", False)])
def test_a_clause_may_not_find_the_end_of_a_chain_at_any_rank_that_is_shown(model: str, *, is_fault: bool) -> None:
    """The end is the second hit. Seekers that cannot guess, such as the demo model, see nothing in it."""
    graph = make_graph("Orlen", quote="Orlen has the lake Vess, ringed by seven windmills.")
    retriever = Shelf(
        passage("root", "Lantern Bay", "Lantern Bay is a bay that belongs to Orlen."),
        passage("mill", "Windmills", "Which of its lakes is ringed by windmills?"),
        passage("page", "Orlen", "Orlen has the lake Vess, ringed by seven windmills."),
    )
    models = {"default": {"provider": "openai", "model": model, "base_url": "http://127.0.0.1:9/v1"}} if model else {}
    settings = config.build(values={"models": models}, sets=["steps=[2,2]", "retrieval.k=2"])
    context = RunContext(config=settings, llm=ScriptedLLM([]), retriever=retriever, lineage=LINEAGE)
    wording = "Lantern Bay belongs to a country. Which of its lakes is ringed by windmills?"
    assert bool(asyncio.run(find_late_entry(wording, graph, context))) is is_fault


def test_clauses_are_sentences_and_their_parts_of_four_words() -> None:
    wording = "A ferry, which sank in 1901, was built here. Who owned the yard that built it in Orlen?"
    assert split_clauses(wording) == [
        "A ferry, which sank in 1901, was built here.",
        "Who owned the yard that built it in Orlen?",
        "which sank in 1901",
        "Who owned the yard",
        "that built it in Orlen?",
    ]


def test_wording_that_claims_too_much_is_never_the_best() -> None:
    writer = Writer(["Which deep lake?", "Which lake?", "Which large lake?"], grades=[5, 3, 4], best=1, added=[1])
    assert write(make_graph("Sweden"), writer, "other") == "Which large lake?"


@pytest.mark.parametrize(
    ("faults", "reasons"),
    [
        (["It is clumsy."], ["It is clumsy", "It is clumsy"]),
        (["It is clumsy.", "It is long."], ["It is clumsy", "It is long"]),
        ([], ["graded 2 of 5", "graded 2 of 5"]),
    ],
)
def test_writer_is_told_why_each_wording_cannot_be_used(faults: list[str], reasons: list[str]) -> None:
    writer = Writer(["Which lake?", "Which Swedish lake?", "What lake?"], ["Which?"], grades=[2, 2], faults=faults)
    write(make_graph("Sweden"), writer, "other")
    faults_by_wording = {wording["wording"]: wording["fault"] for wording in writer.inputs[1]["earlier"]}
    leak = "it says 'Swedish', which gives [hidden] away"
    assert faults_by_wording == {"Which lake?": reasons[0], "Which Swedish lake?": leak, "What lake?": reasons[1]}


def test_writer_sees_no_form_of_a_hidden_answer() -> None:
    graph = make_graph("Sweden", quote="Sweden has lakes. The Swedish lake Vess is the largest.")
    writer = Writer(["Which lake?"])
    write(graph, writer, "other", steps="2")
    assert "Swed" not in orjson.dumps(writer.inputs[0]).decode()


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("1894", "a year or another number, as this asks: What is the largest lake of [hidden]?"),
        ("3 March 1894", "a date: day, month and year"),
        ("123456789", "a number, as this asks: What is the largest lake of [hidden]?"),
        ("2.2 %", "an amount in the unit and with the precision of '#.# %' (# is a digit)"),
        ("Vess", "a name or a few words, as short as they can be, as this asks: What is the largest lake of [hidden]?"),
    ],
)
def test_form_of_a_stated_answer_is_described(answer: str, form: str) -> None:
    graph = make_graph("Sweden", last=answer)
    assert describe_answer_form(graph, None, HiddenAnswers(graph)) == form


def test_form_of_a_computed_number_is_described() -> None:
    graph = make_branches()
    assert describe_answer_form(graph, evaluate(graph)["z"], HiddenAnswers(graph)) == "a number in years"


def test_writer_is_told_in_words_what_is_computed() -> None:
    writer = Writer(["Which towns?"])
    write(make_branches(), writer, "other")
    operands = "[year0] (When was [town0] founded?) and [year1] (When was [town1] founded?)"
    assert writer.inputs[0]["steps"][-1]["computes"] == f"the difference between {operands}, in years"


def test_wording_is_tried_over_every_retriever() -> None:
    graph = make_branches()
    shelves = [Shelf(*(passage(name, "Which", "Which towns?") for name in names)) for names in ((), ("town0", "town1"))]
    context = RunContext(
        config=config.build(sets=["steps=[2,2]"]),
        llm=ScriptedLLM([]),
        retriever=shelves[0],
        lineage=LINEAGE,
        others={"dense": shelves[1]},
    )
    shortcut = asyncio.run(find_shortcut("Which towns?", graph, context))
    assert shortcut.startswith("one search with it over dense returns the passages that state [year0], [year1]")


def make_extreme(number: int, winner: int, operation: str = "extreme") -> Graph:
    """Make a graph that chooses among three towns, listed with the `winner` at this index."""
    settings = {"which": "earliest"} if operation == "extreme" else {"condition": "before", "bound": "1800"}
    towns = [
        FoundStep(id=f"pier{n}", sub_question=f"Which town has pier {number}-{n}?", answer=f"Vess {number}-{n}",
                  citation=make_citation(f"pier{number}-{n}", f"Pier {number}-{n}", f"It lies in Vess {number}-{n}."))
        for n in range(3)
    ]  # fmt: skip
    years = [
        FoundStep(id=f"year{n}", sub_question=f"When was {{pier{n}}} founded?", needs=(f"pier{n}",),
                  answer="1701" if n == winner else f"18{n}1",
                  citation=make_citation(f"town{number}-{n}", f"Vess {number}-{n}",
                                         f"Vess {number}-{n}: 18{n}1, 1701."))
        for n in range(3)
    ]  # fmt: skip
    needs = tuple(year.id for year in years)
    last = ComputedStep.model_validate(
        {"id": "z", "sub_question": "?", "answer": "", "needs": needs, "operation": operation, **settings}
    )
    return Graph(steps=(*towns, *years, last))


def test_the_position_of_the_winner_is_balanced_whatever_the_order_of_steps() -> None:
    positions = [draw_order(make_extreme(number, winner=0)).last.needs.index("year0") for number in range(300)]
    assert all(80 < positions.count(position) < 120 for position in range(3))


@pytest.mark.parametrize("operation", ["extreme", "filter"])
def test_the_writer_sees_the_drawn_order_and_the_evidence_keeps_its_order(operation: str) -> None:
    graph = make_extreme(7, winner=0, operation=operation)
    writer = Writer(["Which of the three towns?"])
    write(graph, writer, "other", steps="2")
    steps = writer.inputs[0]["steps"]
    ordered = draw_order(graph)
    assert [step["id"] for step in steps] == [step.id for step in ordered.steps]
    assert steps[-1]["of"] == list(ordered.last.needs) == [step["id"] for step in steps if step["id"][:4] == "year"]
    assert sorted(step["id"] for step in steps) == sorted(graph.by_id)
    assert evaluate(ordered)["z"] == evaluate(graph)["z"]


@pytest.mark.parametrize("graph", [make_branches(), make_graph("Sweden")], ids=["difference", "lookup"])
def test_steps_among_which_nothing_is_chosen_keep_their_order(graph: Graph) -> None:
    assert draw_order(graph) == graph
