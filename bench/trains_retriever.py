"""Does an encoder find more of what people ask for after training on the view `retriever_triplets`?

    python -m bench.trains_retriever prepare --data DATASET --single DATASET --gold FOLDER --corpus FILE --out FOLDER
    python -m bench.trains_retriever run --folder FOLDER --model MODEL     (with sentence-transformers, without Digsite)
    python -m bench.trains_retriever table --folder FOLDER

`prepare` makes arms of equal size from a data set: its own triplets; as many inverse-cloze pairs of the same passages
(a sentence as the query, the rest as the positive; Lee, Chang and Toutanova, ACL 2019); as many triplets of questions
that need one passage (`generate --steps 1`); its kinds of query alone; the sub-questions of as many pairs of which a
hop could be skipped as of which none could; and those of as many pairs of each strategy. `run` trains each with three
seeds and ranks the documents for questions of people, none of which is trained on. `table` compares all-gold recall at
10: are all documents of a question's evidence among its first ten? Intervals resample questions and seeds.
"""

import argparse
import json
import multiprocessing
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.retriever_data import SIZES, documents_of, prepare

K = 10


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
    names = [name for name in arms if not given.arms or name.rsplit(" ", 2)[0] in given.arms]
    jobs = [(name, given) for name in ("bm25 0 0", "untrained 0 0", *names)]
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

    from recipes.agent.train import bfloat16
    from recipes.retriever.train import fine_tune

    cuda, short = torch.cuda.is_available(), bfloat16()
    torch.manual_seed(0)
    model = SentenceTransformer(str(given.model), device="cuda" if cuda else "cpu")
    model = model.float()
    seed = int(name.rpartition(" ")[2])
    if not name.startswith("untrained"):
        triplets = json.loads((given.folder / "arms.json").read_text(encoding="utf-8"))[name]
        columns = dict(zip(("anchor", "positive", "negative"), map(list, zip(*triplets, strict=True)), strict=False))
        model.max_seq_length = 128
        fine_tune(model, Dataset.from_dict(columns), epochs=given.epochs, seed=seed, bf16=short)
    model.max_seq_length = 256
    path.write_text(json.dumps(_rank(model, documents, questions, short)), encoding="utf-8")
    if given.corpus and name.rpartition(" ")[0] in ("untrained 0", f"digsite {max(SIZES)}"):
        ranks = _rank(model, list(documents_of(given.corpus).values()), questions, short)
        (path.parent / f"whole-{path.name}").write_text(json.dumps(ranks), encoding="utf-8")
    return f"{name}: done"


def _rank(model: Any, documents: list[str], questions: list[str], short: bool) -> list[list[int]]:
    import torch

    device = model.device.type
    with torch.autocast(device, torch.bfloat16, enabled=short):
        said = {"convert_to_tensor": True, "normalize_embeddings": True, "batch_size": 256 if device == "cuda" else 32}
        found, asked = model.encode(documents, **said).float(), model.encode(questions, **said).float()
    ranks: list[list[int]] = (asked @ found.T).topk(100).indices.tolist()
    return ranks


def table(given: argparse.Namespace) -> None:
    """Print all-gold recall at 10 by arm, and the difference from the untrained encoder."""
    held = json.loads((given.folder / "held.json").read_text(encoding="utf-8"))
    _tabulate(given.folder, held, [key for key, _ in held["documents"]], "")
    if given.corpus:
        print(f"\nOver the whole corpus, {given.corpus.name}:\n")
        _tabulate(given.folder, held, list(documents_of(given.corpus)), "whole-")


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
            rows[f"hybrid, {stem.rpartition('-')[0]}"].append(hits(_fuse(ranks["bm25-0-0"], found)))
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


def _fuse(*rankings: list[list[int]]) -> list[list[int]]:
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
    second.add_argument("--arms", nargs="+", help="these alone, such as walk sage")
    last = stages.add_parser("table")
    last.add_argument("--folder", type=Path, required=True)
    for stage in (second, last):
        stage.add_argument("--corpus", type=Path, help="rank all its documents too, untrained and trained on most")
    given = asked.parse_args()
    {"prepare": prepare, "run": run, "table": table}[given.stage](given)


if __name__ == "__main__":
    main()
