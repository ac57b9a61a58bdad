"""`python -m tests.golden.record [--afresh] [NAME ...]`: record the runs by asking the weaker demo model.

Its solver sometimes fails, so that there is something to learn from. A recorded answer is kept as long as the loop asks
for it, even if the demo model's rules change; only missing answers are requested, and unused ones are dropped.
`--afresh` requests all of them.
"""

import sys
import tempfile
from pathlib import Path

from pipeline.demo.weak import WeakModel
from tests.golden import recording, runs


def main(names: list[str], *, afresh: bool) -> None:
    for name in names or list(runs.RUNS):
        stored = {} if afresh else recording.read(name)
        model = recording.Recorded(stored, otherwise=WeakModel())
        with tempfile.TemporaryDirectory() as out:
            runs.replay(name, Path(out), model)
        recording.write(name, model.given)
        new = len(model.given.keys() - stored.keys())
        print(
            f"{name}: {len(model.given)} answers, {new} of them new, {len(stored.keys() - model.given.keys())} dropped"
        )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main([name for name in arguments if name != "--afresh"], afresh="--afresh" in arguments)
