"""Commands that show a data set to others: `review` to people who read a sample, `push` to the Hugging Face Hub."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import options, tell
from pipeline.errors import UsageError
from pipeline.run.locate import run_folder

Read = Annotated[Path | None, typer.Option(metavar="FILE", help="A filled sheet; its precision goes on the card.")]
Items = Annotated[int, typer.Option(min=1, help="Pairs on the sheet.")]
Repo = Annotated[str, typer.Option(metavar="ORG/NAME", help="A data set's repository; made where there is none.")]
Public = Annotated[bool, typer.Option("--public", help="A repository that is made is for all to see.")]
Yes = Annotated[bool, typer.Option("--yes", help="Send without asking.")]


def review(
    run: options.Run, read: Read = None, items: Items = 100, out: options.Out = None, json: options.Json = False
) -> None:
    """Write a sheet of accepted pairs for people to mark (review.csv), or take a marked one in."""
    from pipeline.dataset import review as reviews
    from pipeline.run import publish
    from pipeline.run import read as run_file
    from pipeline.store.files import atomic_write, write_json

    folder = run_folder(run, out)
    config = run_file(folder).config
    publish.whole(folder)
    if read is None:
        chosen = reviews.sample(publish.records(folder, config), items)
        path = folder / "review.csv"
        if not chosen:
            raise UsageError(f"{folder} has no accepted pair to review")
        if path.exists():
            raise UsageError(f"{path} is there already and may hold marks; move it away, or take it in with --read")
        # The mark at its head tells Excel that it is UTF-8.
        atomic_write(path, ("\ufeff" + reviews.sheet(chosen)).encode())
        tell.json({"sheet": str(path), "items": len(chosen)}) if json else tell.show(tell.words(path))
        return
    known = [record.key for record in publish.records(folder, config) if record.status == "accepted"]
    try:
        text = read.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {read}: {error}; save it as CSV in UTF-8") from error
    found = reviews.read(text, known)
    write_json(folder / publish.REVIEW, found.model_dump(mode="json"))
    publish.again(folder, config)
    publish.report(folder, config)
    if json:
        tell.json({**found.model_dump(), "value": found.precision.value, "interval": found.precision.interval})
        return
    tell.show(tell.words(f"clear and rightly answered: {found.precision}"))
    tell.note(config.models.names())


def push(
    run: options.Run,
    repo: Repo,
    public: Public = False,
    yes: Yes = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Send a run's data set to the Hugging Face Hub in one commit; private unless you say otherwise."""
    from pipeline.dataset import push as hub
    from pipeline.run import read as run_file

    folder = run_folder(run, out)
    kept = run_file(folder)
    sent = hub.parcel(folder / "dataset", kept.config, repo, private=not public)
    rows = [(view, split, count) for view, splits in sent.rows.items() for split, count in splits.items()]
    size = sum(file.bytes for file in sent.files) / 1e6
    if sent.unsent:
        tell.say(f"digsite: not of the data set, and not sent: {', '.join(sent.unsent)}")
    if sent.missing:
        tell.say(f"digsite: pairs of {sent.missing} seeds are missing, whose lines in the journal were damaged")
    if not json:
        tell.show(tell.table("view", "split", "rows", rows=rows), "")
        tell.show(tell.table("file", "bytes", rows=[(file.path, file.bytes) for file in sent.files]))
        visible = "to a repository that is private if it is made now" if sent.private else "for all to see"
        tell.show(tell.words(f"{len(sent.files)} files, {size:,.1f} MB, to {repo}, {visible}"))
    if not yes:
        if json or not sys.stdin.isatty():
            raise UsageError("push asks before it sends anything; where nobody can answer, say --yes")
        if not typer.confirm("Send this?", err=True):
            tell.say("digsite: nothing was sent")
            return
    url = hub.push(sent, f"Run {kept.digest[:12]}", endpoint=os.environ.get("HF_ENDPOINT"))
    tell.json({"commit": url, **sent.model_dump(mode="json")}) if json else tell.show(tell.words(url))
