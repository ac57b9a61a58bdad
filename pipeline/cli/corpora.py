"""Commands that inspect or search a corpus, or test the installation: `corpus`, `search`, `measure`, `doctor`."""

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
    manifests = [manifest.read(name) for name in manifest.names()]
    rows = [(corpus.name, corpus.reader, corpus.licence, corpus.attribution) for corpus in manifests]
    table = console.table("name", "reader", "licence", "attribution", rows=rows)
    console.result([corpus.model_dump(mode="json") for corpus in manifests], table, as_json=json)


@corpus.command("stats")
@dataclass(kw_only=True)
class CorpusStats(options.ProvenanceOptions):
    """Show what was read from a corpus, what was skipped and why, and how well its documents are linked."""

    out: options.Out = None
    verify: options.Verify = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.analysis.prospects import estimate_prospects
        from pipeline.links.coverage import coverage
        from pipeline.run import prepare

        config = self.settings()
        loaded = prepare.corpus(config)
        links = prepare.links(config, loaded)
        linked, prospects = coverage(links), estimate_prospects(links)
        provenance = loaded.manifest.model_dump(include={"licence", "attribution", "language", "as_of"})
        if loaded.language != provenance["language"]:
            provenance["language"] = f"{loaded.language} (detected)"
        facts = {"fingerprint": loaded.fingerprint, **provenance, **loaded.counts.model_dump()}
        rows = facts | {"fingerprint": loaded.fingerprint[:12], "as_of": facts["as_of"] or "unknown"}
        rows["skipped"] = in_words(loaded.counts.skipped) or "no file"
        rows["kinds"] = loaded.counts.read_by_kind or "rows, not files"
        del rows["notes"]
        console.result(
            {
                "name": loaded.manifest.name,
                **facts,
                "links": linked.model_dump(),
                "prospects": prospects.model_dump(),
            },
            console.table(loaded.manifest.name, "", rows=(rows | linked.in_words()).items()),
            console.text(prospects.describe()),
            *(console.text(f"bad: {offender}", style="yellow") for offender in loaded.offenders),
            *(console.text(note, style="yellow") for note in loaded.counts.noted),
            as_json=self.json,
        )


@corpus.command("passages")
@dataclass(kw_only=True)
class CorpusPassages(options.CorpusOptions):
    """Print the passages as JSON lines with id and contents, the input of Search-R1 and other index builders."""

    out: options.Out = None

    def __call__(self) -> None:
        from pipeline.retrieval.passage_texts import search_r1
        from pipeline.run import prepare

        console.json_lines(map(search_r1, prepare.corpus(self.settings()).passages))


@corpus.command("prune")
@dataclass(kw_only=True)
class CorpusPrune(options.CorpusOptions):
    """List the texts and indexes of a corpus's old states that no newest version of a run needs; --yes removes them."""

    keep: Annotated[
        list[str] | None, Option(metavar="RUN", help="Keep the texts and the index of this old version. Repeatable.")
    ] = None
    yes: Annotated[bool, Option("--yes", help="Remove what is listed.")] = False
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.run import prepare, pruning
        from pipeline.run.locate import run_folder

        config = self.settings()
        out = config.runtime.out
        keep = [run_folder(name, out) for name in self.keep or ()]
        states = pruning.find_old_states(prepare.check(config), out, keep)
        removed = [self.yes and pruning.remove_state(state) for state in states]
        rows = [
            (
                state.fingerprint,
                f"{state.size / 1e6:,.1f} MB",
                ", ".join(state.runs) or "no run",
                "removed" if is_removed else "in use" if self.yes else "",
            )
            for state, is_removed in zip(states, removed, strict=True)
        ]
        console.result(
            [
                {"fingerprint": state.fingerprint, "size": state.size, "runs": state.runs, "removed": is_removed}
                for state, is_removed in zip(states, removed, strict=True)
            ],
            *([console.table("state", "size", "made with it", "", rows=rows)] if rows else []),
            as_json=self.json,
        )
        total = f"{sum(state.size for state in states) / 1e6:,.1f} MB"
        if not states:
            console.message("digsite: nothing to remove: every state is that of today or of a newest version")
        elif not self.yes:
            console.message(
                f"digsite: --yes removes these {total}; data sets stay, but these runs can no longer be served or "
                "completed (--keep RUN keeps one)"
            )


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
        retriever = open_retriever(config.retrieval, prepare.corpus(config), config.runtime.out)
        hits = asyncio.run(retriever.search(self.query, self.k))
        if self.json:
            console.json([{"score": hit.score, **hit.passage.model_dump()} for hit in hits])
            return
        for rank, hit in enumerate(hits, 1):
            head = f"{rank}  {hit.passage.heading}  ({hit.passage.id}, {hit.score:.2f})"
            console.show(console.text(head, style="bold"), console.text(hit.passage.text), "")
        if not hits:
            console.message("no passage contains any of these words")


