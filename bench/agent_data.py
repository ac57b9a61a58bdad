"""Build the training data and questions of `bench.trains_agent` from the views `sft` and `qa` of runs.

All arms have the same number of trajectories, of the same pairs: the solver's; a single search for the last
sub-question; and the solver's calls over the observations of other pairs, which teach the form of calls and answers
without support.
"""

import argparse
import json
import lzma
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow.parquet as pq
import zstandard

from pipeline.exports.views.sft import SCHEMA
from pipeline.store.arrow import table
from pipeline.types.corpus import shown_id


class Example(NamedTuple):
    """A row of `sft` with its messages read, and the row of `qa` of the same pair."""

    row: dict[str, Any]
    messages: list[dict[str, Any]]
    pair: dict[str, Any]

    @property
    def titles(self) -> set[str]:
        return {hop["title"] for hop in self.pair["hops"]}


def read_view(run: Path, name: str) -> list[dict[str, Any]]:
    return [
        row for file in sorted((run / "dataset" / name).glob("*.parquet")) for row in pq.read_table(file).to_pylist()
    ]


def load_examples(runs: Sequence[Path], max_tokens: int) -> Iterator[Example]:
    """Yield the solver's trajectories of at most so many estimated tokens, one for each question.

    A trajectory may be stored as a row for each turn: then yield its last row, which has all turns.
    """
    examples = dict[str, Example]()
    for run in runs:
        pairs = {row["id"]: row for row in read_view(run, "qa")}
        for row in read_view(run, "sft"):
            if row["agent"] != "solver" or row["tokens"] > max_tokens:
                continue
            pair, single_turn = pairs[row["id"]], sum(row["loss"]) == 1
            previous = examples.get(pair["question"])
            if previous is None or (single_turn and len(row["messages"]) > len(previous.messages)):
                examples[pair["question"]] = Example(row, [orjson.loads(text) for text in row["messages"]], pair)
    yield from examples.values()


def shorten_to_last_hop(example: Example) -> list[dict[str, Any]] | None:
    """Reduce a trajectory to the last sub-question, the search that found its evidence, and the answer.

    Return None if no observation holds the evidence.
    """
    hop = example.pair["hops"][-1]
    system, user, *turns = example.messages
    for observation in turns:
        if observation["role"] == "tool" and f"[{shown_id(hop['passage_id'])}] " in observation["content"]:
            calls = (call for turn in turns for call in turn.get("tool_calls", ()))
            call = next(call for call in calls if call["id"] == observation["tool_call_id"])
            search = {"role": "assistant", "content": "", "tool_calls": [call]}
            return [system, user | {"content": hop["sub_question"]}, search, observation, turns[-1]]
    return None


def shuffle_observations(
    conversations: Sequence[list[dict[str, Any]]], rng: random.Random
) -> list[list[dict[str, Any]]]:
    """Give each conversation the observations of another one."""
    order = list(range(len(conversations)))
    rng.shuffle(order)
    donor = dict(zip(order, [*order[1:], order[0]], strict=True))
    shuffled = []
    for index, messages in enumerate(conversations):
        contents = cycle(message["content"] for message in conversations[donor[index]] if message["role"] == "tool")
        shuffled.append([m | {"content": next(contents)} if m["role"] == "tool" else m for m in messages])
    return shuffled


def build_arms(examples: Sequence[Example], size: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Draw at most `size` pairs that have a trajectory for every arm, and return the rows of each arm."""
    rng = random.Random(seed)
    complete = [(example, short) for example in examples if (short := shorten_to_last_hop(example))]
    if not complete:
        raise SystemExit("no trajectory to train on: raise --longest or --pairs")
    drawn = rng.sample(complete, min(size, len(complete)))
    ours = [example.messages for example, _ in drawn]
    arms = {"ours": ours, "single": [short for _, short in drawn], "shuffled": shuffle_observations(ours, rng)}
    return {
        name: [_build_row(example.row, messages) for (example, _), messages in zip(drawn, conversations, strict=True)]
        for name, conversations in arms.items()
    }


def _build_row(row: dict[str, Any], messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [orjson.dumps(message).decode() for message in messages]
    return row | {"messages": texts, "loss": [message["role"] == "assistant" for message in messages]}


def write_data(options: argparse.Namespace) -> None:
    """Write the arms, the corpus and the questions. No document is in both a question and a training pair.

    A training pair is dropped in favour of a held-out pair, and a human question in favour of a training pair.
    """
    folder = options.folder / "data"
    held_out = [_read_question(pair) for run in options.held for pair in read_view(run, "qa") if pair["answerable"]]
    held_titles = {title for question in held_out for title in question["titles"]}
    examples = list(load_examples(options.run, options.longest))
    candidates = [example for example in examples if example.titles.isdisjoint(held_titles)]
    arms = build_arms(candidates, options.most, options.seed)
    for name, rows in arms.items():
        (folder / name / "sft").mkdir(parents=True, exist_ok=True)
        pq.write_table(table(rows, SCHEMA), folder / name / "sft" / "train.parquet")
    ids = {row["id"] for row in arms["ours"]}
    trained_titles = {title for example in examples if example.pair["id"] in ids for title in example.titles}
    files = sorted(options.gold.glob("*.jsonl")) if options.gold else []
    human = [_read_question(json.loads(line)) for file in files for line in read_lines(file)]
    gold = [question for question in human if trained_titles.isdisjoint(question["titles"])]
    texts = {text["title"]: text for path in options.texts for text in map(json.loads, read_lines(path))}
    covered = [question for question in held_out + gold if set(question["titles"]) <= texts.keys()]
    questions = random.Random(options.seed).sample(covered, min(len(covered), options.questions or len(covered)))
    needed = {title for question in questions for title in question["titles"]}
    unneeded = sorted(texts.keys() - needed)
    filler = random.Random(options.seed).sample(unneeded, min(len(unneeded), max(0, options.documents - len(needed))))
    numbers = {title: f"d{number}" for number, title in enumerate(sorted({*filler, *needed}))}
    corpus = [{"id": number, "title": title, "text": texts[title]["text"]} for title, number in numbers.items()]
    _write_lines(folder / "corpus.jsonl", corpus)
    rows = [{**question, "supporting_ids": [numbers[title] for title in question["titles"]]} for question in questions]
    _write_lines(folder / "questions.jsonl", rows)
    print(f"{len(ids)} trajectories an arm, of {len(examples)}; no document shared with {len(held_out)} held-out pairs")
    print(f"and {len(gold)} of {len(human)} human questions; {len(questions)} questions, {len(corpus)} documents")


def _read_question(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row of `qa` or of a gold set to what `digsite measure` reads, with the titles of its documents."""
    is_ours = "run" in row
    return {
        "question": row["question"],
        "answer": row["answer"],
        "answer_aliases": row["answer_aliases"],
        "hops": row["hop_count"] if is_ours else row["hops"],
        "dataset": "ours" if is_ours else row["dataset"].partition("_")[0],
        "titles": sorted({hop["title"] for hop in row["hops"]} if is_ours else set(row["supporting_titles"])),
    }


def read_lines(path: Path) -> Iterator[str]:
    opener: Any = {".xz": lzma.open, ".zst": zstandard.open}.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8") as text:
        yield from text


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
