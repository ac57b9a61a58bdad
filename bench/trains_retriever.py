"""Does an encoder find more of what people ask for after training on the view `retriever_triplets`?

    python -m bench.trains_retriever prepare --data DATASET --single DATASET --gold FOLDER --corpus FILE --out FOLDER
    python bench/trains_retriever.py run --folder FOLDER --model MODEL       (a GPU, or hours; no Digsite needed)
    python bench/trains_retriever.py table --folder FOLDER

`prepare` makes arms of equal size from a data set: its own triplets; as many inverse-cloze pairs of the same passages
(a sentence as the query, the rest as the positive; Lee, Chang and Toutanova, ACL 2019); as many triplets of questions
that need one passage (`generate --steps 1`); and its kinds of query alone. `run` trains each with three seeds and ranks
the documents for questions of people, none of which is trained on. `table` compares all-gold recall at 10: are all
documents of a question's evidence among its first ten? Intervals resample questions and seeds.
"""

import argparse
import json
import lzma
import multiprocessing
import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

SIZES, SEEDS, K, DOCUMENTS = (200, 700), (0, 1, 2), 10, 12_000
Row = dict[str, str]
Asked = tuple[str, list[str], str]
"""A question, the ids of the documents of its evidence, and the set that it is of."""
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def prepare(given: argparse.Namespace) -> None:
    """Write arms.json, the triplets of each arm, and held.json, the documents and questions to rank."""
    import pyarrow.parquet as pq

    def rows(*datasets: Path) -> dict[str, list[Row]]:
        """By pair, in an order of chance."""
        made = defaultdict(list)
        for shard in sorted(path for one in datasets for path in (one / "retriever_triplets").glob("train-*.parquet")):
            for row in pq.read_table(shard, columns=["id", "anchor", "positive", "negative", "kind"]).to_pylist():
                made[row["id"]].append(row)
        return made

    own, single = rows(*given.data), [row for found in rows(given.single).values() for row in found]
    arms = dict[str, list[list[str]]]()
    for size in SIZES:
        for seed in SEEDS:
            chance = random.Random(f"{size} {seed}")
            ids = chance.sample(sorted(own), min(size, len(own)))
            mine = [row for key in ids for row in own[key]]
            chosen = {"digsite": mine, "inverse_cloze": [_cloze(row, chance) for row in mine]}
            chosen["one_passage"] = chance.sample(single, min(len(mine), len(single)))
            if size == max(SIZES):
                chosen |= _parts(mine)
            for arm, kept in chosen.items():
                arms[f"{arm} {size} {seed}"] = [
                    [row[name] for name in ("anchor", "positive", "negative") if name in row] for row in kept
                ]
    questions = [
        json.loads(line) for path in sorted(given.gold.glob("*.jsonl")) for line in path.open(encoding="utf-8")
    ]
    questions = [one for one in questions if one["covered"]]
    documents = _documents(given.corpus)
    needed = {key for one in questions for key in one["supporting_ids"]}
    others = random.Random(0).sample(sorted(documents.keys() - needed), max(0, DOCUMENTS - len(needed)))
    keys = sorted({*needed, *others})
    held = {
        "documents": [[key, documents[key]] for key in keys],
        "questions": [[one["question"], one["supporting_ids"], one["dataset"]] for one in questions],
        "sub_questions": [asked for one in questions for asked in _sub_questions(one, documents)],
    }
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "arms.json").write_text(json.dumps(arms), encoding="utf-8")
    (given.out / "held.json").write_text(json.dumps(held), encoding="utf-8")
    for name, triplets in arms.items():
        print(name, len(triplets))


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


def _documents(corpus: Path) -> dict[str, str]:
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


