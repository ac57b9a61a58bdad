"""Export of records as a data set: one folder with shards, code, environment, card and manifest.

Trainers load the folder as it is. It is a pure function of the records and settings: the same journal gives the same
shards, byte for byte. The folder of a view holds only Parquet files, since readers load every file in it; code for
trainers is in `code/`. The folder is built under a temporary name and renamed when complete; the manifest is written
last.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pipeline.agents.environment_file import Environment, environment
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.analysis.example_likeness import compare_with_examples
from pipeline.analysis.figures import Outside, figures
from pipeline.analysis.version_rows import complete_version
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.exports.card.card import Contents, card
from pipeline.exports.mix import mix_version
from pipeline.exports.reward_questions import RewardCounter, RewardQuestions
from pipeline.exports.shards import SHARD_BYTES, File, ShardFile, ShardWriter, describe_file
from pipeline.exports.trajectories.selection import count_rollouts
from pipeline.exports.twins import with_twin
from pipeline.exports.views import base
from pipeline.store.files import atomic_folder, atomic_write, find_folder, link_or_copy, write_json
from pipeline.types import Data, Draft, Record, sha256
from pipeline.types.version import Version

logger = logging.getLogger(__name__)
Redistribute = Literal["full", "spans", "ids", "unknown"]
CODE = "code"
MANIFEST = "manifest.json"
_EXAMPLES = 3
"""Number of pairs that the card shows."""
ENVIRONMENT = "environment.json"


class Exported(Data):
    """How a view was last written."""

    include: tuple[str, ...] = ()
    missing: int = 0
    """Number of seeds that no row holds, because their journal lines were damaged."""
    plain: bool = False
    """Whether text replaces Arrow's JSON type."""
    source: str = ""
    """Digest of all that decides the rows. Views with different digests come from different states of the run."""


class DatasetManifest(Data):
    """The contents of a finished data set. Every file of it, except the manifest, is listed here."""

    run: str
    records: int
    """Number of records that the last export read, exported or not."""
    pairs: int = 0
    """Number of pairs that the last export took, unanswerable twins not counted."""
    views: dict[str, Exported]
    """A view without rows has no shard."""
    shards: tuple[ShardFile, ...]
    rewards: RewardQuestions = RewardQuestions()
    withheld: tuple[str, ...] = ()
    """Views that hold more of the corpus than may be redistributed."""
    files: tuple[File, ...] = ()
    """Card, environment, code and the table of all seeds."""
    removed: tuple[str, ...] = Field((), exclude=True)
    """Views and files of the data set before that this export removed."""
    fewer: int = Field(0, exclude=True)
    """How many pairs fewer it has than the data set before."""

    @property
    def missing(self) -> int:
        """Number of seeds whose pairs could not be exported."""
        return max((written.missing for written in self.views.values()), default=0)

    @property
    def unwritten(self) -> dict[str, str]:
        """The requested views that were not written, each with the reason."""
        rows = self.rows()
        needs = {name: f"needs {base.load(name).options.needs}" for name in self.views if name not in rows}
        return needs | dict.fromkeys(self.withheld, "holds more of the corpus than may be passed on")

    @property
    def has_rl(self) -> bool:
        return any(base.load(name).options.rewarded for name in self.rows())

    @property
    def losses(self) -> list[str]:
        """Lines on what this export took away."""
        fewer = [f"{self.fewer:,} pairs fewer than before"] if self.fewer else []
        return fewer + ([f"removed: {', '.join(self.removed)}"] if self.removed else [])

    def rows(self) -> dict[str, dict[str, int]]:
        """Return the number of rows by view and split; the training split comes first."""
        counts: dict[str, dict[str, int]] = {}
        for shard in sorted(self.shards, key=lambda shard: (shard.view, shard.split != "train")):
            splits = counts.setdefault(shard.view, {})
            splits[shard.split] = splits.get(shard.split, 0) + shard.rows
        return counts

    def digests(self) -> dict[str, str]:
        """Return a digest of the rows of each view."""
        sums: dict[str, list[str]] = {}
        for shard in self.shards:
            sums.setdefault(shard.view, []).append(shard.sha256)
        return {view: sha256(" ".join(shard_sums))[:12] for view, shard_sums in sums.items()}

    def token_shares(self) -> dict[str, tuple[float, ...]]:
        """Return for each view with a column `tokens` the share of its rows within each of TOKEN_LIMITS."""
        shares: dict[str, tuple[float, ...]] = {}
        for view, splits in self.rows().items():
            counts = [shard.within for shard in self.shards if shard.view == view and shard.within]
            if counts:
                shares[view] = tuple(sum(column) / sum(splits.values()) for column in zip(*counts, strict=True))
        return shares


