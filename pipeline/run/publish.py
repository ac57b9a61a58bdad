"""Publish a run: its data set and its report, from the journal alone. Only the report's costs have other sources."""

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
from pipeline.config.run import ADDRESSED
from pipeline.corpus import manifest
from pipeline.errors import UsageError
from pipeline.exports.data_set import DatasetManifest, Redistribute, Selection, export, read_manifest
from pipeline.exports.report.page import page
from pipeline.gates import Drop
from pipeline.run import RunResult, facts, given_questions, read
from pipeline.run.attempts import total_spending
from pipeline.run.plan import bounds, judge_records
from pipeline.store import review_marks
from pipeline.store.amendments import Completions, Forks, Remeasurements, build_join
from pipeline.store.files import atomic_write
from pipeline.store.journal import Journal
from pipeline.types import Record

logger = logging.getLogger(__name__)


class RunRecords:
    """The records of a run's plan, in its order, and last those with a reason in `include`.

    Each record comes with its forks, its measurements by other solvers, and its optional stages run later.
    """

    def __init__(
        self, folder: Path, config: RunConfig, include: tuple[str, ...] = (), journal: Journal | None = None
    ) -> None:
        self.folder, self.config, self._include = folder, config, include
        self.journal = journal or journal_of(folder)
        self.joined = build_join(folder, forks=True)
        self._drops: dict[str, Drop] = {}

    def __iter__(self) -> Iterator[Record]:
        for record, drop in judge_records(self.journal, self.config, self._include, self.joined):
            if drop:
                self._drops[record.key] = drop
            yield record

    def read(self, key: str) -> Record:
        return self.joined(self.journal.read(key))

    def row(self, record: Record) -> seeds.Row:
        return seeds.row(record, self.journal.entries[record.key], self._drops.get(record.key))

    @property
    def source(self) -> str:
        """Return a digest of everything that rows are made from. It does not depend on which seed ended first."""
        lines = ((entry.head.key, entry.path.name) for entry in list(self.journal.entries.values()))
        return source(self.folder, self.config, lines, self._include)

    def read_exported(self) -> pl.LazyFrame | None:
        return seed_table.scan_current(self.folder / "dataset" / seed_table.NAME, self.source)

    def seeds(self) -> pl.LazyFrame:
        exported = self.read_exported()
        return seed_table.frame(map(self.row, self)) if exported is None else exported

    def accepted_keys(self) -> list[str]:
        return self.seeds().filter(ACCEPTED).select("key").collect()["key"].to_list()


def journal_of(folder: Path, *, whole: bool = True) -> Journal:
    return Journal(folder / "journal", run=read(folder).identity, read_all=whole)


def read_ended_seeds(folder: Path, config: RunConfig) -> tuple[pl.LazyFrame, int]:
    """Return the table of the plan's seeds so far, and how many seeds ended beyond it. Warns of journal damage."""
    records = RunRecords(folder, config)
    check_lost_seeds(folder, damaged=True, journal=records.journal)
    seeds = records.seeds()
    return seeds, len(records.journal.entries) - seeds.select(pl.len()).collect().item()


def record_of(folder: Path, config: RunConfig, prefix: str) -> Record:
    """Return the record whose key has this prefix, in the plan or beyond. Raises UsageError unless exactly one has."""
    records = RunRecords(folder, config)
    keys = [key for key in records.journal.entries if prefix and key.startswith(prefix)]
    if len(keys) != 1:
        problem = f"{len(keys)} keys of {folder} begin with" if keys else f"no seed of {folder} has the key"
        raise UsageError(f"{problem} '{prefix}'; 'digsite inspect RUN' lists the keys")
    return records.read(keys[0])


