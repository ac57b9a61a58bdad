"""Write the fingerprints of a list of questions: `python -m bench.fingerprints FILE NAME "split, licence and source"`.

They go into `corpora/benchmarks/NAME.hashes`. A hash does not reveal its question, so benchmarks that may not be
redistributed can be guarded against too.
"""

import sys
from pathlib import Path

from pipeline.gates.contaminated import SHIPPED, read


def main(path: Path, name: str, note: str) -> None:
    hashes = list(dict.fromkeys(map(str, read(path))))
    head = (
        f"# Fingerprints of {len(hashes):,} questions of {name}: hashes from which no question can be read back.",
        f"# {note}",
    )
    (SHIPPED / f"{name}.hashes").write_text("\n".join([*head, *hashes]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
