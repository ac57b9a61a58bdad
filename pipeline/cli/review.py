"""The command `review`: writes a sample of accepted pairs for people to mark, and reads their marks.

`digsite view` asks the same questions in a browser.
"""

from pathlib import Path
from typing import Annotated

from typer import Option

from pipeline.analysis import human_marks
from pipeline.cli import console, options
from pipeline.errors import UsageError, reason
from pipeline.run import read as run_file
from pipeline.run.locate import run_folder
from pipeline.store.files import atomic_write
from pipeline.store.review_marks import clean_reviewer_name, login_name, now
from pipeline.types import Record


def review(
    run: options.Run,
    read: Annotated[Path | None, Option(metavar="FILE", help="A marked sheet; its precision goes on the card.")] = None,
    by: Annotated[str | None, Option(metavar="NAME", help="Who marked the sheet.  [your login name]")] = None,
    items: Annotated[int, Option(min=1, help="Pairs on the sheet.")] = 100,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Write a sheet of accepted pairs for people to mark (review.csv), or read a marked one."""
    from pipeline.run import publish

    folder = run_folder(run, out)
    publish.check_lost_seeds(folder)
    config = run_file(folder).config
    records = publish.RunRecords(folder, config)
    if read is None:
        sample = [records.read(key) for key in human_marks.sample(records.accepted_keys(), items)]
        path = _write_sheet(folder, sample)
        console.result({"sheet": str(path), "items": len(sample)}, console.text(path), as_json=json)
        return
    accepted = records.accepted_keys()
    name = clean_reviewer_name(by or login_name())
    publish.publish_marks(folder, config, human_marks.read(_read_sheet(read), accepted, name, now()))
    summary = human_marks.summarise_marks(publish.outside(folder).marks, set(accepted))
    if summary is None:  # no mark is on a pair
        raise UsageError("no row has a mark: fill in yes or no")
    tree = {**summary.model_dump(), "value": summary.precision.value, "interval": summary.precision.interval}
    line = console.text(f"right and unique: {summary.precision}")
    console.result(tree, line, as_json=json, model=config.models.names())


def _write_sheet(folder: Path, sample: list[Record]) -> Path:
    path = folder / "review.csv"
    if not sample:
        raise UsageError(f"{folder} has no accepted pair to review; 'digsite inspect' says why")
    if path.exists():
        raise UsageError(f"{path} exists and may hold marks; move it away, or read it with --read")
    # The byte order mark makes Excel read it as UTF-8.
    atomic_write(path, ("\ufeff" + human_marks.sheet(sample)).encode())
    return path


def _read_sheet(sheet: Path) -> str:
    try:
        return sheet.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {sheet}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {sheet}: {error}; save it as CSV in UTF-8") from error
