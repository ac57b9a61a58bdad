"""RAGShaper: a tree, a question from its best path, and the paper's rules for questions."""

import asyncio
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.agents.tools import COMPOSE, ExploreArguments
from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded, FormatError
from pipeline.llm.base import Request
from pipeline.loop.strategies import ragshaper
from pipeline.loop.strategies.base import Proposal
from pipeline.types import Draft, Feedback, Label, Message, Record, Round, Status
from tests.graph_drafts import drafted, step
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, get_role, make_proposal, make_seed
from tests.passages import Shelf
from tests.scripted_llm import ScriptedLLM

MISLED = {
    "dimension": "doppelganger",
    "misleading_claim": "1922",
    "disambiguation": "It is told of the film, not of the town.",
    "distraction_text": "",
}


class Curated(Cast):
    """Searches for these names and leaves; composes the scripted questions one after another."""

    def __init__(self, *composed: dict[str, Any], actions: tuple[str, ...] = ("Ada Holm", "Vessby")) -> None:
        super().__init__(lambda question, sample: 3)
        self.composed, self.actions, self.asked = list(composed), actions, list[dict[str, Any]]()

    def __call__(self, request: Request) -> Message:
        role = get_role(request)
        inputs = prompts.unfence(request.messages[1].content) or {}
        if role == "explore":
            tried_arguments = {action["argument"] for action in inputs["tried"]}
            name = next((name for name in self.actions if name not in tried_arguments), "")
            arguments = ExploreArguments(tool="search" if name else "leave", argument=name, intent=f"who is {name}?")
            return call("explore", **arguments.model_dump())
        if role == "compose":
            self.asked.append(inputs)
            return call("compose", **(self.composed.pop(0) if len(self.composed) > 1 else self.composed[0]))
        return super().__call__(request)


def make_context(cast: Cast, *sets: str, preset: str = "default") -> RunContext:
    fixed = ["strategy=ragshaper", "retrieval.k=1", "tree.branching=0", "difficulty.adversarial=false"]
    settings = config.build(values={"preset": preset}, sets=[*fixed, *sets])
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=SHELF, lineage=LINEAGE)


def propose(cast: Cast, *sets: str) -> Proposal:
    return asyncio.run(ragshaper.propose(make_seed(), make_context(cast, *sets)))


def run(cast: Cast) -> Record:
    from pipeline.loop.episode import run_seed

    return asyncio.run(run_seed(make_seed(), make_context(cast)))


def test_the_composer_sees_the_path_with_its_intents_and_each_passage_once() -> None:
    cast = Curated(make_proposal())
    drafting = propose(cast)
    inputs = cast.asked[0]
    assert [(s["argument"], s["intent"]) for s in inputs["path"]] == [
        ("Ada Holm", "who is Ada Holm?"), ("Vessby", "who is Vessby?"),
    ]  # fmt: skip
    assert [p["title"] for s in inputs["path"] for p in s["passages"]] == ["Ada Holm", "Vessby"]
    assert (inputs["least_hops"], inputs["target_steps"]) == (2, 3)
    assert drafting.draft is not None
    assert [hop.passage_id for hop in drafting.draft.hops] == [FILM.id, HOLM.id, TOWN.id]


def test_a_question_of_a_tree_runs_through_the_same_loop_and_the_record_keeps_the_tree() -> None:
    record = run(Curated(make_proposal(negative_aspect=[MISLED])))
    assert (record.status, record.difficulty) == (Status.ACCEPTED, 3)
    tree = record.rounds[0].tree
    assert tree is not None
    assert [node.argument for node in tree.path(tree.composed or 0)] == ["", "Ada Holm", "Vessby"]
    assert record.usage["curator"].calls == tree.usage.calls == 3
    assert record.usage["generator"].calls == 1
    assert Record.model_validate_json(record.model_dump_json()) == record


def test_negative_aspects_are_kept_and_shown_to_no_agent() -> None:
    cast = Curated(make_proposal(negative_aspect=[MISLED]))
    cast.paths = lambda question, sample: 2
    cast.revisions = [make_proposal(f"{QUESTION[:-1]}, roughly?"), make_proposal(question="", steps=[])]
    record = run(cast)
    first = record.rounds[0]
    assert first.draft is not None
    assert first.draft.negative_aspect[0].misleading_claim == "1922"
    messages = [m for r in first.rollouts for m in r.trajectory.messages] + list(record.rounds[1].agent.messages)
    assert messages
    assert not any("1922" in message.content for message in messages)


def test_the_refiner_gets_the_passages_of_the_path() -> None:
    cast = Curated(make_proposal())
    cast.revisions = [make_proposal(f"{QUESTION[:-1]}, roughly?")]
    first = propose(cast)
    past = Round(
        index=0, agent=first.trajectory, draft=first.draft, tree=first.tree,
        feedback=Feedback(label=Label.TOO_EASY, cause="superficial", message=""),  # type: ignore[arg-type]
    )  # fmt: skip
    context = make_context(cast)
    asyncio.run(ragshaper.STRATEGY.revise(make_seed(), context, [past]))
    inputs = prompts.unfence(context.llm.requests[0].messages[1].content)  # type: ignore[attr-defined]
    assert inputs is not None
    assert [passage["title"] for passage in inputs["seen"]] == ["Lantern Bay", "Ada Holm", "Vessby"]


