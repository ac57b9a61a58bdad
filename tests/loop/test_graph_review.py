"""Problems of a proposed graph that rules and a reader find, without a generator."""

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.loop.graph_review import GraphReview, review_graph
from pipeline.types import Cause, Message, Passage
from pipeline.types.graph import Citation, ComputedStep, FoundStep, Graph
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM


def make_citation(source: Passage) -> Citation:
    return Citation(
        passage_id=source.id, title=source.title, sentences=(0,), quote=source.text, passage_sha256=source.sha256
    )


def test_reader_sees_each_cited_passage_once_and_whole() -> None:
    pier = passage("pier", "Copper Pier", "It opened in 1902. Ivo Brandt led it. By other accounts it opened in 1904.")
    bay = passage("bay", "Lantern Bay", "It was directed by Ada Holm.")
    citation = Citation(
        passage_id=pier.id, title=pier.title, sentences=(0,), quote="It opened in 1902.", passage_sha256=pier.sha256
    )
    steps: list[FoundStep | ComputedStep] = [
        FoundStep(id="year", sub_question="When did Copper Pier open?", answer="1902", citation=citation),
        FoundStep(id="head", sub_question="Who led Copper Pier?", answer="Ivo Brandt", citation=make_citation(pier)),
        FoundStep(id="name", sub_question="Who directed Lantern Bay?", answer="Ada Holm", citation=make_citation(bay)),
        ComputedStep(id="all", sub_question="?", answer="", needs=("year", "head", "name"), operation="list"),
    ]
    llm = ScriptedLLM(lambda _: Message(role="assistant", content='{"faults": []}'))
    review(*steps, shelf=Shelf(pier, bay), llm=llm)
    inputs = prompts.unfence(llm.requests[0].messages[1].content) or {}
    text = "[1] It opened in 1902.\n[2] Ivo Brandt led it.\n[3] By other accounts it opened in 1904."
    assert [shown["text"] for shown in inputs["passages"]] == [text, "[1] It was directed by Ada Holm."]
    assert [(step["passage"], step["sentences"]) for step in inputs["steps"][:2]] == [(pier.shown_id, [1])] * 2


@pytest.mark.parametrize(
    ("title", "text", "shown"),
    [
        ("Copper Pier", "It is old.", "namesake"),
        ("Pier guild", "Copper Pier was once led by Lea Moor, too.", "rival"),
    ],
)
def test_reader_sees_the_best_passage_of_an_uncited_document_first_of_all_a_namesake(
    title: str, text: str, shown: str
) -> None:
    cited = passage("pier", "Copper Pier", "It was led by Ivo Brandt.")
    further = passage("pier", "Copper Pier", "Who led Copper Pier? They led it in turn.", 1)
    rival = passage("guild", "A guild", "Who led Copper Pier? Lea Moor once led it.")
    other = passage("other", title, text)
    step = FoundStep(id="head", sub_question="Who led Copper Pier?", answer="Ivo Brandt", citation=make_citation(cited))
    llm = ScriptedLLM(lambda _: Message(role="assistant", content='{"faults": []}'))
    review(step, shelf=Shelf(cited, further, rival, other), llm=llm, sets=["retrieval.k=4"])
    inputs = prompts.unfence(llm.requests[0].messages[1].content) or {}
    expected = {"namesake": other, "rival": rival}[shown]
    assert [passage["text"] for passage in inputs["others"]] == [expected.text]


@pytest.mark.parametrize(("chatter", "is_refused"), [("of the in which of the", True), ("visited Tahiti Wake", False)])
def test_one_search_for_the_telling_words_may_not_return_all_values(chatter: str, *, is_refused: bool) -> None:
    """Common words spoil a search with the sub-questions themselves, but nobody has to search with them."""
    tahiti = passage("tahiti", "Tahiti", "Wallis visited Tahiti first.")
    wake = passage("wake", "Wake Island", "Neyra sighted Wake Island first.")
    noise = passage("noise", "Noise", f"{chatter} {chatter}")
    steps: list[FoundStep | ComputedStep] = [
        FoundStep(id="a", sub_question="By which of the explorers was Tahiti visited?",
                  answer="Wallis", citation=make_citation(tahiti)),
        FoundStep(id="b", sub_question="Which of the explorers sighted Wake Island?",
                  answer="Neyra", citation=make_citation(wake)),
        ComputedStep(id="all", sub_question="?", answer="", needs=("a", "b"), operation="list"),
    ]  # fmt: skip
    findings = review(*steps, shelf=Shelf(tahiti, wake, noise), sets=["retrieval.k=2", "steps=1-4"]).findings
    joint = [finding.detail for finding in findings if "returns the deciding passages" in finding.detail]
    assert bool(joint) is is_refused
    assert not is_refused or "one search for 'explorers tahiti visited sighted wake island'" in joint[0]


