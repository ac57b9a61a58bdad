"""All goldens by name, with the function that reproduces each in an empty folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.golden import cases, frozen, outcomes, recording, runs, strong, terminal


def replay_recorded(name: str, out: Path) -> frozen.Texts:
    model = recording.Recorded(recording.read(name))
    folder = runs.replay(name, out, model)
    return frozen.build_texts(folder, runs.config(name, out), recording.digests(model.requests))


def replay_scripted(name: str, out: Path) -> frozen.Texts:
    return frozen.build_texts(*outcomes.play(*cases.RUNS[name], out))


def strong_model(out: Path) -> frozen.Texts:
    return frozen.build_texts(*strong.write_run(out))


GOLDENS: dict[str, Callable[[Path], frozen.Texts]] = {
    **{name: partial(replay_recorded, name) for name in runs.RUNS},
    **{name: partial(replay_scripted, name) for name in cases.RUNS},
    "strong-model": strong_model,
    "terminal": terminal.build_texts,
}
