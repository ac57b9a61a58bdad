"""From a run's journal to its data set and its report. Nothing else is read but what the report says of cost."""

import hashlib
import logging
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson
import polars as pl

from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.analysis.figures import ACCEPTED, Outside
from pipeline.config import RunConfig
from pipeline.config.corpus_name import ADDRESSED
from pipeline.corpus import manifest
from pipeline.errors import UsageError
from pipeline.exports.data_set import DatasetManifest, Redistribute, Selection, export
from pipeline.exports.data_set import read as manifest_of
from pipeline.exports.report.page import page
from pipeline.gates import Drop
from pipeline.run import RunResult, facts, given_questions, read
from pipeline.run.attempts import spent
from pipeline.run.plan import bounds, judged
from pipeline.store import review_marks
from pipeline.store.amendments import Completions, Forks, Remeasurements, build_join
from pipeline.store.files import atomic_write
from pipeline.store.journal import Journal
from pipeline.types import Record

logger = logging.getLogger(__name__)


class RunRecords:
    """The records of a run's plan, in its order, those with a reason that `include` names last. Each comes with its
    forks, with what other solvers made of it, and with what was made up of its optional stages.
    """

    def __init__(
        self, folder: Path, config: RunConfig, include: tuple[str, ...] = (), journal: Journal | None = None
    ) -> None:
        self.folder, self.config, self._include = folder, config, include
        self.journal = journal or journal_of(folder)
        self.joined = build_join(folder, forks=True)
        self._drops: dict[str, Drop] = {}

    def __iter__(self) -> Iterator[Record]:
        for record, drop in judged(self.journal, self.config, self._include, self.joined):
            if drop:
                self._drops[record.key] = drop
            yield record

    def read(self, key: str) -> Record:
        """One record, with what was found out later; the gates have no say in it."""
        return self.joined(self.journal.read(key))

    def row(self, record: Record) -> seeds.Row:
        """Of a record that this gave: its row of the table of seeds."""
        return seeds.row(record, self.journal.entries[record.key], self._drops.get(record.key))

    @property
    def source(self) -> str:
        """Digest of all that the rows are made from, whichever seed ended first."""
        lines = ((entry.head.key, entry.path.name) for entry in list(self.journal.entries.values()))
        return source(self.folder, self.config, lines, self._include)

    def exported(self) -> pl.LazyFrame | None:
        """The table of the data set, where that was made from what the run holds now."""
        return seed_table.current(self.folder / "dataset" / seed_table.NAME, self.source)

    def seeds(self) -> pl.LazyFrame:
        """The table of the data set, or one made now where that holds another state of the run."""
        found = self.exported()
        return seed_table.frame(map(self.row, self)) if found is None else found

    def accepted(self) -> list[str]:
        """The keys of the pairs, in the order of the plan."""
        return self.seeds().filter(ACCEPTED).select("key").collect()["key"].to_list()


def journal_of(folder: Path, *, whole: bool = True) -> Journal:
    """The journal of a run, without the lines of others."""
    return Journal(folder / "journal", run=read(folder).identity, read_all=whole)


def ended(folder: Path, config: RunConfig) -> tuple[pl.LazyFrame, int]:
    """How the seeds of a run ended, so far: those of the plan, and how many ended beyond it; after a word about what is
    damaged in the journal."""
    found = RunRecords(folder, config)
    whole(folder, damaged=True, journal=found.journal)
    seeds = found.seeds()
    return seeds, len(found.journal.entries) - seeds.select(pl.len()).collect().item()


def record_of(folder: Path, config: RunConfig, prefix: str) -> Record:
    """The one record, of the plan or beyond it, whose key begins so. Raises UsageError where there is none, or more."""
    found = RunRecords(folder, config)
    keys = [key for key in found.journal.entries if prefix and key.startswith(prefix)]
    if len(keys) != 1:
        problem = f"{len(keys)} keys of {folder} begin with" if keys else f"no seed of {folder} has the key"
        raise UsageError(f"{problem} '{prefix}'; 'digsite inspect RUN' lists the keys")
    return found.read(keys[0])


def source(folder: Path, config: RunConfig, lines: Iterable[tuple[str, str]], include: tuple[str, ...] = ()) -> str:
    """See `RunRecords.source`; `lines` are the key of every record, and the name of its file."""
    beside = sorted((path.parent.name, path.name, path.stat().st_size) for path in folder.glob("*/*.jsonl"))
    settings = [config.gates.model_dump_json(), bounds(config.how), include]
    digest = hashlib.sha256(b"[[")
    # Of JSON that a million lines would make 200 MB of.
    for number, line in enumerate(sorted(lines)):
        digest.update(b"," * (number > 0) + orjson.dumps(line))
    digest.update(b"]," + orjson.dumps([beside, settings])[1:])
    return digest.hexdigest()


def dataset(
    folder: Path,
    config: RunConfig,
    *,
    views: tuple[str, ...] = (),
    include: tuple[str, ...] = (),
    plain: bool = False,
    damaged: bool = False,
) -> DatasetManifest:
    """Write `dataset/`; no view named means all of them.

    Raises UsageError where its environment would not be the one of its rollouts, where the manifest is gone that says
    how much of the corpus may be passed on, and where pairs are missing unless `damaged` allows it: see `whole`.
    """
    redistribute = passed_on(folder, config)
    found = RunRecords(folder, config, include)
    chosen = Selection(
        config=config,
        source=found.source,
        views=views,
        include=include,
        plain=plain,
        missing=whole(folder, damaged=damaged, journal=found.journal),
        outside=outside(folder),
        redistribute=redistribute,
        language_detected=facts.kept(folder).language_detected,
    )
    made = export(found, folder / "dataset", chosen, found.row)
    if config.hardens:
        atomic_write(folder / "hardened.jsonl", given_questions.pairs(found))
    return made