def review(
    *steps: FoundStep | ComputedStep,
    shelf: Shelf,
    faults: Sequence[dict[str, str]] = (),
    llm: ScriptedLLM | None = None,
    sets: Sequence[str] = (),
) -> GraphReview:
    models = {"default": {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}}
    settings = config.build(values={"strategy": "compose", "models": models}, sets=["retrieval.k=1", *sets])
    llm = llm or ScriptedLLM(lambda _: Message(role="assistant", content=orjson.dumps({"faults": faults}).decode()))
    context = RunContext(config=settings, llm=llm, retriever=shelf, lineage=LINEAGE)
    return asyncio.run(review_graph(Graph(steps=steps), 2, shelf.passages, context))


@pytest.mark.parametrize(
    ("text", "operation", "is_refused"),
    [
        ("The crew had several heads, such as Ivo Brandt and Lea Moor.", "list", True),
        ("Its heads were Ivo Brandt, Lea Moor, among others.", "list", True),
        ("Zu den Leitern zählten unter anderem Lea Moor, darunter Ivo Brandt.", "list", True),
        ("Its heads were Ivo Brandt and Lea Moor.", "list", False),
        ("It had rooms such as a hall (built in 1902), and Ivo Brandt led it.", "list", False),
        ("The crew had several heads, such as Ivo Brandt and Lea Moor.", "yes_no", False),
    ],
)
def test_open_enumeration_is_no_evidence_for_a_set(text: str, operation: str, is_refused: bool) -> None:
    pier = passage("pier", "Copper Pier", text)
    bay = passage("bay", "Lantern Bay", "It was directed by Ada Holm.")
    steps = [
        FoundStep(id=n, sub_question=f"Who led {p.title}?", answer=a, citation=make_citation(p))
        for n, a, p in (("a", "Ada Holm", bay), ("b", "Ivo Brandt", pier))
    ]
    last = ComputedStep(id="c", sub_question="Who?", answer="", needs=("a", "b"), operation=operation)
    problems = review(*steps, last, shelf=Shelf(bay, pier)).problems
    assert any("step 'b' ('Copper Pier'): its sentences name 'Ivo Brandt' as an example" in p for p in problems) is (
        is_refused
    )


def test_unsettled_steps_do_not_hide_other_problems() -> None:
    homes = [passage(n, f"Pier {n}{n}", "It opened in 1902.") for n in "abc"]
    steps = [
        FoundStep(id=home.document_id, sub_question="When?", answer="1902", citation=make_citation(home))
        for home in homes[:2]
    ]
    tie = ComputedStep(id="tie", sub_question="?", answer="", needs=("a", "b"), operation="extreme", which="earliest")
    bad = ComputedStep(id="bad", sub_question="?", answer="", needs=("a", "b"), operation="ratio")
    last = ComputedStep(id="last", sub_question="?", answer="", needs=("tie", "bad"), operation="list")
    problems = review(*steps, tie, bad, last, shelf=Shelf(*homes)).problems
    assert [problem.partition(":")[0] for problem in problems] == ["step 'tie'", "step 'bad'"]


def test_each_finding_names_its_cause_and_the_step_at_fault() -> None:
    pier = passage("pier", "Copper Pier", "It opened in 1902. Ivo Brandt led it.")
    copy = passage("copy", "Copper Pier (building)", "It opened in 1902. Ivo Brandt led it. It burnt down.")
    steps = [
        FoundStep(id="year", sub_question="When did Copper Pier open?", answer="1902", citation=make_citation(pier)),
        FoundStep(
            id="head", sub_question="Who led it?", answer="Ivo Brandt", citation=make_citation(copy), needs=("year",)
        ),
    ]
    findings = review(*steps, shelf=Shelf(pier, copy)).findings
    assert [(finding.check, finding.cause, finding.hops) for finding in findings] == [
        ("graph", Cause.QUERY_COLLAPSE, ()),
        ("graph", Cause.CO_LOCATED, (0,)),
    ]
    assert "its sentences stand in the passage of step 'head' too" in findings[1].detail


def test_undated_facts_and_unrelated_branches_are_sent_back() -> None:
    homes = [passage(n, f"Pier {n}{n}", f"It had {20 + index} members.") for index, n in enumerate("abc")]
    steps = [
        FoundStep(id=home.document_id, sub_question="How many?", answer=str(20 + index), citation=make_citation(home))
        for index, home in enumerate(homes)
    ]
    last = ComputedStep(
        id="last", sub_question="?", answer="", needs=("a", "b", "c"), operation="extreme", which="most"
    )
    faults = [
        {"step": "a", "fault": "undated", "reason": "members come and go"},
        {"step": "last", "fault": "unrelated", "reason": "a choir and two ships"},
        {"step": "b", "fault": "unrelated", "reason": "says nothing of a found step"},
    ]
    findings = review(*steps, last, shelf=Shelf(*homes), faults=faults).findings
    causes = {(finding.cause, finding.detail.partition(":")[0]) for finding in findings}
    assert {(Cause.UNDATED, "step 'a' ('Pier aa')"), (Cause.UNNATURAL, "step 'last'")} <= causes
    assert not any("says nothing" in finding.detail for finding in findings)


