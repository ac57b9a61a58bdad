"""The command `review`: a sample of accepted pairs for people to mark, and what they marked. `digsite view` asks the
same in a browser."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pipeline.cli import console, options
from pipeline.config import RunConfig
from pipeline.errors import UsageError, reason
from pipeline.run.locate import run_folder


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
    from pipeline.run import read as run_file
    from pipeline.store.review_marks import myself

    folder = run_folder(run, out)
    config = run_file(folder).config
    publish.whole(folder)
    if read is None:
        _write(folder, config, items, as_json=json)
    else:
        _read(folder, config, read, by or myself(), as_json=json)


def _write(folder: Path, config: RunConfig, items: int, *, as_json: bool) -> None:
    from pipeline.analysis import human_marks as reviews
    from pipeline.run import publish
    from pipeline.store.files import atomic_write

    records, path = publish.RunRecords(folder, config), folder / "review.csv"
    chosen = [records.read(key) for key in reviews.sample(records.accepted(), items)]
    if not chosen:
        raise UsageError(f"{folder} has no accepted pair to review")
    if path.exists():
        raise UsageError(f"{path} exists and may hold marks; move it away, or read it with --read")
    # The byte order mark makes Excel read it as UTF-8.
    atomic_write(path, ("\ufeff" + reviews.sheet(chosen)).encode())
    console.result({"sheet": str(path), "items": len(chosen)}, console.text(path), as_json=as_json)


def _read(folder: Path, config: RunConfig, sheet: Path, by: str, *, as_json: bool) -> None:
    from pipeline.analysis import human_marks as reviews
    from pipeline.run import publish
    from pipeline.store.review_marks import now, reviewer

    try:
        marked = sheet.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {sheet}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {sheet}: {error}; save it as CSV in UTF-8") from error
    accepted = publish.RunRecords(folder, config).accepted()
    said = reviews.read(marked, accepted, reviewer(by), now())
    publish.reviewed(folder, config, said)
    found = reviews.reviewed(publish.outside(folder).marks, set(accepted))
    if found is None:  # no mark is on a pair
        raise UsageError("no row has a mark: fill in yes or no")
    tree = {**found.model_dump(), "value": found.precision.value, "interval": found.precision.interval}
    line = console.text(f"right and unique: {found.precision}")
    console.result(tree, line, as_json=as_json, model=config.models.names())
