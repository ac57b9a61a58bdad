"""Which run a person means: a folder, `wiki/latest`, `wiki`, `latest`, or the first digits of its digest."""

import shlex
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.how import How
from pipeline.errors import UsageError


def run_folder(name: str | Path, out: Path | None = None) -> Path:
    """The folder of the run called `name`, or that `name` lies in. Raises UsageError, naming the runs there are."""
    out = out or How().out
    name = str(name)
    short = name.rstrip("/")
    candidates = [Path(name), out / name, out / name / "latest"]
    if short == "latest":
        candidates[1:1] = sorted(out.glob("*/latest"), key=_age)[-1:]
    elif "/" not in short and len(short) >= 4:
        candidates += [path for path in runs(out) if path.name.startswith(short)]
    # Only then what lies within a run: its report, its data set, a shard.
    for place in (Path(name), out / name):
        candidates += place.resolve().parents if place.exists() else ()
    for folder in candidates:
        if (folder / "run.json").is_file():
            return folder.resolve()
    known = [f"{path.parent.name}/{path.name}" for path in runs(out)]
    there = f"there are: {', '.join(known[-5:])}" if known else "there is none yet; start one: digsite generate wiki"
    raise UsageError(f"no run '{name}' in {out}; {there}")


def spelled(name: str, out: Path | None) -> str:
    """The run as the next command must name it."""
    return name if out in (None, How().out) else f"{name} --out {shlex.quote(str(out))}"


def reopened(name: str | Path, out: Path | None) -> tuple[Path, RunConfig]:
    """A run's folder and what it goes on with. It may have been begun from another working directory."""
    from pipeline.run import resumable

    folder = run_folder(name, out)
    config = resumable(folder)
    return folder, config.model_copy(update={"how": config.how.model_copy(update={"out": folder.parents[1]})})


def runs(out: Path) -> list[Path]:
    """All run folders in `out`, oldest first."""
    return sorted((path.parent for path in out.glob("*/*/run.json") if not path.parent.is_symlink()), key=_age)


def _age(folder: Path) -> float:
    return (folder / "run.json").stat().st_mtime if (folder / "run.json").exists() else 0.0
