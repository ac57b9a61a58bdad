"""Long documents: `open` from a position and `find`, and that everything about a data set says that they are there."""

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
from pipeline.types import Message, Rollout, Stop, ToolCall
from tests.records import accepted
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

SENTENCE = "In the spring of 1871 the keeper Osric Vane let the lantern go out."
FILLER = " ".join(f"The log of day {n} tells of wind, of oil and of ships that passed." for n in range(7))
LOG = [passage("log", "Log of a lighthouse", f"Entry {n}. {FILLER}", n) for n in range(200)]
LOG[157] = passage("log", "Log of a lighthouse", f"{FILLER} {SENTENCE}", 157)
SHELF = Shelf(*LOG, passage("other", "Osric", "Osric is a name."))
BOTH = EnvironmentConfig(pages=True, find=True)
QUESTION = "Who let the lantern of the lighthouse go out?"
ANSWER = ("answer", {"answer": "Osric Vane"})


def call(name: str, arguments: dict[str, Any]) -> Message:
    made = ToolCall(id="", name=name, arguments=orjson.dumps(arguments).decode())
    return Message(role="assistant", tool_calls=(made,))


def tried(
    outputs: Any, settings: EnvironmentConfig = BOTH, searches: int = 30, model: ModelConfig | None = None
) -> tuple[Rollout, list[str], ScriptedLLM]:
    """A rollout of the solver, and what it observed."""
    llm = ScriptedLLM(outputs)
    limits = config.build().solver.model_copy(update={"searches": searches, "turns": searches + 4})
    agent = solver(RunConfig(environment=settings, solver=limits), llm, SHELF, model)
    made = asyncio.run(attempt(replace(agent, k=3), QUESTION, 0))
    return made, [message.content for message in made.trajectory.messages if message.role == "tool"], llm


FIRST = LOG[0].shown_id


def test_a_sentence_of_a_long_document_is_found_within_a_small_context() -> None:
    assert sum(len(one.text.split()) for one in LOG) > 20_000
    small = ModelConfig(provider="openai", model="m", context=8192)
    search = call("search", {"query": "log lighthouse entry"})
    found = call("find", {"passage_id": FIRST, "words": "keeper lantern"})
    made, observed, _ = tried([search, found, call(*ANSWER)], model=small)
    assert (made.trajectory.stop, made.answer) == (Stop.ANSWERED, "Osric Vane")
    assert shown_passages(observed[1])[0].id == LOG[157].shown_id
    assert SENTENCE in observed[1]
    assert made.trajectory.calls[1].passage_ids == ("log#157",)

    def reads(request: Request) -> Message:
        return search if len(request.messages) == 2 else call("open", {"passage_id": FIRST})

    made, observed, _ = tried(reads, EnvironmentConfig(), model=small)
    assert not any(SENTENCE in text for text in observed), "without these tools it sees the beginning alone"


def test_a_document_is_read_to_its_end_by_following_what_each_page_says() -> None:
    def reads(request: Request) -> Message:
        last = request.messages[-1]
        if last.role == "user":
            return call("search", {"query": "log lighthouse entry"})
        if last.name == "search":
            return call("open", {"passage_id": FIRST, "position": 1})
        told = re.search(r"Open it with position (\d+) to read on\.", last.content)
        return call("open", {"passage_id": FIRST, "position": int(told[1])}) if told else call(*ANSWER)

    made, observed, _ = tried(reads)
    pages = made.trajectory.calls[1:]
    assert [one for page in pages for one in page.passage_ids] == [one.id for one in LOG]
    assert not any(page.repeat for page in pages)
    assert observed[1].endswith("Passages 1 to 12 of 200 of the document. Open it with position 13 to read on.")
    assert observed[-1].endswith("\n\nPassages 193 to 200 of 200 of the document.")
    assert len(shown_passages(observed[1])) == OPENED, "the line below is no passage"