def _bm25(documents: list[str], questions: list[str]) -> list[list[int]]:
    """The first hundred documents of each question, by place."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([_words(text) for text in documents], k1=0.9, b=0.4)
    return [np.argsort(-index.get_scores(_words(text)), kind="stable")[:100].tolist() for text in questions]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def run(given: argparse.Namespace) -> None:
    """Train and rank every arm, several at once; a finished one is kept."""
    arms = json.loads((given.folder / "arms.json").read_text(encoding="utf-8"))
    jobs = [("bm25 0 0", given), ("untrained 0 0", given), *((name, given) for name in arms)]
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(given.workers, maxtasksperchild=None) as pool:
        for name in pool.imap_unordered(_job, jobs):
            print(name, flush=True)


def _job(job: tuple[str, argparse.Namespace]) -> str:
    """Ranks of one arm: for each question the places of its first hundred documents."""
    name, given = job
    path = given.folder / "ranks" / f"{name.replace(' ', '-')}.json"
    if path.exists():
        return f"{name}: kept"
    path.parent.mkdir(exist_ok=True)
    held = json.loads((given.folder / "held.json").read_text(encoding="utf-8"))
    documents = [text for _, text in held["documents"]]
    questions = [text for text, *_ in held["questions"] + held["sub_questions"]]
    if name.startswith("bm25"):
        path.write_text(json.dumps(_bm25(documents, questions)), encoding="utf-8")
        return f"{name}: done"
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from recipes.retriever.train import fine_tune

    cuda = torch.cuda.is_available()
    torch.manual_seed(0)
    model = SentenceTransformer(str(given.model), device="cuda" if cuda else "cpu")
    model = model.float()
    seed = int(name.rpartition(" ")[2])
    if not name.startswith("untrained"):
        triplets = json.loads((given.folder / "arms.json").read_text(encoding="utf-8"))[name]
        columns = dict(zip(("anchor", "positive", "negative"), map(list, zip(*triplets, strict=True)), strict=False))
        model.max_seq_length = 128
        fine_tune(model, Dataset.from_dict(columns), epochs=given.epochs, seed=seed, bf16=cuda)
    model.max_seq_length = 256
    path.write_text(json.dumps(_ranked(model, documents, questions, cuda)), encoding="utf-8")
    if given.corpus and name.rpartition(" ")[0] in ("untrained 0", f"digsite {max(SIZES)}"):
        ranks = _ranked(model, list(_documents(given.corpus).values()), questions, cuda)
        (path.parent / f"whole-{path.name}").write_text(json.dumps(ranks), encoding="utf-8")
    return f"{name}: done"


def _ranked(model: Any, documents: list[str], questions: list[str], cuda: bool) -> list[list[int]]:
    import torch

    with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
        said = {"convert_to_tensor": True, "normalize_embeddings": True, "batch_size": 256 if cuda else 32}
        found, asked = model.encode(documents, **said).float(), model.encode(questions, **said).float()
    ranks: list[list[int]] = (asked @ found.T).topk(100).indices.tolist()
    return ranks


def table(given: argparse.Namespace) -> None:
    """Print all-gold recall at 10 by arm, and the difference from the untrained encoder."""
    held = json.loads((given.folder / "held.json").read_text(encoding="utf-8"))
    _tabulate(given.folder, held, [key for key, _ in held["documents"]], "")
    if given.corpus:
        print(f"\nOver the whole corpus, {given.corpus.name}:\n")
        _tabulate(given.folder, held, list(_documents(given.corpus)), "whole-")


def _tabulate(folder: Path, held: dict[str, Any], keys: list[str], kind: str) -> None:
    place = {key: at for at, key in enumerate(keys)}
    asked = held["questions"] + held["sub_questions"]
    gold, whole = [{place[key] for key in keys} for _, keys, _ in asked], len(held["questions"])
    sets = np.array([name for _, _, name in held["questions"]])
    depth = [K] * whole + [1] * len(held["sub_questions"])

    def hits(ranks: list[list[int]]) -> np.ndarray:
        """Is all evidence of a question among its first ten, and that of a sub-question the first?"""
        return np.array([one <= set(found[:k]) for one, found, k in zip(gold, ranks, depth, strict=True)], float)

    ranks = {
        path.stem.removeprefix("whole-"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((folder / "ranks").glob("*.json"))
        if path.stem.startswith("whole-") == bool(kind)
    }
    rows = defaultdict(list)
    for stem, found in ranks.items():
        rows[stem.rpartition("-")[0]].append(hits(found))
        if kind == "" and stem.startswith(("untrained", "digsite-")):
            rows[f"hybrid, {stem.rpartition('-')[0]}"].append(hits(_fused(ranks["bm25-0-0"], found)))
    names = sorted(set(sets))
    heads = ["arm", "pairs", "seeds", "all-gold@10", *names, "over untrained", "sub-questions @1", "over untrained"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    before = rows["untrained-0"][0]
    for stem, found in rows.items():
        (name, _, size), made = stem.rpartition("-"), np.array(found)
        by_set = [f"{made[:, :whole][:, sets == one].mean():.1%}" for one in names]
        cells = [
            name,
            size,
            str(len(found)),
            f"{made[:, :whole].mean():.1%}",
            *by_set,
            _gain((made - before)[:, :whole]),
        ]
        print(f"| {' | '.join([*cells, f'{made[:, whole:].mean():.1%}', _gain((made - before)[:, whole:])])} |")


def _gain(differences: np.ndarray) -> str:
    """The mean in points with its 95 % interval: questions and seeds resampled 2,000 times."""
    chance, (seeds, questions) = np.random.default_rng(0), differences.shape
    means = [
        differences[np.ix_(chance.integers(seeds, size=seeds), chance.integers(questions, size=questions))].mean()
        for _ in range(2_000)
    ]
    low, high = np.quantile(means, (0.025, 0.975)) * 100
    return f"{differences.mean() * 100:+.1f} [{low:.1f}, {high:.1f}]"


def _fused(*rankings: list[list[int]]) -> list[list[int]]:
    """Reciprocal rank fusion with 60, as the product's hybrid retriever."""
    fused = []
    for lists in zip(*rankings, strict=True):
        score = defaultdict[int, float](float)
        for found in lists:
            for rank, place in enumerate(found, 1):
                score[place] += 1 / (60 + rank)
        fused.append(sorted(score, key=lambda one: (-score[one], one)))
    return fused


def main() -> None:
    asked = argparse.ArgumentParser()
    stages = asked.add_subparsers(dest="stage", required=True)
    first = stages.add_parser("prepare")
    first.add_argument("--data", type=Path, nargs="+", required=True)
    for name in ("single", "gold", "corpus", "out"):
        first.add_argument(f"--{name}", type=Path, required=True)
    second = stages.add_parser("run")
    second.add_argument("--folder", type=Path, required=True)
    second.add_argument("--model", required=True)
    second.add_argument("--epochs", type=float, default=2)
    second.add_argument("--workers", type=int, default=1)
    last = stages.add_parser("table")
    last.add_argument("--folder", type=Path, required=True)
    for stage in (second, last):
        stage.add_argument("--corpus", type=Path, help="rank all its documents too, untrained and trained on most")
    given = asked.parse_args()
    {"prepare": prepare, "run": run, "table": table}[given.stage](given)


if __name__ == "__main__":
    main()