def source(folder: Path, config: RunConfig, lines: Iterable[tuple[str, str]], include: tuple[str, ...] = ()) -> str:
    """Digest a run, as `RunRecords.source` does. `lines` are each record's key and the name of its file."""
    other_files = sorted((path.parent.name, path.name, path.stat().st_size) for path in folder.glob("*/*.jsonl"))
    settings = [config.gates.model_dump_json(), bounds(config.runtime), include]
    digest = hashlib.sha256(b"[[")
    # Feed the JSON piece by piece: for a million lines it would be 200 MB.
    for line_index, line in enumerate(sorted(lines)):
        digest.update(b"," * (line_index > 0) + orjson.dumps(line))
    digest.update(b"]," + orjson.dumps([other_files, settings])[1:])
    return digest.hexdigest()


def dataset(
    folder: Path,
    config: RunConfig,
    *,
    views: tuple[str, ...] = (),
    plain: bool | None = None,
    damaged: bool = False,
    allow_removal: bool = False,
) -> DatasetManifest:
    """Write `dataset/`; without `views` all of them, and without `plain` in the form of the data set that is there.

    Raises UsageError if its environment would differ from that of its rollouts, if the manifest that says how much of
    the corpus may be redistributed is missing, if pairs are lost and `damaged` is false (see `check_lost_seeds`), or if
    something that is there would be removed and `allow_removal` is false.
    """
    redistribute, include = check_redistribution(folder, config), config.gates.include
    records = RunRecords(folder, config, include)
    if plain is None:
        before = _read_manifest(folder)
        plain = before is not None and any(written.plain for written in before.views.values())
    selection = Selection(
        config=config,
        source=records.source,
        views=views,
        include=include,
        plain=plain,
        missing=check_lost_seeds(folder, damaged=damaged, journal=records.journal),
        outside=outside(folder),
        redistribute=redistribute,
        language_detected=facts.read(folder).language_detected,
        allow_removal=allow_removal,
    )
    manifest_of_dataset = export(records, folder / "dataset", selection, records.row)
    if config.hardens:
        atomic_write(folder / "hardened.jsonl", given_questions.pairs(records))
    return manifest_of_dataset


def check_policy(folder: Path, config: RunConfig, policy: str) -> None:
    """Raise UsageError if neither the run nor `remeasure` knows a policy of this name."""
    policy_names = sorted({*config.models.policies, *Remeasurements(folder).policies()})
    if policy and policy not in policy_names:
        raise UsageError(
            f"no policy '{policy}' was measured in {folder}; known: {', '.join(policy_names) or 'none'}; "
            f"to measure one: digsite remeasure {shlex.quote(str(folder))} --policy {shlex.quote(policy)} --model MODEL"
        )


def check_redistribution(folder: Path, config: RunConfig) -> Redistribute:
    """Return how much of the corpus may be redistributed.

    Raises UsageError if that is unknown, or if a prompt of the environment has changed.
    """
    current_prompts = config.digest_input()["prompts"]
    for prompt in ("solver/answer", *config.solver_notes()):
        if read(folder).what["prompts"].get(prompt) != current_prompts[prompt]:
            raise UsageError(f"{folder} was made with another prompt {prompt}; restore that to export it")
    name = config.corpus.name
    is_shipped = name in manifest.names()
    if not is_shipped and not Path(name).is_absolute() and not ADDRESSED.fullmatch(name):
        raise UsageError(
            f"corpora/{name}.toml, which says how much of '{name}' may be redistributed, is missing; restore it"
        )
    return manifest.read(name).redistribute if is_shipped else facts.read(folder).redistribute