def test_what_is_wrong_with_a_call_is_said_and_the_same_place_again_is_a_repeat() -> None:
    shown = LOG[1].shown_id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "log lighthouse entry"}),
        ("open", {"passage_id": FIRST, "position": 201}),
        ("open", {"passage_id": FIRST, "position": -1}),
        ("find", {"passage_id": FIRST, "words": "zeppelin"}),
        ("find", {"passage_id": FIRST, "words": "?!"}),
        ("find", {"passage_id": LOG[99].shown_id, "words": "keeper"}),
        ("find", {"passage_id": FIRST, "words": "keeper"}),
        ("find", {"passage_id": shown, "words": "Keeper!"}),
        ("open", {"passage_id": FIRST}),
        ("open", {"passage_id": shown, "position": 1}),
        ("open", {"passage_id": shown, "position": 2}),
        ANSWER,
    ]
    made, observed, _ = tried([call(*one) for one in calls])
    assert observed[1] == "Error: The document has 200 passages and no position 201."
    assert observed[2].startswith("Error: position: Input should be greater than or equal to 0")
    assert observed[3] == "No passage matches."
    assert observed[4] == "Error: There are no words to look for."
    assert observed[5].startswith("Error: No search has returned a passage")
    assert [one.repeat for one in made.trajectory.calls] == [False, False, False, True, False, True, False]
    assert made.trajectory.format_errors == 4


def test_finds_count_as_searches() -> None:
    finds = ("find", {"passage_id": FIRST, "words": "oil"})
    said = [call("search", {"query": "entry"}), call(*finds), call(*finds), call(*ANSWER)]
    made, observed, _ = tried(said, searches=2)
    assert made.trajectory.stop is Stop.SEARCH_BUDGET
    assert observed[-1].startswith("The search budget is used up")


def test_the_rarest_words_decide_and_a_word_finds_longer_ones() -> None:
    texts = ["ships and oil", "oil and wind", "ships and oil and a lantern", "lanterns"]
    document = [passage("d", "D", text, n) for n, text in enumerate(texts)]

    def numbers(wanted: str, most: int = 9) -> list[str]:
        return [one.id for one in find(document, wanted, most)]

    assert numbers("oil wind") == ["d#1", "d#0", "d#2"]
    assert numbers("lantern") == ["d#2", "d#3"]
    assert numbers("LANTERNS, ships", 2) == ["d#3", "d#0"]
    assert numbers("oi") == [], "a short one does not"
    chinese = [passage("c", "", text, n) for n, text in enumerate(["灯塔的日志。", "看守人让灯熄灭了。"])]
    assert [one.id for one in find(chinese, "看守人", 9)] == ["c#1"]
    with pytest.raises(FormatError, match="no word"):
        find(document, "", 9)


def test_the_line_that_counts_passages_names_no_answer() -> None:
    opened = call("open", {"passage_id": FIRST, "position": 100})
    made, observed, _ = tried([call("search", {"query": "entry"}), opened, call(*ANSWER)])
    assert "of 200 of the document" in observed[1]
    _, (_, text) = grading.observations(made)
    assert observed[1].startswith(text)
    assert not grading.holds(text, "200")


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("found", [False, True])
def test_environment_solver_and_views_agree(pages: bool, found: bool) -> None:
    settings = EnvironmentConfig(pages=pages, find=found)
    there = environment(RunConfig(environment=settings))
    made, _, llm = tried([call(*ANSWER)], settings)
    assert llm.requests[0].tools == there.tools
    assert [tool["function"]["name"] for tool in orjson.loads(there.offered)] == [tool.name for tool in there.tools]
    (row,) = adp.rows(accepted(1), there)
    names = [tool.name for tool in there.tools]
    assert [*row["available_custom_tools"], "answer"] == names
    assert ("find" in names) == found == ("`find`" in there.system)
    assert made.trajectory.messages[0].content.endswith(prompts.note("solver/_find")) == found
    assert ("position" in there.tools[1].parameters["properties"]) == pages == ("Passages FIRST" in there.observation)
    (schema,) = [s for s in call_schema(there.tools).body["anyOf"] if s["properties"]["name"]["const"] == "open"]
    assert schema["properties"]["arguments"]["properties"]["passage_id"]["maxLength"] == 300


def test_off_nothing_is_digested_and_on_it_is_another_run_and_another_policy() -> None:
    plain = config.build()
    assert environment(plain).tools == SOLVER_TOOLS
    assert config.build(sets=["environment.find=false"]).digest() == plain.digest()
    policy = 'models.policies.p={provider="openai",model="m"}'
    runs = [config.build(sets=[policy, *sets]) for sets in ([], ["environment.pages=true"], ["environment.find=true"])]
    assert len({run.digest() for run in runs}) == len({policies.compute_identity("p", run) for run in runs}) == 3
    assert len({environment(run).digest for run in runs}) == 3
    assert "solver/_find" in runs[2].digest_input()["prompts"]
