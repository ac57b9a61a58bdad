"""Long documents: `open` from a position and `find`, and every description of a data set that names them."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.agents import grading
from pipeline.agents.environment_file import environment
from pipeline.agents.solver import attempt, solver
from pipeline.agents.tools import OPENED, SOLVER_TOOLS, shown_passages
from pipeline.agents.within_document import find
from pipeline.config import RunConfig
from pipeline.config.loop import EnvironmentConfig
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError
from pipeline.exports.views import adp
from pipeline.llm.base import Request
from pipeline.llm.text_tools import call_schema
from pipeline.loop import policies
from pipeline.types import Message, Rollout, Stop
from tests.agents.conversations import make_calls
from tests.passages import Shelf, passage
from tests.records import accepted
from tests.scripted_llm import ScriptedLLM

SENTENCE = "In the spring of 1871 the keeper Osric Vane let the lantern go out."
FILLER = " ".join(f"The log of day {n} tells of wind, of oil and of ships that passed." for n in range(7))
LOG = [passage("log", "Log of a lighthouse", f"Entry {n}. {FILLER}", n) for n in range(200)]
LOG[157] = passage("log", "Log of a lighthouse", f"{FILLER} {SENTENCE}", 157)
SHELF = Shelf(*LOG, passage("other", "Osric", "Osric is a name."))
BOTH = EnvironmentConfig(pages=True, find=True)
QUESTION = "Who let the lantern of the lighthouse go out?"
ANSWER = ("answer", {"answer": "Osric Vane"})


def run_solver(
    outputs: Any, settings: EnvironmentConfig = BOTH, searches: int = 30, model: ModelConfig | None = None
) -> tuple[Rollout, list[str], ScriptedLLM]:
    """Return a rollout of the solver, what it observed, and its model."""
    llm = ScriptedLLM(outputs)
    limits = config.build().solver.model_copy(update={"searches": searches, "turns": searches + 4})
    agent = solver(RunConfig(environment=settings, solver=limits), llm, SHELF, model)
    rollout = asyncio.run(attempt(replace(agent, k=3), QUESTION, 0))
    return rollout, [message.content for message in rollout.trajectory.messages if message.role == "tool"], llm


FIRST = LOG[0].shown_id


def test_a_sentence_of_a_long_document_is_found_within_a_small_context() -> None:
    assert sum(len(page.text.split()) for page in LOG) > 20_000
    small = ModelConfig(provider="openai", model="m", context=8192)
    search = make_calls(("search", {"query": "log lighthouse entry"}))
    find_call = make_calls(("find", {"passage_id": FIRST, "words": "keeper lantern"}))
    rollout, observed, _ = run_solver([search, find_call, make_calls(ANSWER)], model=small)
    assert (rollout.trajectory.stop, rollout.answer) == (Stop.ANSWERED, "Osric Vane")
    assert shown_passages(observed[1])[0].id == LOG[157].shown_id
    assert SENTENCE in observed[1]
    assert rollout.trajectory.calls[1].passage_ids == ("log#157",)

    def open_first(request: Request) -> Message:
        return search if len(request.messages) == 2 else make_calls(("open", {"passage_id": FIRST}))

    rollout, observed, _ = run_solver(open_first, EnvironmentConfig(), model=small)
    assert not any(SENTENCE in text for text in observed), "without these tools it sees only the beginning"


def test_a_document_is_read_to_its_end_by_following_each_page() -> None:
    def reads(request: Request) -> Message:
        last = request.messages[-1]
        if last.role == "user":
            return make_calls(("search", {"query": "log lighthouse entry"}))
        if last.name == "search":
            return make_calls(("open", {"passage_id": FIRST, "position": 1}))
        next_page = re.search(r"Open it with position (\d+) to read on\.", last.content)
        return (
            make_calls(("open", {"passage_id": FIRST, "position": int(next_page[1])}))
            if next_page
            else make_calls(ANSWER)
        )

    rollout, observed, _ = run_solver(reads)
    pages = rollout.trajectory.calls[1:]
    assert [passage_id for page in pages for passage_id in page.passage_ids] == [entry.id for entry in LOG]
    assert not any(page.repeat for page in pages)
    assert observed[1].endswith("Passages 1 to 12 of 200 of the document. Open it with position 13 to read on.")
    assert observed[-1].endswith("\n\nPassages 193 to 200 of 200 of the document.")
    assert len(shown_passages(observed[1])) == OPENED, "the line about positions is no passage"


def test_a_faulty_call_is_explained_and_opening_the_same_part_again_is_a_repeat() -> None:
    second = LOG[1].shown_id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "log lighthouse entry"}),
        ("open", {"passage_id": FIRST, "position": 201}),
        ("open", {"passage_id": FIRST, "position": -1}),
        ("find", {"passage_id": FIRST, "words": "zeppelin"}),
        ("find", {"passage_id": FIRST, "words": "?!"}),
        ("find", {"passage_id": LOG[99].shown_id, "words": "keeper"}),
        ("find", {"passage_id": FIRST, "words": "keeper"}),
        ("find", {"passage_id": second, "words": "Keeper!"}),
        ("open", {"passage_id": FIRST}),
        ("open", {"passage_id": second, "position": 1}),
        ("open", {"passage_id": second, "position": 2}),
        ANSWER,
    ]
    rollout, observed, _ = run_solver([make_calls(call) for call in calls])
    assert observed[1] == "Error: The document has 200 passages and no position 201."
    assert observed[2].startswith("Error: position: Input should be greater than or equal to 0")
    assert observed[3] == "No passage matches."
    assert observed[4] == "Error: There are no words to look for."
    assert observed[5].startswith("Error: No search has returned a passage")
    assert [call.repeat for call in rollout.trajectory.calls] == [False, False, False, True, False, True, False]
    assert rollout.trajectory.format_errors == 4


def test_finds_count_as_searches() -> None:
    finds = ("find", {"passage_id": FIRST, "words": "oil"})
    outputs = [make_calls(("search", {"query": "entry"})), make_calls(finds), make_calls(finds), make_calls(ANSWER)]
    rollout, observed, _ = run_solver(outputs, searches=2)
    assert rollout.trajectory.stop is Stop.SEARCH_BUDGET
    assert observed[-1].startswith("The search budget is used up")


def test_the_rarest_words_decide_and_a_word_matches_longer_ones() -> None:
    texts = ["ships and oil", "oil and wind", "ships and oil and a lantern", "lanterns"]
    document = [passage("d", "D", text, n) for n, text in enumerate(texts)]

    def find_ids(query: str, limit: int = 9) -> list[str]:
        return [match.id for match in find(document, query, limit)]

    assert find_ids("oil wind") == ["d#1", "d#0", "d#2"]
    assert find_ids("lantern") == ["d#2", "d#3"]
    assert find_ids("LANTERNS, ships", 2) == ["d#3", "d#0"]
    assert find_ids("oi") == [], "a short word does not match longer ones"
    chinese = [passage("c", "", text, n) for n, text in enumerate(["灯塔的日志。", "看守人让灯熄灭了。"])]
    assert [match.id for match in find(chinese, "看守人", 9)] == ["c#1"]
    with pytest.raises(FormatError, match="no word"):
        find(document, "", 9)


def test_the_line_that_counts_passages_names_no_answer() -> None:
    opening = make_calls(("open", {"passage_id": FIRST, "position": 100}))
    rollout, observed, _ = run_solver([make_calls(("search", {"query": "entry"})), opening, make_calls(ANSWER)])
    assert "of 200 of the document" in observed[1]
    _, (_, text) = grading.observations(rollout)
    assert observed[1].startswith(text)
    assert not grading.holds(text, "200")


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("has_find", [False, True])
def test_environment_solver_and_views_agree(pages: bool, has_find: bool) -> None:
    settings = EnvironmentConfig(pages=pages, find=has_find)
    offered = environment(RunConfig(environment=settings))
    rollout, _, llm = run_solver([make_calls(ANSWER)], settings)
    assert llm.requests[0].tools == offered.tools
    assert [tool["function"]["name"] for tool in orjson.loads(offered.offered)] == [tool.name for tool in offered.tools]
    (row,) = adp.rows(accepted(1), offered)
    names = [tool.name for tool in offered.tools]
    assert [*row["available_custom_tools"], "answer"] == names
    assert ("find" in names) == has_find == ("`find`" in offered.system)
    assert rollout.trajectory.messages[0].content.endswith(prompts.note("solver/_find")) == has_find
    assert (
        ("position" in offered.tools[1].parameters["properties"]) == pages == ("Passages FIRST" in offered.observation)
    )
    (schema,) = [s for s in call_schema(offered.tools).body["anyOf"] if s["properties"]["name"]["const"] == "open"]
    assert schema["properties"]["arguments"]["properties"]["passage_id"]["maxLength"] == 300


def test_only_an_environment_with_these_tools_changes_digests() -> None:

    plain = config.build()
    assert environment(plain).tools == SOLVER_TOOLS
    assert config.build(sets=["environment.find=false"]).digest() == plain.digest()
    policy = 'models.policies.p={provider="openai",model="m"}'
    runs = [config.build(sets=[policy, *sets]) for sets in ([], ["environment.pages=true"], ["environment.find=true"])]
    assert len({run.digest() for run in runs}) == len({policies.compute_identity("p", run) for run in runs}) == 3
    assert len({environment(run).digest for run in runs}) == 3
    assert "solver/_find" in runs[2].digest_input()["prompts"]
