"""Which run a person means: a folder, `wiki/latest`, `wiki`, `latest`, or the first digits of its digest."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError, unknown
from pipeline.run.resume import resumable


def each(names: Sequence[str]) -> tuple[str, ...]:
    """The names; a text alone is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def run_folder(name: str | Path, out: Path | None = None) -> Path:
    """The folder of the run called `name`, or that `name` lies in. Raises UsageError, naming the runs there are."""
    out = out or Runtime().out
    name = str(name)
    short = name.rstrip("/")
    candidates = [Path(name), out / name, out / name / "latest"]
    if short == "latest":
        candidates[1:1] = [*sorted(out.glob("*/latest"), key=_age)[-1:], *runs(out)[-1:]]
    elif "/" not in short and len(short) >= 4:
        candidates += [path for path in runs(out) if path.name.startswith(short)]
    # Paths within a run come last: its report or its data set.
    for place in (Path(name), out / name):
        candidates += place.resolve().parents if place.exists() else ()
    for folder in candidates:
        if (folder / "run.json").is_file():
            return folder.resolve()
    known = [f"{path.parent.name}/{path.name}" for path in runs(out)]
    if not known:
        raise UsageError(f"no run '{name}' in {out}; there is none yet; start one: digsite generate wiki")
    names = dict.fromkeys(("latest", *(part for run in reversed(known) for part in (run.partition("/")[0], run))))
    names.pop(name, None)  # as a folder whose run cannot be read
    raise unknown("run", name, names, listed=f"in {out} there are: {', '.join(known[-5:])}")


def spelled(name: str, out: Path | None) -> str:
    """The run as the next command must name it."""
    return shlex.quote(name) + (
        "" if out is None or out.resolve() == Runtime().out.resolve() else f" --out {shlex.quote(str(out))}"
    )


def reopened(name: str | Path, out: Path | None) -> tuple[Path, RunConfig]:
    """A run's folder and what it goes on with. It may have been begun from another working directory."""
    folder = run_folder(name, out)
    config = resumable(folder)
    return folder, config.with_how(out=folder.parents[1])


def runs(out: Path) -> list[Path]:
    """All run folders in `out`, oldest first."""
    return sorted((path.parent for path in out.glob("*/*/run.json") if not path.parent.is_symlink()), key=_age)


def _age(folder: Path) -> float:
    return (folder / "run.json").stat().st_mtime if (folder / "run.json").exists() else 0.0
