"""All that is frozen, by name: what makes each of them anew in an empty folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.golden import cases, frozen, outcomes, recording, runs, strong, terminal


def recorded(name: str, out: Path) -> frozen.Texts:
    model = recording.Recorded(recording.read(name))
    folder = runs.replay(name, out, model)
    return frozen.texts(folder, runs.config(name, out), recording.digests(model.requests))


def scripted(name: str, out: Path) -> frozen.Texts:
    return frozen.texts(*outcomes.play(*cases.RUNS[name], out))


def strong_model(out: Path) -> frozen.Texts:
    return frozen.texts(*strong.exported(out))


GOLDENS: dict[str, Callable[[Path], frozen.Texts]] = {
    **{name: partial(recorded, name) for name in runs.RUNS},
    **{name: partial(scripted, name) for name in cases.RUNS},
    "strong-model": strong_model,
    "terminal": terminal.texts,
}