def check_lost_seeds(folder: Path, *, damaged: bool = False, journal: Journal | None = None) -> int:
    """Return how many seeds of the run ended and have no readable line, and warn about them.

    Raises UsageError if there are some, unless `damaged` allows it: a data set must not shrink unnoticed.
    """
    damaged_lines = Forks(folder).damaged + Remeasurements(folder).damaged + Completions(folder).damaged
    if damaged_lines:
        logger.warning(
            "damaged lines in %s/branches, /remeasured and /completed, which are left out: %d; "
            "'digsite branch', 'digsite remeasure' and 'digsite complete' make again what is missing",
            folder,
            damaged_lines,
        )
    lost = _count_lost(folder, journal or journal_of(folder))
    if lost:
        problem = (
            f"{lost:,} finished {'seed has' if lost == 1 else 'seeds have'} no readable line in {folder / 'journal'}"
        )
        remedy = f"'digsite resume {shlex.quote(str(folder))}' runs {'it' if lost == 1 else 'them'} again"
        if not damaged:
            raise UsageError(f"{problem}; {remedy}, or export without: digsite export RUN --allow-damaged")
        logger.warning("%s and %s missing; %s", problem, "is" if lost == 1 else "are", remedy)
    return lost


def _count_lost(folder: Path, journal: Journal) -> int:
    lost, last = journal.lost, last_result(folder)
    if last is None:
        return lost
    if last.complete:
        # Lines lost before that have been run again, whether or not their keys can still be read.
        lost = min(lost, max(0, journal.damaged + journal.torn - last.damaged))
    return max(lost, last.planned + last.surplus - len(journal.entries))


def check_pairs_kept(folder: Path, config: RunConfig) -> None:
    """Raise UsageError if the run would end with fewer pairs or seeds than it has, and may not remove any."""
    manifest, result, runtime = _read_manifest(folder), last_result(folder), config.runtime
    if runtime.allow_removal or manifest is None or result is None:
        return
    limit = runtime.seeds or runtime.max_seeds
    name, wanted, present = "pairs", runtime.pairs, manifest.pairs
    if limit is not None and limit < result.planned:
        name, wanted, present = "seeds" if runtime.seeds else "max-seeds", limit, result.planned
    elif runtime.seeds is not None:
        return
    if wanted < present:
        raise UsageError(
            f"{folder} has {present:,} {name.removeprefix('max-')}, and --{name} {wanted:,} would take some out of its "
            f"data set: ask for {present:,} or more, or allow it with --allow-removal (runtime.allow_removal)"
        )


def export_again(folder: Path, config: RunConfig, *, allow_removal: bool = False) -> None:
    """Rewrite `dataset/` after new findings were added: the same views, each in its earlier form."""
    if (manifest_before := _read_manifest(folder)) is None:
        dataset(folder, config)
        return
    for plain in sorted({options.plain for options in manifest_before.views.values()}):
        views = tuple(name for name, options in manifest_before.views.items() if options.plain == plain)
        dataset(folder, config, views=views, plain=plain, allow_removal=allow_removal)


def report(folder: Path, config: RunConfig) -> Path:
    path = folder / "report.html"
    records = RunRecords(folder, config)
    text = page(records.seeds(), records.read, config, outside(folder), _read_manifest(folder))
    atomic_write(path, text.encode())
    return path


def _read_manifest(folder: Path) -> DatasetManifest | None:
    try:
        return read_manifest(folder / "dataset")
    except UsageError:
        return None


def publish_marks(folder: Path, config: RunConfig, marks: Iterable[review_marks.Mark] = ()) -> None:
    review_marks.add(folder, marks)
    # A person has just rejected these pairs.
    export_again(folder, config, allow_removal=True)
    report(folder, config)


def outside(folder: Path) -> Outside:
    result = last_result(folder)
    if result is None and (folder / "result.json").exists():
        logger.warning("%s/result.json cannot be read; the next 'digsite resume' writes it anew", folder)
    dropped, unread = result.dropped if result else {}, facts.read(folder).unread
    return Outside(
        spent=total_spending(folder), dropped=dropped, unread=unread, marks=tuple(review_marks.read(folder).values())
    )


def last_result(folder: Path) -> RunResult | None:
    """Return how the run stood when it last ended, or None if it has not or its file cannot be read."""
    path = folder / "result.json"
    try:
        return RunResult(folder=folder, **orjson.loads(path.read_bytes())) if path.exists() else None
    except (OSError, ValueError, TypeError):
        return None