class Selection(Data):
    """What to export, and how."""

    config: RunConfig
    views: tuple[str, ...] = ()
    """Views to write; empty for all. Other views of an existing data set stay as they are."""
    include: tuple[str, ...] = ()
    plain: bool = False
    """Write text instead of Arrow's JSON type, for readers that do not support it."""
    missing: int = 0
    """Number of seeds whose journal lines were damaged."""
    source: str = ""
    """Digest of the state of the run, which shows later whether the table of seeds is up to date."""
    outside: Outside = Outside()
    redistribute: Redistribute = "unknown"
    """How much of the corpus may be redistributed. Views that hold more are left out."""
    language_detected: bool = False
    shard_bytes: int = SHARD_BYTES
    mix: mix_version.Mix | None = None
    """The mix, if the records come from several runs. No view of an earlier version is kept then."""
    version: Version | None = None
    """What the run took over from the version before; None for a first version."""
    allow_removal: bool = False
    """Whether views and files of the data set that is there may be missing from the new one."""


def read_manifest(folder: Path) -> DatasetManifest:
    try:
        return DatasetManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{folder} holds no finished data set of this version; write it with digsite export RUN"
        ) from error


def verify_file(folder: Path, file: File) -> Path:
    """Return the path of a file of the data set.

    Raises UsageError if the file was changed since the export, or if its path leaves the folder or holds a link.
    """
    path, home = folder / file.path, folder.resolve()
    if path.resolve() != home / file.path or home not in path.resolve().parents:
        problem = "is no file of the data set's own"
    elif not path.is_file() or describe_file(path, file.path).sha256 != file.sha256:
        problem = "is not as it was exported"
    else:
        return path
    raise UsageError(f"{path} {problem}; write the data set anew with digsite export RUN")


