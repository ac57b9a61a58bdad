"""Commands about corpora and what can be found in them: `corpus`, `search`, `measure`, `doctor`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from pipeline.analysis.estimates import percent, short
from pipeline.cli import console, options
from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.corpus import manifest
from pipeline.corpus.unreadable_files import in_words

if TYPE_CHECKING:
    from pipeline.measurement.gold_questions import GoldQuestion

HELP = "List the corpora, or show what is in one."
corpus = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=HELP, short_help=HELP)


@corpus.command("list")
def corpus_list(json: options.Json = False) -> None:
    """List the corpora that have a manifest."""
    found = [manifest.read(name) for name in manifest.names()]
    rows = [(item.name, item.reader, item.licence, item.attribution) for item in found]
    table = console.table("name", "reader", "licence", "attribution", rows=rows)
    console.result([item.model_dump(mode="json") for item in found], table, as_json=json)


@corpus.command("stats")
@dataclass(kw_only=True)
class CorpusStats(options.ProvenanceOptions):
    """Show what was read of a corpus, what was left out and why, and how well its documents are linked."""

    out: options.Out = None
    verify: options.Verify = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.links.coverage import coverage
        from pipeline.run import prepare

        config = self.settings()
        loaded = prepare.corpus(config)
        linked = coverage(prepare.links(config, loaded))
        stated = loaded.manifest.model_dump(include={"licence", "attribution", "language", "as_of"})
        if loaded.language_detected:
            stated["language"] = f"{loaded.language} (detected)"
        facts = {"fingerprint": loaded.fingerprint, **stated, **loaded.counts.model_dump()}
        shown = facts | {"fingerprint": loaded.fingerprint[:12], "as_of": facts["as_of"] or "unknown"}
        shown["skipped"] = in_words(loaded.counts.skipped) or "no file"
        del shown["notes"]
        console.result(
            {"name": loaded.manifest.name, **facts, "links": linked.model_dump()},
            console.table(loaded.manifest.name, "", rows=(shown | linked.in_words()).items()),
            *(console.text(f"bad: {offender}", style="yellow") for offender in loaded.offenders),
            *(console.text(note, style="yellow") for note in loaded.counts.noted),
            as_json=self.json,
        )


@corpus.command("passages")
@dataclass(kw_only=True)
class CorpusPassages(options.CorpusOptions):
    """Print the passages as JSON lines with id and contents, from which Search-R1 and others build an index."""

    out: options.Out = None

    def __call__(self) -> None:
        from pipeline.retrieval.passage_texts import search_r1
        from pipeline.run import prepare

        console.json_lines(map(search_r1, prepare.corpus(self.settings()).passages))


@dataclass(kw_only=True)
class Search(options.CorpusOptions):
    """Show the passages that a solver would see for QUERY."""

    query: Annotated[str, Argument(metavar="QUERY", help="The words to search for.")]
    k: Annotated[int, Option("-k", min=1, max=100, help="Passages shown.")] = 5
    retriever: options.Engine = None
    config: options.Config = None
    sets: options.Sets = None
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.retrieval.open_retriever import open_retriever
        from pipeline.run import prepare

        config = self.settings()
        retriever = open_retriever(config.retrieval, prepare.corpus(config), config.how.out)
        hits = asyncio.run(retriever.search(self.query, self.k))
        if self.json:
            console.json([{"score": hit.score, **hit.passage.model_dump()} for hit in hits])
            return
        for rank, hit in enumerate(hits, 1):
            head = f"{rank}  {hit.passage.heading}  ({hit.passage.id}, {hit.score:.2f})"
            console.show(console.text(head, style="bold"), console.text(hit.passage.text), "")
        if not hits:
            console.message("no passage holds any of these words")


@dataclass(kw_only=True)
class Measure(options.ModelOptions, options.CorpusOptions):
    """Measure how well the solver answers questions with known answers, before you trust the difficulty it measures."""

    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A file or folder of questions with answers, as a benchmark or --view qa lays it out: .jsonl, .json, "
            ".parquet, .csv, .tsv.",
        ),
    ]
    limit: Annotated[int | None, Option(min=1, help="Ask the first questions only.")] = None
    rollouts: Annotated[int | None, Option(min=1, help="Rollouts of each question.  [4]")] = None
    concurrency: Annotated[int | None, Option(min=1, help="Rollouts in progress at once.")] = None
    retriever: Annotated[
        list[str] | None,
        Option(
            help="Repeatable: compares what one search of each finds, without a solver. lucene, bm25, dense, hybrid, "
            "or http://host/retrieve#NAME.  [lucene]"
        ),
    ] = None
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline import api
        from pipeline.measurement import gold_questions

        asked = list(dict.fromkeys(self.retriever or ()))
        config = self.settings(retriever=asked[0] if asked else None)
        questions = gold_questions.read(self.file)[: self.limit]
        answered = all(question.answer for question in questions)
        if not answered:
            console.message("the questions have no answers: only what one search finds of their documents is measured")
        if len(asked) > 1 or not answered:
            self._compare(config, questions, asked or [config.retrieval.retriever])
            return
        console.message(f"{len(questions):,} questions, {config.loop.rollouts} rollouts each; this may take minutes")
        found = api.measure(config, questions)
        rows = [
            (f.group, f.questions, percent(f.exact, 1), percent(f.f1, 1), percent(f.solved, 1), short(f.least_steps, 1),
             short(f.steps, 1), short(f.seen, 1), percent(f.recall, 1), percent(f.baseline, 1))
            for f in found.figures
        ]  # fmt: skip
        heads = "group", "questions", "EM", "F1", "solved", "least steps", "steps", "passages", "all gold", "one search"
        table = console.table(*heads, rows=rows)
        self._say(
            f"model {found.model}, k = {found.k}; 'one search' is the recall of one search for as many passages",
            len({one.question for one in found.scored if one.recall is not None}),
            questions,
        )
        if found.refused:
            console.message(f"digsite: rollouts that the server refused, which no figure counts: {found.refused:,}")
        console.result(found.model_dump(mode="json"), table, as_json=self.json, model=found.model)

    def _say(self, meaning: str, located: int, questions: "Sequence[GoldQuestion]") -> None:
        """Tell a person what the figures are, and where recall is of some of the questions only."""
        if self.json:
            return
        console.message(meaning)
        named = sum(bool(one.supporting_ids or one.supporting_titles) for one in questions)
        if located < named:
            where = "recall is measured where the corpus has all supporting titles"
            console.message(f"{where}: {located:,} of {named:,} questions")

    def _compare(self, config: RunConfig, questions: "Sequence[GoldQuestion]", asked: list[str]) -> None:
        from pipeline import api
        from pipeline.measurement import retriever_recall

        found = api.compare_retrievers(config, questions, asked)
        rows = [
            (f.group, f.questions, f.retriever, *(percent(f.all_gold[str(k)], 1) for k in retriever_recall.DEPTHS))
            for f in found
        ]
        heads = "group", "questions", "retriever", *(f"@{k}" for k in retriever_recall.DEPTHS)
        meaning = "the share of questions of which one search finds all supporting documents, by its passages"
        self._say(meaning, found[0].questions, questions)
        console.result([one.model_dump() for one in found], console.table(*heads, rows=rows), as_json=self.json)


def doctor(  # noqa: PLR0913, PLR0917 - options of the user
    model: Annotated[str | None, Option(metavar=options.MODELS, help="Test what a model can do.")] = None,
    base_url: options.BaseUrl = None,
    config: options.Config = None,
    sets: options.Sets = None,
    out: options.Out = None,
    judge: Annotated[bool, Option(help="Test how well the model judges 200 near misses, too.")] = True,
    json: options.Json = False,
) -> int:
    """Check this machine, or what a model can do (--model, --config). Exit 1 if something is missing."""
    from pipeline.doctor import diagnosis as doctors

    if model or base_url or config or sets:
        settings = options.settings({"model": model, "base_url": base_url, "out": out}, file=config, sets=sets)
        found = doctors.endpoint(settings, judge=judge)
    else:
        found = doctors.checks(out or Runtime().out)
    rows = [("ok" if c.ok else "missing", c.name, c.detail + (f" → {c.remedy}" if c.remedy else "")) for c in found]
    console.result([check.model_dump() for check in found], console.table("", "what", "found", rows=rows), as_json=json)
    return 0 if all(check.ok for check in found) else 1
