"""`python -m tests.golden.freeze [NAME ...]`: replay the recorded runs and freeze their outputs.

Commit the result alone, with a message that says why the bytes changed.
"""

import sys
import tempfile
from pathlib import Path

from tests.golden import frozen, goldens


def main(names: list[str]) -> None:
    for name in names or list(goldens.GOLDENS):
        with tempfile.TemporaryDirectory() as out:
            changed = frozen.freeze(name, goldens.GOLDENS[name](Path(out)))
        print(f"{name}: {', '.join(changed) + ' changed' if changed else 'nothing has changed'}")


if __name__ == "__main__":
    main(sys.argv[1:])