def test_if_the_best_path_gives_no_question_the_next_is_composed() -> None:
    empty = make_proposal(question="", steps=[])
    cast = Curated(empty, make_proposal(), actions=("Ada Holm", "Vessby", "Ada Holm painter", "Vessby monks"))
    drafting = propose(cast, "tree.branching=1", "tree.branching_depth=1", "tree.depth=2")
    assert drafting.tree is not None
    assert len(cast.asked) == 2
    assert drafting.draft is not None
    assert drafting.tree.composed == drafting.tree.paths[1]
    assert drafting.trajectory.usage.calls == 2


def test_a_path_that_runs_out_of_time_loses_no_draft() -> None:
    short = make_proposal(steps=make_proposal()["steps"][:2])

    class Slow(Curated):
        def __call__(self, request: Request) -> Message:
            if request.tools and request.tools[-1].name == "compose" and self.asked:
                raise DeadlineExceeded("not done within 300 s")
            return super().__call__(request)

    branching = "tree.branching=1", "tree.branching_depth=1", "tree.depth=2"
    actions = ("Ada Holm", "Vessby", "Ada Holm painter", "Vessby monks")
    drafting = propose(Slow(short, actions=actions), *branching)
    assert drafting.draft is not None
    assert (len(drafting.draft.hops), drafting.trajectory.usage.calls) == (2, 1)
    with pytest.raises(DeadlineExceeded):
        propose(Slow(make_proposal(question="", steps=[]), actions=actions), *branching)


def test_the_papers_composer_cannot_search() -> None:
    for sets, tools in (
        ((), ["search", "open", "check", "compose"]),
        (("tree.composer_searches=0",), ["check", "compose"]),
    ):
        context = make_context(Curated(make_proposal()), *sets)
        asyncio.run(ragshaper.propose(make_seed(), context))
        assert [tool.name for tool in context.llm.requests[-1].tools] == tools  # type: ignore[attr-defined]


def test_a_question_that_breaks_the_rules_is_sent_back_to_the_composer() -> None:
    cast = Curated(make_proposal(f"{QUESTION} It was a film. Say when."), make_proposal())
    drafting = propose(cast)
    assert drafting.trajectory.format_errors == 1
    assert drafting.draft is not None
    assert drafting.draft.question == QUESTION


def make_draft(**update: Any) -> Draft:
    arguments = make_proposal(**update)
    return drafted(arguments["question"], arguments["steps"], [FILM, HOLM, TOWN])


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"question": "One thing. Another thing. When was it?"}, "2 sentences"),
        ({"question": f"When {'very ' * 90}early was it?"}, "85 words"),
        ({"question": "Why was Vessby settled?"}, "not how or why"),
        ({"question": "How did Vessby come about?"}, "not how or why"),
        ({"question": "How was the home town of its director settled?"}, "not how or why"),
        ({"question": "Was it in 1641 that Vessby was settled?"}, "holds its answer"),
        ({"steps": [step(FILM, "1641; 1642")]}, "one entity"),
        ({"steps": [step(FILM, " ".join("abcdefghijklm"))]}, "one entity"),
    ],
)
def test_the_papers_rules(update: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ragshaper.check_rules(make_draft(**update), 1)


def test_the_papers_rule_requires_the_number_of_hops() -> None:
    with pytest.raises(FormatError, match="4 dependent hops"):
        ragshaper.check_rules(make_draft(), 4)


@pytest.mark.parametrize("measure", ["many monks settled", "often did fires burn", "early did monks settle"])
def test_how_many_asks_for_a_fact(measure: str) -> None:
    ragshaper.check_rules(make_draft(question=f"How {measure} the home town of its director?"), 3)


def test_the_composers_tool_describes_the_limit_of_sentences() -> None:
    description = COMPOSE.parameters["properties"]["question"]["description"]
    assert description.startswith("One or two sentences")
    assert ragshaper.MOST_SENTENCES == 2


def test_the_preset_has_the_papers_numbers() -> None:
    tree = config.build(values={"preset": "ragshaper"}).tree
    assert (tree.branching, tree.branching_depth, tree.depth, tree.paths, tree.hops) == (0.5, 2, 30, 2, 3)
    assert config.build(values={"preset": "ragshaper"}).strategy == "ragshaper"


def test_a_proposal_ends_with_the_arguments_of_the_tool() -> None:
    assert orjson.loads(propose(Curated(make_proposal())).trajectory.final)["steps"][-1]["answer"] == "1641"


def test_a_seed_that_reaches_nothing_is_composed_from_its_own_passage() -> None:
    cast = Curated(make_proposal(question="", steps=[]), actions=())
    drafting = propose(cast)
    assert drafting.draft is None
    assert drafting.tree is not None
    assert len(drafting.tree.nodes) == 1
    assert Shelf(FILM).passages.keys() == set(drafting.tree.nodes[0].passage_ids)


def test_probes_of_a_checked_draft_are_kept_with_the_proposal() -> None:
    class Checked(Curated):
        def __call__(self, request: Request) -> Message:
            output = super().__call__(request)
            is_first = not any(message.role == "assistant" for message in request.messages)
            if output.tool_calls and output.tool_calls[0].name == "compose" and is_first:
                return call("check", **{k: v for k, v in self.composed[0].items() if k != "negative_aspect"})
            return output

    drafting = propose(Checked(make_proposal(), actions=("Ada Holm", "Vessby")), 'checks.enabled=["closed_book"]')
    assert [(probe.check, probe.usage.calls) for probe in drafting.checked] == [("closed_book", 3)]
