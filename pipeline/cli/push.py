"""The command `push`: uploads the data set of a run or a mix to the Hugging Face Hub."""

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
from pipeline.run.versions import format_tag


def push(
    run: options.Run,
    repo: Annotated[str, Option(metavar="ORG/NAME", help="A data set's repository; created if it does not exist.")],
    public: Annotated[bool, Option("--public", help="Create the repository as public.")] = False,
    yes: Annotated[bool, Option("--yes", help="Send without asking.")] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Send the data set of a run, or a mix, to the Hugging Face Hub in one commit; a new repository is private."""
    from pipeline.exports import hub_upload

    folder, models, title, tag = _find_dataset(run, out)
    plan = hub_upload.upload_plan(folder, models, repo, private=not public)
    if plan.unsent:
        console.message(f"digsite: not part of the data set, and not sent: {', '.join(plan.unsent)}")
    if plan.missing:
        console.message(f"digsite: pairs of {plan.missing:,} seeds are missing: their journal lines were damaged")
    if not json:
        console.show(console.rows_of_views(plan.rows), "")
        console.show(console.table("file", "bytes", rows=[(file.path, file.bytes) for file in plan.files]))
        size = f"{len(plan.files):,} files, {sum(file.bytes for file in plan.files) / 1e6:,.1f} MB"
        visibility = "private" if plan.private else "public"
        console.show(console.text(f"{size}, to {repo}, which is {visibility} if it is created now"))
    if not yes:
        if json or not sys.stdin.isatty():
            raise UsageError("push asks before it sends anything, and there is no terminal to answer from; add --yes")
        if not typer.confirm("Send this?", err=True):
            console.message("digsite: nothing was sent")
            return
    url = hub_upload.push(plan, title, tag, endpoint=os.environ.get("HF_ENDPOINT"))
    console.result({"commit": url, **plan.model_dump(mode="json")}, console.text(url), as_json=json)


def _find_dataset(run: str, out: Path | None) -> tuple[Path, str, str, str]:
    """Return the folder of the data set, the names of its models, and the title and tag of its commit."""
    from pipeline.exports.mix import mix_version

    if (Path(run) / mix_version.MIX).is_file() and (mix := mix_version.read(Path(run))):
        return Path(run), " + ".join(lineage.model for lineage in mix.runs), f"Version {mix.version}", ""
    folder = run_folder(run, out)
    saved = read(folder)
    tag = format_tag(folder)
    return folder / "dataset", saved.config.models.names(), f"Run {tag}", tag
