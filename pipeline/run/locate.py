"""Find the run that a person means by a folder, `wiki/latest`, `wiki`, `latest`, or the first digits of its digest."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError, unknown
from pipeline.run.resume import resumable
from pipeline.store.real_paths import real_root, without_dots


def as_tuple(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def run_folder(name: str | Path, out: Path | None = None) -> Path:
    """Return the folder of the run with this name, or of the run that contains this path.

    Raises UsageError, naming the existing runs, if there is none.
    """
    out = out or Runtime().out
    name = str(name)
    short = name.rstrip("/")
    candidates = [Path(name), out / name, out / name / "latest"]
    if short == "latest":
        candidates[1:1] = [*sorted(out.glob("*/latest"), key=_modified_at)[-1:], *runs(out)[-1:]]
    elif "/" not in short and len(short) >= 4:
        candidates += [path for path in runs(out) if path.name.startswith(short)]
    # Paths within a run come last: its report or its data set.
    for path in (Path(name), out / name):
        candidates += without_dots(path).parents if path.exists() else ()
    for folder in candidates:
        if (folder / "run.json").is_file():
            return _real_folder(folder, out)
    run_names = [f"{path.parent.name}/{path.name}" for path in runs(out)]
    if not run_names:
        raise UsageError(f"no run '{name}' in {out}; there is none yet; start one: digsite generate wiki")
    names = dict.fromkeys(("latest", *(part for run in reversed(run_names) for part in (run.partition("/")[0], run))))
    names.pop(name, None)  # as a folder whose run cannot be read
    raise unknown("run", name, names, listed=f"in {out} there are: {', '.join(run_names[-5:])}")


def _real_folder(folder: Path, out: Path) -> Path:
    """Follow a link to a run beside it, such as `latest`, and links above `out` or above a run elsewhere."""
    if folder.is_symlink() and len(folder.readlink().parts) == 1:
        folder = folder.parent / folder.readlink()
    folder = without_dots(folder)
    for root in (without_dots(out), out.resolve()):
        if folder.is_relative_to(root):
            return out.resolve() / folder.relative_to(root)
    return folder.parent.resolve() / folder.name


def quote_run(name: str, out: Path | None) -> str:
    return shlex.quote(name) + (
        "" if out is None or out.resolve() == Runtime().out.resolve() else f" --out {shlex.quote(str(out))}"
    )


def reopen(name: str | Path, out: Path | None) -> tuple[Path, RunConfig]:
    """Return a run's folder and its configuration. The run may have been begun in another working directory."""
    folder = run_folder(name, out)
    config = resumable(folder)
    return folder, config.with_runtime(out=folder.parents[1])


def runs(out: Path) -> list[Path]:
    out = real_root(out)
    return sorted((path.parent for path in out.glob("*/*/run.json") if not path.parent.is_symlink()), key=_modified_at)


def _modified_at(folder: Path) -> float:
    return (folder / "run.json").stat().st_mtime if (folder / "run.json").exists() else 0.0
