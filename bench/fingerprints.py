"""Write the fingerprints of a list of questions: `python -m bench.fingerprints FILE NAME "split, licence and source"`.

They go into `corpora/benchmarks/NAME.hashes`: no question stands there, so that lists which may not be passed on can be
guarded against.
"""

import sys
from pathlib import Path

from pipeline.gates.contaminated import SHIPPED, read


def main(path: Path, name: str, note: str) -> None:
    found = list(dict.fromkeys(map(str, read(path))))
    head = (
        f"# Fingerprints of {len(found):,} questions of {name}: hashes from which no question can be read back.",
        f"# {note}",
    )
    (SHIPPED / f"{name}.hashes").write_text("\n".join([*head, *found]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
