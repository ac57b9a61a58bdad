"""Which run a person means: a folder, `wiki/latest`, `wiki`, `latest`, or the first digits of its digest."""

from pathlib import Path

from pipeline.errors import UsageError


def run_folder(name: str, out: Path) -> Path:
    """The folder of the run called `name`. Raises UsageError, naming the runs that are there."""
    candidates = [Path(name), out / name, out / name / "latest"]
    if name == "latest":
        candidates = sorted(out.glob("*/latest"), key=_age)[-1:]
    elif "/" not in name and len(name) >= 4:
        candidates += [path for path in runs(out) if path.name.startswith(name)]
    for folder in candidates:
        if (folder / "run.json").is_file():
            return folder.resolve()
    known = [f"{path.parent.name}/{path.name}" for path in runs(out)]
    there = f"there are: {', '.join(known[-5:])}" if known else "there is none yet; start one: digsite generate wiki"
    raise UsageError(f"no run '{name}' in {out}; {there}")


def runs(out: Path) -> list[Path]:
    """All run folders in `out`, oldest first."""
    return sorted((path.parent for path in out.glob("*/*/run.json") if not path.parent.is_symlink()), key=_age)


def _age(folder: Path) -> float:
    return (folder / "run.json").stat().st_mtime if (folder / "run.json").exists() else 0.0
