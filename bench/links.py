"""What the links of a corpus cost and what they give: `python -m bench.links [CORPUS[*COPIES] ...] [--out FOLDER]`.

Corpora are given as for `bench.corpus_size`; copies are versions, which count as one document. Each is prepared in one
process and its links are found in another and those that it starts; memory is the most that the system counted for all
of these, with pages of mapped files, which it may drop and which they share, and for the first without them. With
`--read N`, N links of each corpus are printed instead: a phrase, and two sentences that hold it, for a person who
counts those that say something of one thing.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import table
from bench.corpus_size import CORPORA, Own, cpu, format_value, open_corpus, status

MOST = 20
PROCESSES = 2


def links(corpus: str, out: Path) -> Any:
    from pipeline.links.opening import open_links

    return open_links(open_corpus(corpus, out), MOST)


def prepare(corpus: str, out: Path) -> dict[str, Any]:
    began = time.monotonic()
    loaded = open_corpus(corpus, out)
    beside = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {
        "documents": len(loaded.documents), "passages": len(loaded.passages), "prepare s": time.monotonic() - began,
        "prepare CPU s": cpu(), "GiB to prepare": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 + beside,
    }  # fmt: skip


def find(corpus: str, out: Path) -> dict[str, Any]:
    loaded, own, began = open_corpus(corpus, out), Own(), time.monotonic()
    before = cpu()
    found = links(corpus, out)
    took, used = time.monotonic() - began, cpu() - before
    beside = min(PROCESSES, os.cpu_count() or 1) * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    size = sum(path.stat().st_size for path in (loaded.folder / f"links-{MOST}").iterdir())
    return {
        "links s": took, "links CPU s": used, "GiB for links": status("VmHWM") + beside,
        "of no file, of the first": own.most, "bytes a passage": size / len(loaded.passages), "phrases": len(found),
        "linked %": 100 * found.linked / len(loaded.passages),
    }  # fmt: skip


def read(corpus: str, out: Path, count: int) -> Iterator[str]:
    found, chance = links(corpus, out), np.random.default_rng(0)
    for number in chance.choice(len(found), min(count, len(found)), replace=False).tolist():
        phrase, mentions = found.phrase(number), found.mentions(number)
        says = [mention for mention in mentions if mention.end and not mention.home]
        one = says[int(chance.integers(len(says)))]
        others = [mention for mention in mentions if found.group(mention.place) != found.group(one.place)]
        other = others[int(chance.integers(len(others)))]
        yield f"{phrase.kind} {found.text(number)!r} ({phrase.documents})"
        for mention in (one, other):
            title = found.passage(mention.place).title
            yield f"    {title}: {found.sentence(mention)[:300] or '(its title)'}"


STEPS: dict[str, Callable[[str, Path], dict[str, Any]]] = {"prepare": prepare, "find": find}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=int, default=0)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(STEPS[given.step](given.corpora[0], given.out)))
        return
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(dir=given.out) as folder:
        for corpus in given.corpora:
            if given.read:
                print(corpus, *read(corpus, Path(folder), given.read), sep="\n")
                continue
            row: dict[str, Any] = {"corpus": Path(corpus).name}
            for step in STEPS:
                command = [sys.executable, "-m", "bench.links", corpus, "--out", folder, "--step", step]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                row |= json.loads(done.stdout.splitlines()[-1])
            rows.append(row)
            print(*map(format_value, row.values()), sep="  ", file=sys.stderr, flush=True)
    if rows:
        names = [name for name in rows[0] if name != "corpus"]
        print(
            table(
                ["", *(row["corpus"] for row in rows)],
                [[name, *(format_value(row[name]) for row in rows)] for name in names],
            )
        )


if __name__ == "__main__":
    main()