def export(
    records: Iterable[Record],
    folder: Path,
    selection: Selection,
    row: Callable[[Record], seeds.Row] = seeds.row,
    environment_of: Callable[[Record], Environment] | None = None,
) -> DatasetManifest:
    """Write the data set of `records` to `folder`. Views that are not selected are kept from the data set there.

    Memory holds one record, and one row group per view and split. Raises UsageError if something that is there would be
    removed, unless `allow_removal` is set.

    Args:
        records: in the order of the plan.
        row: returns the row of `seeds.parquet` for a record. A record whose row names a gate gets no other row.
        environment_of: returns the environment of a record's agents, if it differs between records.
    """
    views = _load_views(selection)
    shared, digest_sum, pair_count, examples = environment(selection.config), 0, 0, list[tuple[int, Draft]]()
    rewards, rollouts, twin_drops = RewardCounter(selection.config.gates), dict[str, Counter[str]](), Counter[str]()
    with (
        atomic_folder(folder) as building,
        ShardWriter(building, selection.shard_bytes, as_text=selection.plain) as shards,
        seed_table.SeedTable(building / seed_table.NAME, selection.source) as table,
    ):
        previous = find_folder(folder)
        kept_views, kept_shards = _find_kept_views(previous, views, selection)
        for record in records:
            table.add(seed_row := row(record))
            # A sum of hashes does not depend on the order, in which included records come last, nor grows with the run.
            measured = len(record.assessments) + len(record.measurements)
            digest_sum += int(sha256(f"{record.key} {record.status} {len(record.forks)} {measured}"), 16)
            if seed_row["gate"] or not base.is_exported(record, selection.include):
                continue
            pairs, twin_gate = with_twin(record, selection.config)
            twin_drops.update([twin_gate] if twin_gate else [])
            pair_count += 1
            # From here on only the masked pairs are used.
            _add_example(examples, pairs[0])
            context = (environment_of(pairs[0]) if environment_of else shared).of(pairs[0])
            for pair in pairs:
                for agent, count in count_rollouts(pair, context).items():
                    rollouts.setdefault(agent, Counter()).update(count)
                _add_rows(shards, views, pair, context, rewards)
        for shard in kept_shards:
            link_or_copy(previous / shard.path, building / shard.path)
        source = _digest_state(digest_sum, selection.config)
        written = Exported(include=selection.include, plain=selection.plain, missing=selection.missing, source=source)
        run_figures = figures(seeds_frame := table.close(), selection.outside, selection.config.gates.policy)
        manifest = DatasetManifest(
            run=run_figures.lineage.run if run_figures.lineage else "",
            records=run_figures.planned,
            pairs=pair_count,
            views=dict(sorted({**kept_views, **dict.fromkeys(views, written)}.items())),
            shards=tuple(sorted((*kept_shards, *shards.close()), key=lambda shard: shard.path)),
            rewards=rewards.total(),
            withheld=() if selection.views else tuple(sorted({*base.names()} - views.keys())),
        )
        if selection.mix:
            mix = mix_version.write(building, previous, selection.mix, manifest.shards)
            selection = selection.model_copy(update={"mix": mix})
        rows, exports = manifest.rows(), manifest.views
        contents = Contents(
            rows=rows,
            digests=manifest.digests(),
            included={reason: [name for name in rows if reason in exports[name].include] for reason in base.INCLUDES},
            plain=[name for name in rows if exports[name].plain],
            missing=manifest.missing,
            token_shares=manifest.token_shares(),
            older=[name for name in rows if exports[name].source != source],
            examples=[draft for _, draft in examples],
            beside_examples=()
            if selection.mix
            else compare_with_examples(seeds_frame, selection.config.questions.like),
            selected=rollouts,
            twin_drops=twin_drops,
            redistribute=selection.redistribute,
            language_detected=selection.language_detected,
            mix=selection.mix,
            version=selection.version and complete_version(selection.version, seeds_frame),
            rewards=manifest.rewards,
            has_rl=manifest.has_rl,
            unwritten=manifest.unwritten,
        )
        manifest = _write_files(building, manifest, card(run_figures, contents, selection.config), selection)
        return _compare_with_previous(previous, manifest, selection)


def _compare_with_previous(previous: Path, manifest: DatasetManifest, selection: Selection) -> DatasetManifest:
    """Return the manifest with what the data set before has and this one lacks. Raises UsageError if it is not allowed.

    Numbers of shards and of rows may change, and a view may go that holds more of the corpus than may be passed on.
    Caches of Python and hidden files do not count.
    """
    if not previous.exists():
        return manifest
    files = [*manifest.files, *manifest.shards]
    present = {file.path.partition("/")[0] for file in files} | {MANIFEST}
    known, pairs = {file.path for file in files} | {MANIFEST}, 0
    with suppress(UsageError):  # of another version, or damaged
        before = read_manifest(previous)
        pairs, known = before.pairs, known | {file.path for file in (*before.files, *before.shards)}
    paths = [path.relative_to(previous) for path in previous.rglob("*") if not path.is_dir()]
    ours = [path for path in paths if not any(part == "__pycache__" or part[0] == "." for part in path.parts)]
    foreign = {path.as_posix() for path in ours if path.as_posix() not in known and path.parts[0] in present}
    removed = tuple(sorted(foreign | {path.parts[0] for path in ours} - present))
    withheld = {name for name in base.names() if base.exceeds_licence(base.load(name), selection.redistribute)}
    if not withheld.issuperset(removed) and not selection.allow_removal:
        raise UsageError(
            f"the export would remove {', '.join(removed)} from {previous}, where a trainer may be reading: "
            "allow it with --allow-removal (runtime.allow_removal), or move the folder"
        )
    manifest = manifest.model_copy(update={"removed": removed, "fewer": max(0, pairs - manifest.pairs)})
    for loss in manifest.losses:
        logger.warning("%s: %s", previous, loss)
    return manifest


