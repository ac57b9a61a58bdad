"""Solver measurements count correctly, with a scripted solver for each case."""

from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import config
from pipeline.agents.environment_file import environment
from pipeline.agents.grading import f1
from pipeline.errors import RequestRefused, UsageError
from pipeline.exports.views import qa
from pipeline.llm.base import Request
from pipeline.measurement.gold_questions import GoldQuestion, read
from pipeline.measurement.solver_accuracy import measure
from pipeline.types import Message, Stop, ToolCall
from tests.passages import Shelf, passage
from tests.records import accepted
from tests.scripted_llm import ScriptedLLM

SHELF = Shelf(
    passage("film", "Lantern Bay", "Lantern Bay is a silent drama that was directed by Ada Holm."),
    passage("decoy", "Holm Bay", "Holm Bay is where the director of the drama Lantern Bay was not born."),
    passage("holm", "Ada Holm", "Ada Holm was a painter from Vessby."),
)
BOUNDARY = "0123456789abcdef"
ASKED = GoldQuestion(
    question="Where was the director of Lantern Bay born?",
    answer="Vessby",
    hops=2,
    supporting_ids=("film", "holm"),
    dataset="made",
)


def call(name: str, **arguments: str) -> Message:
    tool = ToolCall(id=f"c{name}{len(str(arguments))}", name=name, arguments=orjson.dumps(arguments).decode())
    return Message(role="assistant", tool_calls=(tool,))


def search_twice_and_answer(request: Request) -> Message:
    """Two searches, then an answer that only the even samples get right. The judge says so."""
    if request.output:
        return Message(role="assistant", content='{"correct": false}')
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
    result = await measure([ASKED], ScriptedLLM(search_twice_and_answer), SHELF, settings(1), BOUNDARY)
    every, of_set, of_hops = result.figures
    assert (every.group, of_set.group, of_hops.group) == ("all", "made", "made 2-hop")
    assert (every.rollouts, every.exact, every.solved, every.least_steps, every.seen) == (2, 0.5, 1.0, 2.0, 2.0)
    assert every.recall == 1.0
    assert every.baseline == 0.0, "the two best passages of the bare question leave one document out"


async def test_accuracy_evidence_and_searches_are_those_of_browsecomp_plus() -> None:
    """Two of three judged rollouts are right; a rollout without a readable verdict counts in recall alone."""
    queries = {0: ["Lantern Bay silent", "Ada Holm painter"], 1: ["Lantern Bay silent"] * 3}
    answers = {0: "Vessby", 1: "Vessby in the north", 2: "Oslo, not Vessby", 3: "a town, Vessby or so"}

    def model(request: Request) -> Message:
        if request.output:
            prompt = request.messages[-1].content
            verdict = "true" if answers[1] in prompt else "false" if answers[2] in prompt else "neither"
            return Message(role="assistant", content=f'{{"correct": {verdict}}}')
        turn = sum(message.role == "assistant" for message in request.messages)
        own_queries = queries.get(request.sample, ["Lantern Bay silent"])
        if turn < len(own_queries):
            return call("search", query=own_queries[turn])
        return call("answer", answer=answers[request.sample])

    four = config.build(values={"loop": {"rollouts": 4}, "retrieval": {"k": 1}})
    result = await measure([ASKED], ScriptedLLM(model), SHELF, four, BOUNDARY)
    assert [rollout.right for rollout in result.scored] == [True, True, False, None]
    assert [rollout.searches for rollout in result.scored] == [2, 3, 1, 1]
    assert [rollout.evidence_recall for rollout in result.scored] == [1, 0.5, 0.5, 0.5]
    every = result.figures[0]
    assert every.accuracy == pytest.approx(2 / 3)
    assert every.exact == 0.25
    assert (every.searches, every.evidence_recall, every.recall) == (1.75, 0.625, 0.25)
    assert result.unjudged == 1


async def test_rollouts_that_a_server_refused_count_in_no_figure() -> None:
    def refusing(request: Request) -> Message | Exception:
        late = sum(message.role == "assistant" for message in request.messages) == 2
        return RequestRefused("not this one") if late and request.sample == 1 else search_twice_and_answer(request)

    result = await measure([ASKED], ScriptedLLM(refusing), SHELF, settings(1), BOUNDARY)
    assert (result.refused, result.figures[0].rollouts, result.figures[0].exact) == (1, 1, 1.0)
    with pytest.raises(RequestRefused, match="none at all"):
        await measure([ASKED], ScriptedLLM(lambda request: RequestRefused("none at all")), SHELF, settings(1), BOUNDARY)


async def test_recall_is_unknown_without_supporting_documents() -> None:
    bare = GoldQuestion(question=ASKED.question, answer="Vessby")
    (every,) = (await measure([bare], ScriptedLLM(search_twice_and_answer), SHELF, settings(1), BOUNDARY)).figures
    assert (every.evidence_recall, every.recall, every.baseline) == (None, None, None)


