"""Commands about corpora and what can be found in them: `corpus`, `search`, `measure`, `doctor`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import options, tell
from pipeline.config import How, RunConfig

if TYPE_CHECKING:
    from pipeline.corpus import Manifest
    from pipeline.types import Hit

Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")]
K = Annotated[int, typer.Option("-k", min=1, max=100, help="Passages shown.")]
Questions = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSONL or Parquet: question, answer; may have hops, supporting_ids.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="The first questions only.")]
Asked = Annotated[str | None, typer.Option(metavar=options.MODELS, help="A model to be asked what it can do.")]
Judge = Annotated[bool, typer.Option(help="Ask a model about 200 near misses too, how well it judges.")]

corpus = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The corpora that are there, and what is in one.",
    short_help="The corpora that are there, and what is in one.",
)


@corpus.command("list")
def corpus_list(json: options.Json = False) -> None:
    """The corpora that have a manifest."""
    from pipeline.corpus import manifest

    found = [manifest.read(name) for name in manifest.names()]
    if json:
        tell.json([item.model_dump(mode="json") for item in found])
        return
    rows = [(item.name, item.reader, item.licence, item.attribution) for item in found]
    tell.show(tell.table("name", "reader", "licence", "attribution", rows=rows))


@corpus.command("stats")
@options.settled(options.FieldOptions, options.Provenance)
def corpus_stats(settings: RunConfig, json: options.Json = False) -> None:
    """What was read of a corpus, and what was left out and why."""
    from pipeline.corpus.readers.base import skipped_in_words
    from pipeline.run import prepare

    loaded = prepare.corpus(settings)
    counts = loaded.counts.model_dump()
    if json:
        tell.json(
            {"name": loaded.manifest.name, "fingerprint": loaded.fingerprint, **_provenance(loaded.manifest), **counts}
        )
        return
    facts = {"fingerprint": loaded.fingerprint[:12], **_provenance(loaded.manifest), **counts}
    facts["skipped"] = skipped_in_words(loaded.counts.skipped) or "no file"
    tell.show(tell.table(loaded.manifest.name, "", rows=facts.items()))
    for offender in loaded.offenders:
        tell.show(tell.words(f"bad: {offender}", style="yellow"))


def _provenance(manifest: "Manifest") -> dict[str, str]:
    return {"licence": manifest.licence, "attribution": manifest.attribution, "language": manifest.language}


@corpus.command("passages")
@options.settled(options.FieldOptions)
def corpus_passages(settings: RunConfig) -> None:
    """The passages on stdout, a JSON line each, as Search-R1 and others build an index of: id, contents."""
    from pipeline.retrieval.passages import search_r1
    from pipeline.run import prepare

    tell.lines(map(search_r1, prepare.corpus(settings).passages))


class _Searched:
    retriever: options.Engine
    out: options.Out


@options.settled(_Searched, options.FieldOptions)
def search(settings: RunConfig, query: Query, k: K = 5, json: options.Json = False) -> None:
    """The passages that a solver would see for QUERY."""
    hits = asyncio.run(_found(settings, query, k))
    if json:
        tell.json([{"score": hit.score, **hit.passage.model_dump()} for hit in hits])
        return
    for rank, hit in enumerate(hits, 1):
        tell.show(tell.words(f"{rank}  {hit.passage.title}  ({hit.passage.id}, {hit.score:.2f})", style="bold"))
        tell.show(tell.words(hit.passage.text), "")
    if not hits:
        tell.say("no passage holds any of these words")


async def _found(settings: RunConfig, query: str, k: int) -> "list[Hit]":
    from pipeline.retrieval.opening import open_retriever
    from pipeline.run import prepare

    opened = open_retriever(settings.retrieval.retriever, prepare.corpus(settings), settings.how.out)
    return await opened.search(query, k)


class _Measured:
    rollouts: Annotated[int | None, typer.Option(min=1, help="Rollouts of each question.  [4]")]
    concurrency: Annotated[int | None, typer.Option(min=1, help="Rollouts at work at once.")]
    retriever: options.Engine
    out: options.Out


@options.settled(_Measured, options.ModelOptions, options.FieldOptions)
def measure(settings: RunConfig, file: Questions, limit: Limit = None, json: options.Json = False) -> None:
    """How good the solver is on questions with known answers: the check of what difficulty is measured with."""
    from pipeline.dataset.figures import percent, short
    from pipeline.run import api, measuring

    questions = measuring.read(file)[:limit]
    tell.say(f"{len(questions)} questions, {settings.loop.rollouts} rollouts each; this may take minutes")
    found = api.measure(settings, questions)
    if json:
        tell.json(found.model_dump(mode="json"))
        return
    rows = [
        (f.group, f.questions, percent(f.exact, 1), percent(f.f1, 1), percent(f.solved, 1), short(f.least_steps, 1),
         short(f.steps, 1), short(f.seen, 1), percent(f.recall, 1), percent(f.baseline, 1))
        for f in found.figures
    ]  # fmt: skip
    heads = "group", "questions", "EM", "F1", "solved", "least steps", "steps", "passages", "all gold", "one search"
    tell.show(tell.table(*heads, rows=rows))
    tell.say(f"model {found.model}, k = {found.k}; 'one search' is the recall of one search for as many passages")
    tell.note(found.model)


def doctor(  # noqa: PLR0913, PLR0917 - options of the user
    model: Asked = None,
    base_url: options.BaseUrl = None,
    config: options.Config = None,
    sets: options.Sets = None,
    out: options.Out = None,
    judge: Judge = True,
    json: options.Json = False,
) -> int:
    """What is missing on this machine, or what a model can do (--model, --config). Exit 1 where something is amiss."""
    from pipeline.run import doctor as doctors

    if model or base_url or config or sets:
        settings = options.settings({"model": model, "base_url": base_url}, file=config, sets=sets)
        found = doctors.endpoint(settings, judge=judge)
    else:
        found = doctors.checks(out or How().out)
    if json:
        tell.json([check.model_dump() for check in found])
    else:
        rows = [("ok" if c.ok else "missing", c.name, c.detail + (f" → {c.remedy}" if c.remedy else "")) for c in found]
        tell.show(tell.table("", "what", "found", rows=rows))
    return 0 if all(check.ok for check in found) else 1
