"""The versions of a run, one for each state of the corpus: folders beside each other, `<digest>`, `<digest>-v2`, ...

Each is an ordinary run. `version.json` in the later ones says what was taken over from the one before, whose folder
is not changed any more, so that trainers can keep reading it.
"""

import re
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import StoreError
from pipeline.run import attempts, resume
from pipeline.store.files import write_json
from pipeline.store.journal import RunIdentity
from pipeline.types.version import Version, VersionSummary

NAME = "version.json"
_FOLDER = re.compile(r"(.+?)(?:-v([0-9]+))?")


def read_version(folder: Path) -> Version | None:
    """Return what a run took over, or None for a first version. Raises StoreError if the file is damaged."""
    path = folder / NAME
    try:
        return Version.model_validate_json(path.read_bytes()) if path.exists() else None
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path} is damaged; move {folder} elsewhere, and it is made again") from error


def count_carried(folder: Path) -> int:
    version = read_version(folder)
    return version.summary.carried if version else 0


def write_version(folder: Path, version: Version) -> None:
    write_json(folder / NAME, version.model_dump(mode="json"))


def find_newest(folder: Path) -> Path:
    """Return the folder of the newest version of the run that `folder` is a version of."""
    first = folder.with_name(split_name(folder)[0])
    later = {split_name(path.parent)[1]: path.parent for path in first.parent.glob(f"{first.name}-v*/{NAME}")}
    return later[max(later)] if later else first


def next_folder(folder: Path) -> Path:
    name, number = split_name(folder)
    return folder.with_name(f"{name}-v{number + 1}")


def split_name(folder: Path) -> tuple[str, int]:
    """Return the name of a run's first version, and the number of this one."""
    match = _FOLDER.fullmatch(folder.name)
    assert match  # noqa: S101 - the name of a folder is never empty
    return match[1], int(match[2] or 1)


def format_tag(folder: Path) -> str:
    """Return the tag of a version on the Hub, such as `3f2a9c1b77aa-v1`."""
    return "{}-v{}".format(*split_name(folder))


def read_identity(folder: Path) -> RunIdentity | None:
    """Return what the keys in a run's journal are made of."""
    run, version = resume.read(folder), read_version(folder)
    if not run.digest:
        return None
    return RunIdentity(run.digest, run.corpus_fingerprint, version.ancestors if version else ())


def begin_summary(folder: Path, fingerprint: str, date: str = "") -> VersionSummary:
    number = split_name(folder)[1]
    return VersionSummary(number=number, date=date, tag=format_tag(folder), corpus_fingerprint=fingerprint)


def first_day(folder: Path) -> str:
    """Return the day of a run's first attempt; an empty text if there is none."""
    first = next(attempts.read(folder), None)
    return first.began[:10] if first else ""
