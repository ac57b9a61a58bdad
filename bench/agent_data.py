"""What is trained on and asked in `bench.trains_agent`, made from the views `sft` and `qa` of runs.

All arms have as many trajectories, of the same pairs: the solver's own; a single search for what the last sub-question
asks; and the solver's calls over observations of others, which teach the form of calls and answers without support.
"""

import argparse
import json
import lzma
import random
from collections.abc import Iterator, Sequence
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


def view(run: Path, name: str) -> list[dict[str, Any]]:
    return [
        row for file in sorted((run / "dataset" / name).glob("*.parquet")) for row in pq.read_table(file).to_pylist()
    ]


def examples(runs: Sequence[Path], longest: int) -> Iterator[Example]:
    """The solver's trajectories of at most `longest` estimated tokens, one of each question. Of one that is a row for
    each turn the last is taken, which has all of them."""
    found = dict[str, Example]()
    for run in runs:
        pairs = {row["id"]: row for row in view(run, "qa")}
        for row in view(run, "sft"):
            if row["agent"] != "solver" or row["tokens"] > longest:
                continue
            pair, single_turn = pairs[row["id"]], sum(row["loss"]) == 1
            known = found.get(pair["question"])
            if known is None or (single_turn and len(row["messages"]) > len(known.messages)):
                found[pair["question"]] = Example(row, [orjson.loads(text) for text in row["messages"]], pair)
    yield from found.values()


def single(one: Example) -> list[dict[str, Any]] | None:
    """The last sub-question, the search of the trajectory that showed its evidence, and the answer; None where no
    observation holds the evidence."""
    last = one.pair["hops"][-1]
    system, user, *turns = one.messages
    for shown in turns:
        if shown["role"] == "tool" and f"[{shown_id(last['passage_id'])}] " in shown["content"]:
            calls = (call for turn in turns for call in turn.get("tool_calls", ()))
            asked = next(call for call in calls if call["id"] == shown["tool_call_id"])
            search = {"role": "assistant", "content": "", "tool_calls": [asked]}
            return [system, user | {"content": last["sub_question"]}, search, shown, turns[-1]]
    return None


def shuffle_observations(each: Sequence[list[dict[str, Any]]], chance: random.Random) -> list[list[dict[str, Any]]]:
    """The same conversations, each with the observations of another."""
    order = list(range(len(each)))
    chance.shuffle(order)
    donor = dict(zip(order, [*order[1:], order[0]], strict=True))
    found = []
    for number, messages in enumerate(each):
        others = [message["content"] for message in each[donor[number]] if message["role"] == "tool"]
        seen = -1
        taken = []
        for message in messages:
            seen += message["role"] == "tool"
            taken.append(message | {"content": others[seen % len(others)]} if message["role"] == "tool" else message)
        found.append(taken)
    return found


def arms(found: Sequence[Example], most: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of each arm: of at most so many pairs, drawn by the seed, that have a trajectory for every arm."""
    chance = random.Random(seed)
    whole = [(one, short) for one in found if (short := single(one))]
    if not whole:
        raise SystemExit("no trajectory to train on: raise --longest or --pairs")
    drawn = chance.sample(whole, min(most, len(whole)))
    own = [one.messages for one, _ in drawn]
    made = {"ours": own, "single": [short for _, short in drawn], "shuffled": shuffle_observations(own, chance)}
    return {
        name: [_row(one.row, messages) for (one, _), messages in zip(drawn, each, strict=True)]
        for name, each in made.items()
    }


def _row(row: dict[str, Any], messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [orjson.dumps(message).decode() for message in messages]
    return row | {"messages": texts, "loss": [message["role"] == "assistant" for message in messages]}


def write(asked: argparse.Namespace) -> None:
    """What is asked and what is trained on share no document: a pair to train on gives way to the held-out ones, and a
    question of people to the pairs that are left."""
    folder = asked.folder / "data"
    held = [_read_question(pair) for run in asked.held for pair in view(run, "qa") if pair["answerable"]]
    kept = {title for one in held for title in one["titles"]}
    found = list(examples(asked.run, asked.longest))
    made = arms([one for one in found if one.titles.isdisjoint(kept)], asked.most, asked.seed)
    for name, rows in made.items():
        (folder / name / "sft").mkdir(parents=True, exist_ok=True)
        pq.write_table(table(rows, SCHEMA), folder / name / "sft" / "train.parquet")
    drawn = {row["id"] for row in made["ours"]}
    taught = {title for one in found if one.pair["id"] in drawn for title in one.titles}
    files = sorted(asked.gold.glob("*.jsonl")) if asked.gold else []
    people = [_read_question(json.loads(line)) for file in files for line in lines(file)]
    gold = [one for one in people if taught.isdisjoint(one["titles"])]
    texts = {one["title"]: one for path in asked.texts for one in map(json.loads, lines(path))}
    covered = [one for one in held + gold if set(one["titles"]) <= texts.keys()]
    questions = random.Random(asked.seed).sample(covered, min(len(covered), asked.questions or len(covered)))
    wanted = {title for one in questions for title in one["titles"]}
    others = sorted(texts.keys() - wanted)
    filler = random.Random(asked.seed).sample(others, min(len(others), max(0, asked.documents - len(wanted))))
    documents = [texts[title] for title in sorted({*filler, *wanted} & texts.keys())]
    ids = {one["title"]: f"d{number}" for number, one in enumerate(documents)}
    shown = [{"id": ids[one["title"]], "title": one["title"], "text": one["text"]} for one in documents]
    _write(folder / "corpus.jsonl", shown)
    named = [{**one, "supporting_ids": [ids[title] for title in one["titles"]]} for one in questions]
    _write(folder / "questions.jsonl", named)
    print(f"{len(drawn)} trajectories an arm, of {len(found)}; no document shared with {len(held)} held-out pairs")
    print(f"and {len(gold)} of {len(people)} questions of people; {len(questions)} asked, {len(documents)} documents")


def _read_question(row: dict[str, Any]) -> dict[str, Any]:
    """A question of `qa` or of a gold set, as `digsite measure` reads it, with the titles of its documents."""
    ours = "run" in row
    return {
        "question": row["question"],
        "answer": row["answer"],
        "answer_aliases": row["answer_aliases"],
        "hops": row["hop_count"] if ours else row["hops"],
        "dataset": "ours" if ours else row["dataset"].partition("_")[0],
        "titles": sorted({hop["title"] for hop in row["hops"]} if ours else set(row["supporting_titles"])),
    }


def lines(path: Path) -> Iterator[str]:
    packed: Any = {".xz": lzma.open, ".zst": zstandard.open}.get(path.suffix, open)
    with packed(path, "rt", encoding="utf-8") as text:
        yield from text


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