def test_the_reader_judges_each_step_once_whatever_the_wording() -> None:
    pier, bay, hall = (passage(n, f"{n} page", f"The {n} was led by Ivo {n}.") for n in ("pier", "bay", "hall"))
    shelf, llm = Shelf(pier, bay, hall), ScriptedLLM(lambda _: Message(role="assistant", content='{"faults": []}'))
    models = {"default": {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}}
    settings = config.build(values={"strategy": "compose", "models": models}, sets=["retrieval.k=1"])
    context = RunContext(config=settings, llm=llm, retriever=shelf, lineage=LINEAGE)

    def make_graph(*pages: Passage) -> Graph:
        steps = [
            FoundStep(
                id=p.document_id,
                sub_question=f"Who led the {p.title}?",
                answer=p.text[:-1].split()[-1],
                citation=make_citation(p),
            )
            for p in pages
        ]
        ids = tuple(step.id for step in steps)
        last = ComputedStep(id="all", sub_question="?", answer="", needs=ids, operation="list")
        return Graph(steps=(*steps, last))

    def list_steps_to_check(graph: Graph) -> list[str]:
        before = len(llm.requests)
        asyncio.run(review_graph(graph, 2, shelf.passages, context))
        inputs = [prompts.unfence(request.messages[1].content) or {} for request in llm.requests[before:]]
        return [step for entry in inputs for step in entry["to_check"]]

    assert list_steps_to_check(make_graph(pier, bay)) == ["pier", "bay", "all"]
    assert list_steps_to_check(make_graph(pier, bay)) == []
    assert list_steps_to_check(make_graph(pier, hall)) == ["hall", "all"]


def build_chain(*sub_questions: str) -> tuple[list[FoundStep | ComputedStep], Shelf]:
    """Build a chain in which each step but the first needs the one before, over a shelf of its passages."""
    things = ("Ada Holm", "Vess Yard", "Orlen", "Tarn Bridge")
    passages = [
        passage("bay", "Lantern Bay", "Lantern Bay was directed by Ada Holm."),
        passage("holm", "Ada Holm", "Ada Holm founded the shipyard Vess Yard."),
        passage("yard", "Vess Yard", "Vess Yard stood in Orlen."),
        passage("orlen", "Orlen", "The oldest bridge of Orlen is Tarn Bridge, a footbridge."),
        passage("pier", "Copper Pier", "Copper Pier is a pier with a bridge, a shipyard and a town."),
    ]
    steps: list[FoundStep | ComputedStep] = [
        FoundStep(
            id=f"s{index}",
            sub_question=sub_question,
            answer=things[index],
            needs=(f"s{index - 1}",) if index else (),
            citation=make_citation(passages[index]),
        )
        for index, sub_question in enumerate(sub_questions)
    ]
    return steps, Shelf(passages[-1], *passages[:-1])


@pytest.mark.parametrize(
    ("town", "steps", "is_refused"),
    [
        ("Which pier with a town is {s1}?", "4-4", False),
        ("In which town stood Vess Yard, that is {s1}?", "4-4", True),
        ("In which town stood Vess Yard, that is {s1}?", "2-4", False),
    ],
)
def test_a_chain_that_can_be_entered_in_the_middle_must_stay_long_enough(
    town: str, steps: str, is_refused: bool
) -> None:
    graph, shelf = build_chain("Who directed Lantern Bay?", "Which pier is by {s0}?", town, "Which pier is in {s2}?")
    findings = review(*graph, shelf=shelf, sets=[f"steps={steps}", "difficulty.adversarial=true"]).findings
    assert [finding.cause for finding in findings] == [Cause.QUERY_COLLAPSE] * is_refused
    if is_refused:
        assert "returns the passage first: 's2' by stood, vess, yard." in findings[0].detail
        assert "only 2 must be searched for (at least 4 are asked for)" in findings[0].detail


@pytest.mark.parametrize(("pages", "is_refused"), [(120, True), (60, False)])
def test_a_chain_may_not_end_where_a_search_by_kind_finds_it(pages: int, is_refused: bool) -> None:
    """The end is at rank 2, which is among the best fiftieth of 120 hits and not of 60."""
    bay = passage("bay", "Lantern Bay", "Lantern Bay was directed by Ada Holm.")
    holm = passage("holm", "Ada Holm", "Ada Holm led the lifeboat guild of a harbour.")
    guild = passage("guild", "Lifeboat guild", "The lifeboat guild led a lifeboat and a guild.")
    towns = [passage(f"town{n}", f"Town {n}", "A guild met here.") for n in range(pages)]
    steps = [
        FoundStep(id="a", sub_question="Who directed Lantern Bay?", answer="Ada Holm", citation=make_citation(bay)),
        FoundStep(
            id="b",
            sub_question="Which lifeboat guild was led by {a}?",
            answer="a harbour",
            needs=("a",),
            citation=make_citation(holm),
        ),
    ]
    settings = ["steps=2-4", "difficulty.adversarial=true"]
    findings = review(*steps, shelf=Shelf(bay, holm, guild, *towns), sets=settings).findings
    assert [finding.cause for finding in findings] == [Cause.QUERY_COLLAPSE] * is_refused
    if is_refused:
        assert "returns its passage at rank 2: 'b' by lifeboat, guild." in findings[0].detail
