"""The arms of the experiment with an agent hold what they say, and its table tells one arm from another."""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench import agent_data, trains_agent
from bench.agent_data import Example
from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import qa, sft
from pipeline.store.arrow import table
from pipeline.types.corpus import shown_id
from tests.records import accepted


def called(number: int, name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"call{number}", "function": function}]}


def shown(number: int, title: str) -> dict[str, Any]:
    text = f"Doc 1 [{shown_id(title)}] {title} (2020-08-14)\nText of {title}."
    return {"role": "tool", "content": text, "tool_call_id": f"call{number}"}


def example(name: str) -> Example:
    """Two searches for the evidence of two hops, then a third that finds nothing of it."""
    titles = [f"{name} film", f"{name} maker", f"{name} else"]
    turns = [part for n, title in enumerate(titles) for part in (called(n, "search", query=title), shown(n, title))]
    messages = [
        {"role": "system", "content": "Search."},
        {"role": "user", "content": f"Where was the maker of {name} film born?"},
        *turns,
        called(9, "answer", answer=f"{name} town"),
    ]
    asked = ["Who made it?", f"Born {name}?"]
    hops = [{"title": t, "passage_id": t, "sub_question": q} for t, q in zip(titles, asked, strict=False)]
    return Example({"id": name}, messages, {"id": name, "hops": hops, "question": messages[1]["content"]})


def test_a_single_search_holds_the_last_evidence_and_the_answer() -> None:
    one = example("Lantern")
    short = agent_data.single(one)
    assert short
    assert [message["role"] for message in short] == ["system", "user", "assistant", "tool", "assistant"]
    assert short[1]["content"] == "Born Lantern?"
    assert short[2]["tool_calls"] == one.messages[4]["tool_calls"]
    assert short[3] == one.messages[5]
    assert short[4] == one.messages[-1]
    unseen = one._replace(messages=[*one.messages[:4], one.messages[-1]])
    assert agent_data.single(unseen) is None


def test_shuffled_keeps_calls_and_takes_every_observation_from_another() -> None:
    each = [example(name).messages for name in "ABCD"]
    each[0] = [*each[0][:4], each[0][-1]]  # of another length than its neighbours
    other = agent_data.shuffle_observations(each, random.Random(0))
    for before, after in zip(each, other, strict=True):
        for was, now in zip(before, after, strict=True):
            assert was.keys() == now.keys()
            assert (was["content"] != now["content"]) == (was["role"] == "tool")
            assert was.get("tool_calls") == now.get("tool_calls")
            assert was.get("tool_call_id") == now.get("tool_call_id")


def test_all_arms_are_of_the_same_pairs() -> None:
    found = [example(name) for name in "ABCDEF"]
    arms = agent_data.arms(found, 4, seed=0)
    ids = [[row["id"] for row in rows] for rows in arms.values()]
    assert len(set(ids[0])) == 4
    assert ids == [ids[0]] * 3
    assert arms == agent_data.arms(found, 4, seed=0)
    for row in arms["single"]:
        assert row["loss"] == [False, False, True, False, True]


def run(folder: Path, *numbers: int) -> Path:
    """The views of a run of these accepted pairs."""
    offered = environment(RunConfig())
    for view in (qa, sft):
        rows = [row for n in numbers for row in view.rows(accepted(n), offered)]
        (folder / "dataset" / view.__name__.rpartition(".")[2]).mkdir(parents=True)
        pq.write_table(
            table(rows, view.SCHEMA), folder / "dataset" / view.__name__.rpartition(".")[2] / "train.parquet"
        )
    return folder


def test_what_is_asked_shares_no_document_with_what_is_taught(tmp_path: Path) -> None:
    taught, held = run(tmp_path / "one", 1, 2, 3), run(tmp_path / "two", 2)
    pairs = agent_data.view(taught, "qa")
    gold = tmp_path / "gold"
    gold.mkdir()
    rows = [
        {"question": f"Who is of {title}?", "answer": "I", "answer_aliases": [], "hops": 2, "dataset": "people_train1"}
        | {"supporting_titles": ["Far", title]}
        for title in ("Away", pairs[0]["hops"][0]["title"], "Nowhere")
    ]
    (gold / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    titles = {"Far", "Away", "Filler", *(hop["title"] for pair in pairs for hop in pair["hops"])}
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"title": title, "text": f"Of {title}."}) + "\n" for title in titles))
    asked = argparse.Namespace(
        folder=tmp_path / "out", run=[taught], held=[held], gold=gold, texts=[texts], longest=10**6, most=10, seed=0,
        questions=None, documents=len(titles),
    )  # fmt: skip
    agent_data.write(asked)
    data = tmp_path / "out" / "data"
    trained = pq.read_table(data / "ours" / "sft" / "train.parquet").to_pylist()
    assert {row["id"] for row in trained} == {pairs[0]["id"], pairs[2]["id"]}, "the pair that is held out is not taught"
    made = list(map(json.loads, agent_data.lines(data / "questions.jsonl")))
    # Not asked: people's question that rests on a document of a pair that is taught, and the one without its document.
    assert {(one["dataset"], one["question"]) for one in made} == {
        ("ours", pairs[1]["question"]),
        ("people", "Who is of Away?"),
    }
    corpus = {one["id"]: one["title"] for one in map(json.loads, agent_data.lines(data / "corpus.jsonl"))}
    for one in made:
        assert [corpus[key] for key in one["supporting_ids"]] == one["titles"]


def test_the_table_tells_what_training_brought(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    sets = ["ours", "people", "people", "people"]
    (tmp_path / "data" / "questions.jsonl").write_text("".join(json.dumps({"dataset": one}) + "\n" for one in sets))
    for arm in trains_agent.ARMS:
        good = arm == "ours"
        row = {
            "exact": good,
            "f1": 0.5 + good / 2,
            "recall": good,
            "steps": 2,
            "calls": 3,
            "format_errors": 3 * (not good),
        }
        (tmp_path / f"{arm}.json").write_text(json.dumps({"scored": [row] * 4}))
    trains_agent.table(argparse.Namespace(folder=tmp_path))
    tree = json.loads((tmp_path / "table.json").read_text())
    assert tree["people's"]["ours"]["exact"] == [1.0, 1.0, 1.0]
    assert tree["people's"]["untrained"]["valid"][0] == 0.5
    assert tree["people's"]["untrained"]["wholly_valid"] == 0
    assert tree["people's"]["ours less single"]["f1"][0] == 0.5
    said = capsys.readouterr().out
    assert "| people's (3) | ours | 100.0 % [100.0, 100.0]" in said
    assert (tmp_path / "table.md").read_text() == said


def test_of_a_row_for_each_turn_the_last_is_taken(tmp_path: Path) -> None:
    record, folder = accepted(1), environment(RunConfig())
    (tmp_path / "dataset" / "qa").mkdir(parents=True)
    (tmp_path / "dataset" / "sft").mkdir()
    pq.write_table(table(list(qa.rows(record, folder)), qa.SCHEMA), tmp_path / "dataset" / "qa" / "train-0.parquet")
    (whole,) = [row for row in sft.rows(record, folder) if row["agent"] == "solver"][:1]
    turns = [n for n, learnt in enumerate(whole["loss"]) if learnt]
    rows = [whole | {"messages": whole["messages"][: n + 1], "loss": [*[False] * n, True]} for n in turns]
    pq.write_table(table(rows, sft.SCHEMA), tmp_path / "dataset" / "sft" / "train-0.parquet")
    (one,) = agent_data.examples([tmp_path], 10_000)
    assert len(one.messages) == len(whole["messages"])
