"""Write the fingerprints of a list of questions: `python -m bench.fingerprints FILE.jsonl "licence and source"`.

They go into `corpora/benchmarks/`; hashes alone, so that lists which may not be passed on can be guarded against.
"""

import sys
from pathlib import Path

import orjson

from pipeline.dataset.gates.contaminated import SHIPPED, marks


def main(path: Path, note: str) -> None:
    found: dict[str, None] = {}
    for line in path.read_text().splitlines():
        row = orjson.loads(line)
        found |= dict.fromkeys(
            marks(row["question"], [row["answer"], *row["answer_aliases"]], row["supporting_titles"])
        )
    head = (
        f"# Fingerprints of the questions of {path.stem}: hashes from which no question can be read back.",
        f"# {note}",
    )
    (SHIPPED / f"{path.stem}.hashes").write_text("\n".join([*head, *found]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
