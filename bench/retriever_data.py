"""What is trained on and asked in `bench.trains_retriever`: arms of triplets from the views of data sets, and documents
and questions of people to rank.
"""

import argparse
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

SIZES, SEEDS, DOCUMENTS = (200, 700), (0, 1, 2), 12_000
Row = dict[str, str]
Asked = tuple[str, list[str], str]
"""A question, the ids of the documents of its evidence, and the set that it is of."""
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def prepare(given: argparse.Namespace) -> None:
    """Write arms.json, the triplets of each arm, and held.json, the documents and questions to rank."""
    given.out.mkdir(parents=True, exist_ok=True)
    arms = {name: [_texts(row) for row in rows] for name, rows in _arms(given)}
    (given.out / "arms.json").write_text(json.dumps(arms), encoding="utf-8")
    (given.out / "held.json").write_text(json.dumps(_load_held(given.gold, given.corpus)), encoding="utf-8")
    for name, triplets in arms.items():
        print(name, len(triplets))


def _arms(given: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    """By name, size in pairs and seed."""
    own, single = _by_pair(given.data), [row for found in _by_pair([given.single]).values() for row in found]
    for size, seed in product(SIZES, SEEDS):
        chance = random.Random(f"{size} {seed}")
        mine = [row for key in chance.sample(sorted(own), min(size, len(own))) for row in own[key]]
        chosen = {"digsite": mine, "inverse_cloze": [_cloze(row, chance) for row in mine]}
        chosen["one_passage"] = chance.sample(single, min(len(mine), len(single)))
        chosen |= _parts(mine) if size == max(SIZES) else {}
        yield from ((f"{arm} {size} {seed}", rows) for arm, rows in chosen.items())
    for sides, seed in product(_sides(given.data, own.keys()), SEEDS):
        size = min(map(len, sides.values()))
        for side, ids in sides.items():
            drawn = random.Random(f"{side} {seed}").sample(ids, size)
            yield f"{side} {size} {seed}", _parts([row for key in drawn for row in own[key]])["only_sub_question"]


def _texts(row: Row) -> list[str]:
    return [row[name] for name in ("anchor", "positive", "negative") if name in row]


def _by_pair(datasets: Iterable[Path]) -> dict[str, list[Row]]:
    import pyarrow.parquet as pq

    made = defaultdict[str, list[Row]](list)
    for shard in sorted(path for one in datasets for path in (one / "retriever_triplets").glob("train-*.parquet")):
        for row in pq.read_table(shard, columns=["id", "anchor", "positive", "negative", "kind"]).to_pylist():
            made[row["id"]].append(row)
    return made


def _load_held(gold: Path, corpus: Path) -> dict[str, list[Any]]:
    questions = [json.loads(line) for path in sorted(gold.glob("*.jsonl")) for line in path.open(encoding="utf-8")]
    questions = [one for one in questions if one["covered"]]
    documents = documents_of(corpus)
    needed = {key for one in questions for key in one["supporting_ids"]}
    others = random.Random(0).sample(sorted(documents.keys() - needed), max(0, DOCUMENTS - len(needed)))
    return {
        "documents": [[key, documents[key]] for key in sorted({*needed, *others})],
        "questions": [[one["question"], one["supporting_ids"], one["dataset"]] for one in questions],
        "sub_questions": [asked for one in questions for asked in _sub_questions(one, documents)],
    }


def _sides(datasets: Sequence[Path], known: Collection[str]) -> Iterator[dict[str, list[str]]]:
    """The pairs of which a hop could be skipped and those of which none could; and the pairs of each strategy."""
    import pyarrow.parquet as pq

    skipping, strategies = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for one in datasets:
        for row in pq.read_table(one / "seeds.parquet", columns=["key", "strategy", "skippable_hops"]).to_pylist():
            if row["key"] in known:
                skipping["skippable" if row["skippable_hops"] else "needed"].append(row["key"])
                strategies[row["strategy"]].append(row["key"])
    yield from (sides for sides in (skipping, strategies) if len(sides) > 1)


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """Each kind of query alone; whole questions with the first passage of their evidence alone, since no single search
    is to find the others; and both without hard negatives."""
    first = {row["anchor"]: row for row in reversed(rows) if row["kind"] == "question"}
    found = {
        f"only_{kind}": [row for row in rows if row["kind"] == kind] for kind in ("question", "sub_question", "search")
    }
    found["first_evidence"] = [row for row in rows if first.get(row["anchor"], row) is row]
    for arm, full in (("digsite", rows), ("first_evidence", found["first_evidence"])):
        found[f"{arm}, in-batch"] = [{name: row[name] for name in ("anchor", "positive")} for row in full]
    return found


def documents_of(corpus: Path) -> dict[str, str]:
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        return {one["id"]: f"{one['title']}\n{one['text']}" for one in map(json.loads, lines)}


def _sub_questions(question: dict[str, Any], documents: dict[str, str]) -> list[Asked]:
    """What people asked for each hop, with the document that answers it."""
    made, steps = list[Asked](), question.get("decomposition", [])
    for number, step in enumerate(steps):
        text = re.sub(r"#(\d+)", lambda found: steps[int(found[1]) - 1]["answer"], step["question"])
        key = step.get("support_id")
        if not key and len(question.get("evidences", ())) == len(steps):
            about = question["evidences"][number][0]
            known = [one for one in question["supporting_ids"] if documents[one].startswith(about)]
            key = known[0] if len(known) == 1 else None
        made += [(text, [key], question["dataset"])] if key else []
    return made


def _cloze(row: Row, chance: random.Random) -> Row:
    title, _, text = row["positive"].partition("\n")
    parts = _SENTENCE.split(text)
    at = chance.randrange(len(parts))
    rest = " ".join(parts[:at] + parts[at + 1 :]) or text
    return {**row, "anchor": parts[at], "positive": f"{title}\n{rest}"}