def check_policy(folder: Path, config: RunConfig, policy: str) -> None:
    """Raises UsageError where neither the run nor `remeasure` knows a policy of that name."""
    known = sorted({*config.models.policies, *Remeasurements(folder).policies()})
    if policy and policy not in known:
        raise UsageError(
            f"no policy '{policy}' was measured in {folder}; known: {', '.join(known) or 'none'}; "
            f"to measure one: digsite remeasure {shlex.quote(str(folder))} --policy {shlex.quote(policy)} --model MODEL"
        )


def passed_on(folder: Path, config: RunConfig) -> Redistribute:
    """How much of the corpus may be passed on. Raises UsageError where that or the environment is not what it was."""
    asked = config.digested()["prompts"]
    for prompt in ("solver/answer", *config.solver_notes()):
        if read(folder).what["prompts"].get(prompt) != asked[prompt]:
            raise UsageError(f"{folder} was made with another prompt {prompt}; restore that to export it")
    name = config.corpus.name
    known = name in manifest.names()
    if not known and not Path(name).is_absolute() and not ADDRESSED.fullmatch(name):
        raise UsageError(
            f"corpora/{name}.toml, which says how much of '{name}' may be redistributed, is missing; restore it"
        )
    return manifest.read(name).redistribute if known else facts.kept(folder).redistribute


def whole(folder: Path, *, damaged: bool = False, journal: Journal | None = None) -> int:
    """How many seeds of the run ended and have no line that can be read, after a word about them.

    Raises UsageError where there are some, unless `damaged` allows it: a data set must not shrink unseen.
    """
    beside = Forks(folder).damaged + Remeasurements(folder).damaged + Completions(folder).damaged
    if beside:
        logger.warning(
            "damaged lines in %s/branches, /remeasured and /completed, which are left out: %d; "
            "'digsite branch', 'digsite remeasure' and 'digsite complete' make again what is missing",
            folder,
            beside,
        )
    lost = _lost(folder, journal or journal_of(folder))
    if lost:
        line = f"{lost:,} finished {'seed has' if lost == 1 else 'seeds have'} no readable line in {folder / 'journal'}"
        way = f"'digsite resume {shlex.quote(str(folder))}' runs {'it' if lost == 1 else 'them'} again"
        if not damaged:
            raise UsageError(f"{line}; {way}, or export without: digsite export RUN --allow-damaged")
        logger.warning("%s and %s missing; %s", line, "is" if lost == 1 else "are", way)
    return lost


def _lost(folder: Path, journal: Journal) -> int:
    """Damaged lines, but for those that a run has replaced, or the lines that are gone altogether."""
    lost, before = journal.lost, last_result(folder)
    if before is None:
        return lost
    if before.complete:
        # What had been lost by then has been run again, whether or not its key can still be seen.
        lost = min(lost, max(0, journal.damaged + journal.torn - before.damaged))
    return max(lost, before.planned + before.surplus - len(journal.entries))


def again(folder: Path, config: RunConfig) -> None:
    """Write `dataset/` anew after new results were added: the same views, each as it was written."""
    if (before := _data_set(folder)) is None:
        dataset(folder, config)
        return
    for include, plain in sorted({(how.include, how.plain) for how in before.views.values()}):
        views = tuple(name for name, how in before.views.items() if (how.include, how.plain) == (include, plain))
        dataset(folder, config, views=views, include=include, plain=plain)


def report(folder: Path, config: RunConfig) -> Path:
    """Write `report.html`; its path."""
    path = folder / "report.html"
    found = RunRecords(folder, config)
    text = page(found.seeds(), found.read, config, outside(folder), _data_set(folder))
    atomic_write(path, text.encode())
    return path


def _data_set(folder: Path) -> DatasetManifest | None:
    try:
        return manifest_of(folder / "dataset")
    except UsageError:
        return None


def reviewed(folder: Path, config: RunConfig, said: Iterable[review_marks.Mark] = ()) -> None:
    """Keep these marks of people, and write data set and report anew with what all marks come to."""
    review_marks.add(folder, said)
    again(folder, config)
    report(folder, config)


def outside(folder: Path) -> Outside:
    """What all attempts took, interrupted ones too, what readers and seed filter passed over, and what people said."""
    result = last_result(folder)
    if result is None and (folder / "result.json").exists():
        logger.warning("%s/result.json cannot be read; the next 'digsite resume' writes it anew", folder)
    dropped, unread = result.dropped if result else {}, facts.kept(folder).unread
    return Outside(spent=spent(folder), dropped=dropped, unread=unread, marks=tuple(review_marks.read(folder).values()))


def last_result(folder: Path) -> RunResult | None:
    """How the run stood when it last ended; None where it has not, or where its file cannot be read."""
    path = folder / "result.json"
    try:
        return RunResult(folder=folder, **orjson.loads(path.read_bytes())) if path.exists() else None
    except (OSError, ValueError, TypeError):
        return None
