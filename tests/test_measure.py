"""The instrument's own check: what it counts, with a solver that says what each test needs."""

from pathlib import Path

import orjson
import pytest

from pipeline import config
from pipeline.errors import UsageError
from pipeline.llm.base import Request
from pipeline.measure import Question, f1, measure, read
from pipeline.types import Message, ToolCall
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

SHELF = Shelf(
    passage("film", "Lantern Bay", "Lantern Bay is a silent drama that was directed by Ada Holm."),
    passage("decoy", "Holm Bay", "Holm Bay is where the director of the drama Lantern Bay was not born."),
    passage("holm", "Ada Holm", "Ada Holm was a painter from Vessby."),
)
ASKED = Question(
    question="Where was the director of Lantern Bay born?",
    answer="Vessby",
    hops=2,
    supporting_ids=("film", "holm"),
    dataset="made",
)


def call(name: str, **arguments: str) -> Message:
    tool = ToolCall(id=f"c{name}{len(str(arguments))}", name=name, arguments=orjson.dumps(arguments).decode())
    return Message(role="assistant", tool_calls=(tool,))


def follows(request: Request) -> Message:
    """Two searches, then an answer that only the even samples get right."""
    turn = sum(message.role == "assistant" for message in request.messages)
    queries = ["Lantern Bay silent", "Ada Holm painter"]
    return (
        call("search", query=queries[turn])
        if turn < 2
        else call("answer", answer=("Vessby", "Oslo")[request.sample % 2])
    )


def settings(k: int) -> config.RunConfig:
    return config.build(values={"loop": {"rollouts": 2}, "retrieval": {"k": k}})


async def test_counts_right_rollouts_steps_and_recall_against_one_search() -> None:
    result = await measure([ASKED], ScriptedLLM(follows), SHELF, settings(1))
    every, of_set, of_hops = result.figures
    assert (every.group, of_set.group, of_hops.group) == ("all", "made", "made 2-hop")
    assert (every.rollouts, every.exact, every.solved, every.least_steps, every.seen) == (2, 0.5, 1.0, 2.0, 2.0)
    assert every.recall == 1.0
    assert every.baseline == 0.0, "the two best passages of the bare question leave one document out"


async def test_recall_is_unknown_without_supporting_documents() -> None:
    bare = Question(question=ASKED.question, answer="Vessby")
    (every,) = (await measure([bare], ScriptedLLM(follows), SHELF, settings(1))).figures
    assert (every.recall, every.baseline) == (None, None)


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("the Lantern Bay", "Lantern Bay", 1.0),
        ("Lantern", "Lantern Bay", 2 / 3),
        ("Oslo", "Vessby", 0.0),
        ("", "Vessby", 0.0),
    ],
)
def test_f1(answer: str, gold: str, score: float) -> None:
    assert f1(answer, gold) == pytest.approx(score)


def test_reads_lines_and_names_a_bad_one(tmp_path) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text('{"question": "Who?", "answer": "I", "level": null, "hops": 2}\n\n')
    assert read(file) == (Question(question="Who?", answer="I", hops=2),)
    file.write_text('{"question": "Who?", "answer": "I"}\n{"question": "Who?"}\n')
    with pytest.raises(UsageError, match="line 2"):
        read(file)
    file.write_text("\n")
    with pytest.raises(UsageError, match="no question"):
        read(file)


def test_a_file_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(b'\xef\xbb\xbf{"question": "Who?", "answer": "I"}\r\n')
    assert read(tmp_path / "q.jsonl") == (Question(question="Who?", answer="I"),)


def test_a_field_of_the_wrong_type_is_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(orjson.dumps({"question": "q", "answer": "a", "hops": "two"}))
    with pytest.raises(UsageError, match="line 1: its 'hops' is missing or of the wrong type"):
        read(tmp_path / "q.jsonl")
