"""The solver in the real loop over a shelf of passages, and as a pure function of its messages."""

import shutil
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import config
from pipeline.agents.solver import attempt, solver
from pipeline.agents.tools import SOLVER_TOOLS, render
from pipeline.embedded import solver as embedded
from pipeline.embedded.model import EmbeddedModel
from pipeline.embedded.solver_mind import MOST_SEARCHES
from pipeline.llm.base import Request, Sampling
from pipeline.types import Message, Rollout, Stop, ToolCall
from tests.shelf import Shelf, passage

SHELF = Shelf(
    passage("bay", "Lantern Bay", "Lantern Bay is a 1931 Velian drama film directed by Ada Holm and starring Max Orr."),
    passage(
        "holm", "Ada Holm", "Ada Holm (3 May 1890 – 9 June 1961) was a Velian film director. She was born in Vessby."
    ),
    passage("orr", "Max Orr", "Max Orr (born 1 March 1902) was a Velian actor. He was born in Tarnby."),
    passage("vessby", "Vessby", "Vessby is a town in Tarn County, Velia. Vessby was founded by Olaf Brandt in 1641."),
    passage("tarn", "Tarn County", "Tarn County is a county in Velia. The county was named after the Tarn River."),
    passage(
        "brandt", "Olaf Brandt", "Olaf Brandt (12 July 1601 – 1 May 1670) was a Velian merchant who settled in Oslo."
    ),
    passage("mill", "The Mill", "The Mill is a 1950 Velian comedy film directed by Ivo Sand."),
    passage("sand", "Ivo Sand", "Ivo Sand (7 April 1911 – 2 June 1980) was a Velian film director."),
)
CHAINS = [
    ("Who directed Lantern Bay?", "Ada Holm", 1),
    ("When was Ada Holm born?", "3 May 1890", 1),
    ("Where was Ada Holm born?", "Vessby", 1),
    ("When was the director of Lantern Bay born?", "3 May 1890", 2),
    ("Who founded the town where the director of Lantern Bay was born?", "Olaf Brandt", 3),
    ("The film Lantern Bay was directed by a woman. In what town was she born?", "Vessby", 2),
    ("Ada Holm was born in a town that was founded by a man. When was this man born?", "12 July 1601", 3),
]


async def roll(question: str, *, k: int = 1, sample: int = 0, temperature: float = 0.0, **limits: int) -> Rollout:
    tree = {
        "retrieval": {"k": k},
        "models": {"default": {"sampling": {"temperature": temperature}}},
        "steps": [1, 1],
        "solver": {"searches": 12, "turns": 16, **limits},
    }
    return await attempt(solver(config.build(values=tree), EmbeddedModel(), SHELF), question, sample)


@pytest.mark.parametrize(("question", "answer", "most"), CHAINS)
async def test_follows_the_clues_to_the_answer(question: str, answer: str, most: int) -> None:
    rollout = await roll(question)
    assert rollout.answer == answer
    assert rollout.trajectory.stop is Stop.ANSWERED
    assert rollout.trajectory.steps <= most
    assert not any(call.repeat for call in rollout.trajectory.calls)
    assert rollout.trajectory.format_errors == 0


async def test_what_it_has_read_it_does_not_search_again() -> None:
    assert (await roll("When was the director of Lantern Bay born?", k=8)).trajectory.steps == 1


async def test_a_spent_budget_forces_an_answer_from_what_was_seen() -> None:
    rollout = await roll("Who founded the town where the director of Lantern Bay was born?", searches=1)
    assert rollout.trajectory.stop is Stop.SEARCH_BUDGET
    assert rollout.answer


def request(*messages: Message, choice: str = "auto", sample: int = 0) -> Request:
    sampling = Sampling(temperature=1.0)
    return Request(
        model="embedded", messages=messages, tools=SOLVER_TOOLS, tool_choice=choice, sampling=sampling, sample=sample
    )


def asked(text: str) -> Message:
    return Message(role="user", content=text)


def test_is_a_pure_function_of_question_observations_and_sample() -> None:
    first = embedded.solve(request(asked("Who directed Lantern Bay?")))
    other = embedded.solve(request(Message(role="system", content="lorem"), asked("Who directed Lantern Bay?")))
    assert first == other
    seen = Message(role="tool", content=render(SHELF.passages.values()), tool_call_id="call_0", name="search")
    turn = request(asked("Who directed Lantern Bay?"), first, seen)
    assert embedded.solve(turn) == embedded.solve(turn)
    assert embedded.solve(turn).tool_calls[0].name == "answer"


def test_samples_differ_where_candidates_are_close() -> None:
    twins = [passage(name, name, f"{name} is a film shot in Vessby.") for name in ("Aster", "Birch", "Cedar", "Dahlia")]
    question = asked("Which film was shot in Vessby?")
    found = set()
    for sample in range(12):
        search = embedded.solve(request(question, sample=sample))
        seen = Message(role="tool", content=render(twins), tool_call_id=search.tool_calls[0].id, name="search")
        found.add(embedded.solve(request(question, search, seen, sample=sample)).tool_calls[0].arguments)
    assert len(found) > 1


def test_ends_by_itself_where_nothing_is_ever_found() -> None:
    messages = [asked("Who wrote the book that inspired the film whose director was born in Qzx?")]
    for _ in range(MOST_SEARCHES + 1):
        said = embedded.solve(request(*messages))
        if said.tool_calls[0].name == "answer":
            break
        nothing = Message(role="tool", content="No passage matches.", tool_call_id=said.tool_calls[0].id, name="search")
        messages += [said, nothing]
    assert orjson.loads(said.tool_calls[0].arguments) == {"answer": embedded.UNKNOWN}


def test_broken_arguments_of_an_earlier_turn_are_no_search() -> None:
    broken = Message(role="assistant", tool_calls=(ToolCall(id="c", name="search", arguments='{"query": '),))
    error = Message(role="tool", content="Error: no JSON", tool_call_id="c", name="search")
    said = embedded.solve(request(asked("Who directed Lantern Bay?"), broken, error))
    assert said.tool_calls[0].name == "search"


@settings(max_examples=150)
@given(st.text(max_size=120), st.sampled_from(["auto", "answer"]))
def test_any_text_gets_a_well_formed_call(text: str, choice: str) -> None:
    seen = Message(role="tool", content=render(SHELF.passages.values()), tool_call_id="call_0", name="search")
    first = embedded.solve(request(asked(text)))
    for message in (first, embedded.solve(request(asked(text), first, seen, choice=choice))):
        (call,) = message.tool_calls
        assert set(orjson.loads(call.arguments)) == ({"query"} if call.name == "search" else {"answer"})
        assert choice == "auto" or message is first or call.name == "answer"


WORDS = (
    "who what which the a film city directed by was born in Ada Holm that where whose 's of and , ? . he this is did "
    "founded"
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join))
def test_any_order_of_question_words_gets_a_call(text: str) -> None:
    assert embedded.solve(request(asked(text))).tool_calls[0].name in ("search", "answer")


def test_the_digest_is_of_the_solver_and_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(embedded.__file__).parent
    shutil.copytree(home.parent, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(embedded, "__file__", str(tmp_path / "pipeline" / "embedded" / "solver.py"))
    found = [embedded.digest.__wrapped__()]
    for name in ("generator.py", "lexicon.toml", "solver_lexis.toml", "solver_words.py"):
        with (tmp_path / "pipeline" / "embedded" / name).open("a") as file:
            file.write("\n")
        found.append(embedded.digest.__wrapped__())
    assert found[0] == found[1] == found[2]
    assert len(set(found[2:])) == 3