@dataclass(kw_only=True)
class Measure(options.ModelOptions, options.CorpusOptions):
    """Measure how well the solver answers questions with known answers, to know how far to trust its difficulty."""

    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A file or folder of questions with answers, in the form of a benchmark or of --view qa: .jsonl, "
            ".json, .parquet, .csv, .tsv.",
        ),
    ]
    limit: Annotated[int | None, Option(min=1, help="Ask only this many questions, from the first on.")] = None
    rollouts: Annotated[int | None, Option(min=1, help="Rollouts of each question.  [4]")] = None
    concurrency: Annotated[int | None, Option(min=1, help="Rollouts in progress at once.")] = None
    retriever: Annotated[
        list[str] | None,
        Option(
            help="lucene, bm25, dense, hybrid, or http://host/retrieve#NAME. Repeatable: with several, compares what "
            "one search of each finds, without a solver.  [lucene]"
        ),
    ] = None
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline import api
        from pipeline.measurement import gold_questions

        retrievers = list(dict.fromkeys(self.retriever or ()))
        config = self.settings(retriever=retrievers[0] if retrievers else None)
        questions = gold_questions.read(self.file)[: self.limit]
        have_answers = all(question.answer for question in questions)
        if not have_answers:
            console.message(
                "some questions have no answer, so only the recall of one search for each question is measured"
            )
        if len(retrievers) > 1 or not have_answers:
            self._compare(config, questions, retrievers or [config.retrieval.retriever])
            return
        console.message(f"{len(questions):,} questions, {config.loop.rollouts} rollouts each; this may take minutes")
        measurement = api.measure(config, questions)
        rows = [
            (f.group, f.questions, percent(f.accuracy, 1), percent(f.exact, 1), percent(f.f1, 1), percent(f.solved, 1),
             short(f.least_steps, 1), short(f.steps, 1), short(f.searches, 1), short(f.seen, 1),
             percent(f.evidence_recall, 1), percent(f.recall, 1), percent(f.baseline, 1))
            for f in measurement.figures
        ]  # fmt: skip
        heads = (
            *("group", "questions", "accuracy", "EM", "F1", "solved", "least steps", "steps", "searches", "passages"),
            *("evidence", "all gold", "one search"),
        )
        table = console.table(*heads, rows=rows)
        self._explain_figures(
            f"model {measurement.model}, k = {measurement.k}; 'accuracy' is by the judge, 'evidence' is the share of "
            "supporting documents seen, and 'one search' is the recall of one search for as many passages",
            len({score.question for score in measurement.scored if score.recall is not None}),
            questions,
        )
        if measurement.unjudged:
            console.message(
                f"digsite: the judge gave no verdict on {measurement.unjudged:,} rollouts, which do not count in "
                "'accuracy'"
            )
        if measurement.refused:
            console.message(f"digsite: the server refused {measurement.refused:,} rollouts, which are not counted here")
        console.result(measurement.model_dump(mode="json"), table, as_json=self.json, model=measurement.model)

    def _explain_figures(self, meaning: str, with_recall: int, questions: "Sequence[GoldQuestion]") -> None:
        if self.json:
            return
        console.message(meaning)
        with_titles = sum(bool(question.supporting_ids or question.supporting_titles) for question in questions)
        if with_recall < with_titles:
            covered = "their documents are all in the corpus"
            console.message(f"recall is measured for {with_recall:,} of {with_titles:,} questions: {covered}")

    def _compare(self, config: RunConfig, questions: "Sequence[GoldQuestion]", retrievers: list[str]) -> None:
        from pipeline import api
        from pipeline.measurement import retriever_recall

        recalls = api.compare_retrievers(config, questions, retrievers)
        rows = [
            (f.group, f.questions, f.retriever, *(percent(f.all_gold[str(k)], 1) for k in retriever_recall.DEPTHS))
            for f in recalls
        ]
        heads = "group", "questions", "retriever", *(f"@{k}" for k in retriever_recall.DEPTHS)
        meaning = "@k: share of questions for which the first k passages of one search include all supporting documents"
        self._explain_figures(meaning, recalls[0].questions, questions)
        console.result([recall.model_dump() for recall in recalls], console.table(*heads, rows=rows), as_json=self.json)


def doctor(  # noqa: PLR0913, PLR0917 - options of the user
    model: Annotated[str | None, Option(metavar=options.MODELS, help="Test what a model can do.")] = None,
    base_url: options.BaseUrl = None,
    config: options.Config = None,
    sets: options.Sets = None,
    out: options.Out = None,
    judge: Annotated[bool, Option(help="Also test how well the model judges 200 near misses.")] = True,
    json: options.Json = False,
) -> int:
    """Check this machine, or what a model can do (--model, --config). Exit 1 if something is missing."""
    from pipeline.doctor import diagnosis

    if model or base_url or config or sets:
        settings = options.build_config({"model": model, "base_url": base_url, "out": out}, file=config, sets=sets)
        checks = diagnosis.endpoint(settings, judge=judge)
    else:
        checks = diagnosis.checks(out or Runtime().out)
    rows = [("ok" if c.ok else "not ok", c.name, c.detail + (f" → {c.remedy}" if c.remedy else "")) for c in checks]
    table = console.table("", "what", "found", rows=rows)
    console.result([check.model_dump() for check in checks], table, as_json=json)
    return 0 if all(check.ok for check in checks) else 1
