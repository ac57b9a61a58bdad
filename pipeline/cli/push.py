"""The command `push`: a run's data set to the Hugging Face Hub."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from pipeline.cli import console, options
from pipeline.errors import UsageError
from pipeline.run import read
from pipeline.run.locate import run_folder


def push(
    run: options.Run,
    repo: Annotated[str, Option(metavar="ORG/NAME", help="A data set's repository; created if it does not exist.")],
    public: Annotated[bool, Option("--public", help="Create the repository as public.")] = False,
    yes: Annotated[bool, Option("--yes", help="Send without asking.")] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Send the data set of a run, or a mix, to the Hugging Face Hub in one commit; a new repository is private."""
    from pipeline.exports import hub_upload as hub

    folder, models, title = _dataset(run, out)
    sent = hub.upload_plan(folder, models, repo, private=not public)
    if sent.unsent:
        console.message(f"digsite: not part of the data set, and not sent: {', '.join(sent.unsent)}")
    if sent.missing:
        console.message(f"digsite: pairs of {sent.missing:,} seeds are missing: their journal lines were damaged")
    if not json:
        console.show(console.rows_of_views(sent.rows), "")
        console.show(console.table("file", "bytes", rows=[(file.path, file.bytes) for file in sent.files]))
        size = f"{len(sent.files):,} files, {sum(file.bytes for file in sent.files) / 1e6:,.1f} MB"
        created = "private" if sent.private else "public"
        console.show(console.text(f"{size}, to {repo}, which is {created} if it is created now"))
    if not yes:
        if json or not sys.stdin.isatty():
            raise UsageError("push asks before it sends anything, and there is no terminal to answer from; add --yes")
        if not typer.confirm("Send this?", err=True):
            console.message("digsite: nothing was sent")
            return
    url = hub.push(sent, title, endpoint=os.environ.get("HF_ENDPOINT"))
    console.result({"commit": url, **sent.model_dump(mode="json")}, console.text(url), as_json=json)


def _dataset(run: str, out: Path | None) -> tuple[Path, str, str]:
    """Where the data set of a run or a mix lies, the models that made it, and what its commit is called."""
    from pipeline.exports.mix import mix_version

    if (Path(run) / mix_version.MIX).is_file() and (mix := mix_version.read(Path(run))):
        return Path(run), " + ".join(lineage.model for lineage in mix.runs), f"Version {mix.version}"
    folder = run_folder(run, out)
    kept = read(folder)
    return folder / "dataset", kept.config.models.names(), f"Run {kept.digest[:12]}"