def _add_rows(
    shards: ShardWriter, views: Mapping[str, base.View], record: Record, context: Environment, rewards: RewardCounter
) -> None:
    graded = rewards.grade(record)
    for name, view in views.items():
        source = graded if view.options.rewarded else record
        if base.accepts(view, source, rewards.gates):
            shards.add(name, record.seed.side, view.schema, view.rows(source, context))


def _add_example(examples: list[tuple[int, Draft]], record: Record) -> None:
    """Keep the first pairs as examples. A pair of a new target replaces one of a target that is there twice."""
    target, draft = record.seed.target_steps, record.draft
    if draft is None:
        return
    targets = [example_target for example_target, _ in examples]
    if len(examples) < _EXAMPLES:
        examples.append((target, draft))
    elif target not in targets:
        duplicates = [index for index, repeated in enumerate(targets) if repeated in targets[:index]]
        if duplicates:
            examples[duplicates[-1]] = (target, draft)


def _digest_state(digest_sum: int, config: RunConfig) -> str:
    """Return a digest of what decides the rows.

    It covers the records and, if they differ from the defaults, `[sft]`, the policy, and the gates on `rl_*` views.
    """
    sft = config.sft.model_dump_json(exclude_defaults=True)
    flags = {"strict_calls": config.gates.strict_calls, "rl_yes_no": config.gates.rl_yes_no}
    gates = [config.gates.policy, *(name for name, is_set in flags.items() if is_set)]
    return sha256(" ".join([str(digest_sum), *([sft] if sft != "{}" else []), *filter(None, gates)]))


def _find_kept_views(
    folder: Path, views: Iterable[str], selection: Selection
) -> tuple[dict[str, Exported], tuple[ShardFile, ...]]:
    if not selection.views or selection.mix or not folder.exists():
        return {}, ()
    previous = read_manifest(folder)
    # The licence may have become stricter since.
    views_to_keep = {
        name: written
        for name, written in previous.views.items()
        if name not in views and not base.exceeds_licence(base.load(name), selection.redistribute)
    }
    shards = tuple(shard for shard in previous.shards if shard.view in views_to_keep)
    for shard in shards:
        verify_file(folder, shard)
    return views_to_keep, shards


def _load_views(selection: Selection) -> dict[str, base.View]:
    views = {name: base.load(name) for name in selection.views or base.names()}
    withheld = [name for name, view in views.items() if base.exceeds_licence(view, selection.redistribute)]
    if selection.views and withheld:
        raise UsageError(
            f"view '{withheld[0]}' holds more of the corpus than its manifest allows to redistribute "
            f"(redistribute = {selection.redistribute})"
        )
    return {name: view for name, view in views.items() if name not in withheld}


def _write_files(building: Path, manifest: DatasetManifest, page: str, selection: Selection) -> DatasetManifest:
    """Write card, code, environment and, last of all, the manifest. Return the manifest with these files."""
    texts = {"README.md": page}
    for view in manifest.rows():
        texts |= {f"{CODE}/{file}": text for file, text in base.load(view).options.extra_files.items()}
    for file, text in texts.items():
        atomic_write(building / file, text.encode())
    names = [*texts, seed_table.NAME]
    if not (selection.mix and selection.mix.left_out):
        write_json(building / ENVIRONMENT, environment(selection.config).model_dump(mode="json"))
        names.append(ENVIRONMENT)
    names += mix_version.FILES if selection.mix else ()
    files = tuple(describe_file(building / name, name) for name in sorted(names))
    manifest = manifest.model_copy(update={"files": files})
    write_json(building / MANIFEST, manifest.model_dump(mode="json"))
    return manifest