async def test_valid_calls_are_told_from_turns_that_hold_none() -> None:
    def chats_first(request: Request) -> Message:
        turn = sum(message.role == "assistant" for message in request.messages)
        messages = [Message(role="assistant", content="Let me think."), call("search", query="Lantern Bay silent")]
        return messages[turn] if turn < 2 else call("answer", answer="Vessby")

    first, second = (await measure([ASKED], ScriptedLLM(chats_first), SHELF, settings(1), BOUNDARY)).scored
    assert (first.calls, first.format_errors, first.stop) == (2, 1, Stop.ANSWERED)
    assert (second.calls, second.format_errors) == (first.calls, first.format_errors)


async def test_a_solver_that_never_calls_ends_for_it() -> None:
    talks = ScriptedLLM(lambda request: Message(role="assistant", content="Let me think."))
    scored, _ = (await measure([ASKED], talks, SHELF, settings(1), BOUNDARY)).scored
    assert (scored.calls, scored.format_errors, scored.stop) == (0, 3, Stop.FORMAT_ERRORS)
    article = ASKED.model_copy(update={"answer": "A", "answer_aliases": ()})
    scored, _ = (await measure([article], talks, SHELF, settings(1), BOUNDARY)).scored
    assert (scored.right, scored.exact, scored.f1) == (False, False, 0.0), (
        "of an article alone nothing is left, as of no answer"
    )


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
    assert read(file) == (GoldQuestion(question="Who?", answer="I", hops=2),)
    file.write_text('{"question": "Who?", "answer": "I"}\n{"question": "Who?"}\n')
    with pytest.raises(UsageError, match="line 2"):
        read(file)
    file.write_text("\n")
    with pytest.raises(UsageError, match="contains no questions"):
        read(file)


def test_a_file_may_begin_with_the_mark_of_windows(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(b'\xef\xbb\xbf{"question": "Who?", "answer": "I"}\r\n')
    assert read(tmp_path / "q.jsonl") == (GoldQuestion(question="Who?", answer="I"),)


def test_a_field_of_the_wrong_type_is_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(orjson.dumps({"question": "q", "answer": "a", "hops": "two"}))
    with pytest.raises(UsageError, match="line 1: its 'hops' is missing or of the wrong type"):
        read(tmp_path / "q.jsonl")


OWN = [row for n in (1, 2) for row in qa.rows(accepted(n), environment(config.RunConfig()))]


def write_own_view(form: str, folder: Path) -> Path:
    """Rows of our own view `qa`, as it lies there or as people export it; without an id, which no question needs."""
    rows = [{name: row[name] for name in row if name != "id"} for row in OWN]
    if form == "qa.jsonl":
        file = folder / form
        file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        return file
    parts = [rows] if form == "qa.parquet" else [[row] for row in rows]
    schema = pa.schema([field for field in qa.SCHEMA if field.name != "id"])
    for number, part in enumerate(parts):
        pq.write_table(pa.Table.from_pylist(part, schema), folder / ("qa.parquet" if form else f"{number}.parquet"))
    return folder / form


@pytest.mark.parametrize("form", ["qa.jsonl", "qa.parquet", ""])
def test_our_own_pairs_are_questions_with_their_documents(tmp_path: Path, form: str) -> None:
    questions = read(write_own_view(form, tmp_path))
    assert [(question.question, question.answer) for question in questions] == [
        (row["question"], row["answer"]) for row in OWN
    ]
    assert [question.answer_aliases for question in questions] == [tuple(row["answer_aliases"]) for row in OWN]
    assert [(question.hops, question.supporting_ids) for question in questions] == [
        (3, ("b1", "e1", "t1")),
        (3, ("b2", "e2", "t2")),
    ]


async def test_two_questions_without_an_id_are_two(tmp_path: Path) -> None:
    same = [ASKED, ASKED.model_copy(update={"answer": "Oslo"})]
    result = await measure(same, ScriptedLLM(search_twice_and_answer), SHELF, settings(1), BOUNDARY)
    assert (result.figures[0].questions, result.figures[0].rollouts, result.figures[0].solved) == (2, 4, 1.0)


@pytest.mark.parametrize(
    ("name", "message"), [("q.parquet", "cannot read .*Parquet"), ("empty", "no questions"), ("no", "such file")]
)
def test_what_holds_no_questions_is_told(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "q.parquet").write_bytes(b"PAR1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=message):
        read(tmp_path / name)


def test_a_row_without_an_answer_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"question": ["Who?", "Who?"], "answer": ["I", None]}), tmp_path / "q.parquet")
    with pytest.raises(UsageError, match="row 2: its 'answer' is missing"):
        read(tmp_path / "q.parquet")
